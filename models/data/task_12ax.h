// SPDX-License-Identifier: Apache-2.0
// The 12AX task: sequences with nested memory (O'Reilly and Frank 2006), drawn and labelled as in
// RETURNN's Task12AXDataset.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace graphc::core {

/// The symbols; a symbol's id is its index in this list.
inline constexpr std::string_view k12AxSymbols = "123ABCXYZ";

/// The label of every symbol, 0 for L and 1 for R: R for an X if the last digit (1 or 2) is 1 and
/// the last letter since the last X or Y is A; R for a Y if they are 2 and B. 3, C and Z are
/// ignored.
std::vector<int32_t> labels_12ax(std::string_view symbols);

/// The lengths of sequences, uniformly distributed.
struct Lengths12Ax {
  int64_t shortest = 10, longest = 100;
};

/// A sequence with some R labels: AX and BY are frequent.
std::string sequence_12ax(uint64_t seed, const Lengths12Ax& lengths = {});

/// A part of a sequence; its labels depend on the whole sequence.
struct Chunk12Ax {
  std::string symbols;
  std::vector<int32_t> labels;

  int64_t length() const { return int64_t(symbols.size()); }
};
/// The chunks of `count` sequences: they begin every `step` symbols and have up to `size` of them;
/// the last chunk of a sequence is the first that reaches its end.
std::vector<Chunk12Ax> chunks_12ax(int64_t count, int64_t size, int64_t step, uint64_t seed,
                                   const Lengths12Ax& lengths = {});

/// Chunks as inputs of a graph: one-hot symbols f32[steps, batch, 9], lengths i32[batch] and labels
/// i32[steps, batch], padded with zeros and with rows of length 0.
std::vector<Tensor> batch_12ax(std::span<const Chunk12Ax> chunks, int64_t steps, int64_t batch);

}  // namespace graphc::core
