// SPDX-License-Identifier: Apache-2.0
// Buckets: rows of like length in one batch, so that few steps are padding.
//
//   Session session(m, {.round_up = {{"steps", to_multiple_of(10)}}});   // frontend/round_up.h
//   for (const std::vector<int64_t>& rows : batches_by_length(shuffled_rows, lengths, 32)) ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace graphc::core {

/// The samples of `order` in batches of `batch`, of like length each; the last, of the longest, has
/// those that are left. `lengths` has the length of every sample, by its number. Among samples of
/// one length `order` decides which batch they are in, and it decides the order of the batches:
/// where it is drawn, those are drawn. Throws ErrorKind::input for a sample without a length, and
/// ErrorKind::usage for a batch below 1.
std::vector<std::vector<int64_t>> batches_by_length(std::span<const int64_t> order,
                                                    std::span<const int64_t> lengths,
                                                    int64_t batch);

}  // namespace graphc::core
