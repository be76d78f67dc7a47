// SPDX-License-Identifier: Apache-2.0
// The parameters of a loop's kernel, and how its nests get theirs from them in each step.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/text/row_kernels.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// Lists parameters in the order in which they are added. The constructor's arguments must outlive
/// it; nests and placement may be set until the first parameter is bound. In scope of the text are
/// `iteration`, `step` and, where rows have groups, `matrix_group`.
class LoopParameters {
 public:
  /// `before`: code before the steps.
  LoopParameters(const LoopNests& nests, const LoopPlacement& placement, Names& names,
                 TextWriter& before)
      : nests_(nests), placement_(placement), names_(names), before_(before) {}

  /// Adds a parameter that is the same in all steps.
  void add(std::string_view type, const std::string& name, LaunchValue argument);
  void add_number(const std::string& name, int64_t number);
  /// Brings a parameter of a nest into scope, with its value in this step.
  void bind(TextWriter& text, const Parameter& parameter, size_t nest);

  /// By pointer of a nest, the text of its place in the block's group of rows, before the steps.
  const std::map<std::string, std::string>& bases() const { return bases_; }
  const std::vector<std::string>& listed() const { return listed_; }
  std::vector<LaunchValue> take_arguments() { return std::move(arguments_); }

 private:
  bool is_streamed() const { return placement_.placement == Placement::streamed; }
  bool is_index(const Parameter& parameter) const;
  bool is_resident(const Parameter& parameter, size_t nest) const;
  bool is_exchanged(const Parameter& parameter, size_t nest) const;
  int64_t group_stride(const Parameter& parameter, size_t nest) const;
  std::string in_group(const std::string& first, const Parameter& parameter, size_t nest);
  BufferPlace first_place(const Address& address) const;
  void add_place(std::string_view type, const std::string& name, const BufferPlace& place);
  void bind_first_index(TextWriter& text, const Parameter& parameter, int64_t number, size_t nest);
  void bind_address(TextWriter& text, const Parameter& parameter, const Address& address,
                    size_t nest);
  void bind_exchanged(const Parameter& parameter, const BufferPlace& place, size_t nest);

  const LoopNests& nests_;
  const LoopPlacement& placement_;
  Names& names_;
  TextWriter& before_;
  std::map<std::string, std::string> bases_;
  std::map<std::string, std::string> group_strides_;  ///< by pointer or index: their parameters
  std::vector<std::string> listed_;
  std::vector<LaunchValue> arguments_;
};

}  // namespace graphc::core::cuda
