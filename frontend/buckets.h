// SPDX-License-Identifier: Apache-2.0
// The order of samples: shuffling, batches, and batches of rows of similar length, which need
// little padding.
//
//   Session session(m, {.round_up = {{"steps", to_multiple_of(10)}}});   // frontend/round_up.h
//   const std::vector<int64_t> order = shuffled(count, seed, epoch);
//   for (const std::vector<int64_t>& rows : batches_by_length(order, lengths, 32)) ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace graphc::core {

/// The numbers below `count` in random order (Fisher-Yates), drawn from seed and epoch. The order
/// is the same on every machine and depends on nothing else, so a resumed training sees the same
/// order. Throws ErrorKind::usage for a negative count.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, int64_t epoch);

/// Splits `order` into batches of `batch` consecutive samples; the last batch has the remainder.
/// Throws ErrorKind::usage for a batch below 1.
std::vector<std::vector<int64_t>> in_batches(std::span<const int64_t> order, int64_t batch);

/// Splits `order` into batches of `batch` samples of similar length; the last batch, with the
/// longest samples, has the remainder. `lengths` has the length of every sample, indexed by its
/// number. `order` decides how samples of equal length are distributed, and in which order the
/// batches come: if `order` is random, so are they. Throws ErrorKind::input for a sample without a
/// length, and ErrorKind::usage for a batch below 1.
std::vector<std::vector<int64_t>> batches_by_length(std::span<const int64_t> order,
                                                    std::span<const int64_t> lengths,
                                                    int64_t batch);

}  // namespace graphc::core
