// SPDX-License-Identifier: Apache-2.0
// Numbers of some groups of rows that a loop has for all groups (align_axes.cpp): each head
// computes the mask of the batch for itself.
#pragma once

#include <vector>

#include "ir/scan.h"

namespace graphc::core {

/// Whether the node transposes or reshapes.
bool rearranges(const Node& node);

/// What is known of a step's values, by node.
struct StepRows {
  std::vector<bool> differ;     ///< whether the value differs between rows
  std::vector<bool> are_fewer;  ///< and has rows of some groups, not of all
  std::vector<bool> are_one;    ///< and is one number for each of these rows
};

/// By node, whether the value is to be repeated for all groups of rows: a number of some groups
/// that an elementwise op computes from such numbers alone, or that is carried, and what it is
/// computed from. What is only read, such as a stream that is a mask, stays as it is, and so does a
/// number with a reader that has fewer rows itself and cannot be repeated.
std::vector<bool> repeated_numbers(const Scan& scan, const StepRows& rows);

}  // namespace graphc::core
