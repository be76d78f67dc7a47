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

  /// The variable of a value in a step: registers of its `phase` where values are loaded ahead,
  /// "k[phase]".
  std::string name(size_t v) const { return name(v, ahead(v) > 0 ? "phase" : ""); }
  /// How many sets of registers values have that are loaded ahead. A step's phase is its number in
  /// as many steps: nothing is copied from step to step, which would wait for what was loaded.
  int phases() const { return phases_; }
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
  /// In a step: loads for a later one, where the value is loaded ahead; else for this one. In scope
  /// is `more`, 1 if there is something to load in the next step, else 0.
  void load(TextWriter& text, size_t v) const;
  /// Declares where a block's shares of sums begin (row_parts.h).
  void declare_shares(TextWriter& text, size_t v, const Shares& shares, RowParameters& parameters);
  /// In a step, or after all of them.
  enum class After : uint8_t { first, current, last };
  void store(TextWriter& text, size_t v, After after) const;

 private:
  struct Pointer {
    std::string here, step, slot, first;
    /// They move with the steps: what is loaded next, and what is stored. Empty: computed in each.
    std::string next, to;
  };

  std::string pointer_in(const Pointer& pointer, After after, int ahead = 0) const;
  std::string index(const RowPlace& place) const;
  void store_share(TextWriter& text, size_t v, After after) const;
  std::string name(size_t v, std::string_view phase) const;
  std::string number(RowParameters& parameters, const std::string& name, int64_t elements);
  void add_moving(TextWriter& text, const std::string& type, const std::string& pointer,
                  const Pointer& of) const;
  void advance(TextWriter& text, const std::string& pointer, const std::string& step,
               std::string_view more = {}) const;
  void load_from(TextWriter& text, size_t v, const std::string& to,
                 const std::string& pointer) const;

  const LoopNests& nests_;
  const RowLoop& loop_;
  const RowThreads& threads_;
  const RowText& rows_;
  Names& unique_;
  int matrices_ahead_ = 0, vectors_ahead_ = 0, phases_ = 1;
  std::vector<std::string> names_;                          ///< by value
  std::map<size_t, Pointer> pointers_;                      ///< by value
  std::vector<std::pair<std::string, std::string>> apart_;  ///< by value
  std::map<size_t, Pointer> shares_;                        ///< by value, of what a part stores
  std::map<size_t, Pointer> wholes_;  ///< the same, of what the first part stores as whole
};

}  // namespace graphc::core::cuda
