// SPDX-License-Identifier: Apache-2.0
// The memory of a row's values (row_values.h): parameters of the kernel, pointers, loads and
// stores.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/targets/cuda/rows/row_text.h"
#include "codegen/targets/cuda/text/row_kernels.h"

namespace graphc::core::cuda {

struct Shares;

/// The parameters of a kernel, in order, and what a launch passes for them.
struct RowParameters {
  std::vector<std::string> listed;
  std::vector<LaunchValue> arguments;

  void add_number(const std::string& name, int64_t number, std::string_view type = "long long");
  void add_place(const std::string& type, const std::string& name, const BufferPlace& place);
};

/// Names every value of a loop and knows where it lies in memory.
class RowMemory {
 public:
  /// `names` has given no names before. `loop` and the others outlive it.
  RowMemory(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads,
            const RowText& rows, Names& names);

  /// The variable of a value, or that of what is loaded for it `ahead` steps before.
  const std::string& name(size_t v, int ahead = 0) const { return names_[v][size_t(ahead)]; }
  /// The variables of a share without what is whole, and of that; empty unless the value's shares
  /// end whole (row_division.h).
  const std::string& share_name(size_t v) const { return apart_[v].first; }
  const std::string& whole_name(size_t v) const { return apart_[v].second; }
  /// How many steps ahead it is loaded; 0: in the step, or before all of them.
  int ahead(size_t v) const;

  /// Declares the variables of a value, and its pointer if it has memory to load or store.
  void declare(TextWriter& text, size_t v, RowParameters& parameters);
  /// Loads what the steps find when they begin: invariants, carried values, and the first steps'.
  void load_before(TextWriter& text, size_t v) const;
  /// In a step: loads for `ahead` steps later; with 0, for this one.
  void load(TextWriter& text, size_t v, int ahead) const;
  /// Declares where a block's shares of sums begin (row_parts.h).
  void declare_shares(TextWriter& text, size_t v, const Shares& shares, RowParameters& parameters);
  /// In a step, or after all of them.
  enum class After : uint8_t { first, current, last };
  void store(TextWriter& text, size_t v, After after) const;

 private:
  struct Pointer {
    std::string here, step, slot, first;
  };

  std::string pointer_in(const Pointer& pointer, After after, int ahead = 0) const;
  std::string index(const RowPlace& place) const;
  void store_share(TextWriter& text, size_t v, After after) const;
  void load_from(TextWriter& text, size_t v, int ahead, const std::string& pointer) const;

  const LoopNests& nests_;
  const RowLoop& loop_;
  const RowThreads& threads_;
  const RowText& rows_;
  Names& unique_;
  int matrices_ahead_, vectors_ahead_;
  std::vector<std::vector<std::string>> names_;  ///< by value: its own, and those of steps ahead
  std::map<size_t, Pointer> pointers_;           ///< by value
  std::vector<std::pair<std::string, std::string>> apart_;  ///< by value
  std::map<size_t, Pointer> shares_;                        ///< by value, of what a part stores
  std::map<size_t, Pointer> wholes_;  ///< the same, of what the first part stores as whole
};

}  // namespace graphc::core::cuda
