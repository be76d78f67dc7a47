// SPDX-License-Identifier: Apache-2.0
// The texts of many kernels, for compilers to try.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/options.h"
#include "ir/graph.h"
#include "ir/precision.h"

namespace graphc::core::testing {

/// Names of kernels by their texts: each text once.
using KernelTexts = std::map<std::string, std::string>;

/// The kernels of a graph in a variant for an architecture; loops in a placement.
void add_kernels(const GraphPtr& graph, std::string_view architecture, const char* variant,
                 KernelTexts& texts, Precision precision = Precision::f32,
                 std::optional<cuda::Placement> placement = {});

/// Of every op that has samples, on the first of them.
KernelTexts texts_of_ops(std::string_view architecture);

/// Of a model's training step, in the variants fused and basic.
KernelTexts texts_of_model(std::string_view architecture, const std::string& model,
                           const std::vector<std::string>& parameters);

/// Of a training step of a layer of W1, in every placement that is for it.
KernelTexts texts_of_lstm(std::string_view architecture);

/// Of a loop of nine products of as many widths, in the grid and in blocks.
KernelTexts texts_of_a_loop_of_many_shapes(std::string_view architecture);

/// Products in tiles of several sizes, of several parts, and in loops, on tensor cores in each of
/// these precisions.
KernelTexts texts_on_tensor_cores(std::string_view architecture,
                                  const std::vector<Precision>& precisions);

}  // namespace graphc::core::testing
