// SPDX-License-Identifier: Apache-2.0
// The order of data: shuffled, cut into batches, rows of like length in one batch so that few steps
// are padding.
//
//   Session session(m, {.round_up = {{"steps", to_multiple_of(10)}}});   // frontend/round_up.h
//   const std::vector<int64_t> order = shuffled(count, seed, epoch);
//   for (const std::vector<int64_t>& rows : batches_by_length(order, lengths, 32)) ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace graphc::core {

/// The numbers below `count` in an order drawn from seed and epoch (Fisher and Yates), the same on
/// every machine. It depends on nothing else: a training that is resumed has the order it would
/// have had. Throws ErrorKind::usage for a count below 0.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, int64_t epoch);

/// The samples of `order` in batches of `batch`, one after another; the last has those that are
/// left. Throws ErrorKind::usage for a batch below 1.
std::vector<std::vector<int64_t>> in_batches(std::span<const int64_t> order, int64_t batch);

/// The samples of `order` in batches of `batch`, of like length each; the last, of the longest, has
/// those that are left. `lengths` has the length of every sample, by its number. Among samples of
/// one length `order` decides which batch they are in, and it decides the order of the batches:
/// where it is drawn, those are drawn. Throws ErrorKind::input for a sample without a length, and
/// ErrorKind::usage for a batch below 1.
std::vector<std::vector<int64_t>> batches_by_length(std::span<const int64_t> order,
                                                    std::span<const int64_t> lengths,
                                                    int64_t batch);

}  // namespace graphc::core
