// SPDX-License-Identifier: Apache-2.0
#include "frontend/buckets.h"

#include <algorithm>

#include "ir/error.h"

namespace graphc::core {

std::vector<std::vector<int64_t>> batches_by_length(std::span<const int64_t> order,
                                                    std::span<const int64_t> lengths,
                                                    int64_t batch) {
  if (batch < 1) {
    throw Error(ErrorKind::usage, {},
                fmt::format("batches_by_length: wanted a batch of at least 1: found {}", batch));
  }
  struct Row {
    int64_t length, place, number;
  };
  std::vector<Row> samples;
  for (const int64_t number : order) {
    if (number < 0 || number >= std::ssize(lengths)) {
      throw input_error({}, "batches_by_length: sample {} has no length: there are {}", number,
                        lengths.size());
    }
    samples.push_back({lengths[size_t(number)], int64_t(samples.size()), number});
  }
  std::ranges::stable_sort(samples, {}, &Row::length);
  std::vector<std::span<const Row>> parts;
  for (size_t first = 0; first < samples.size(); first += size_t(batch))
    parts.push_back(
        std::span(samples).subspan(first, std::min(size_t(batch), samples.size() - first)));
  // Where the places are drawn, so is this one of each batch.
  std::ranges::sort(parts, {}, [](std::span<const Row> part) { return part[0].place; });
  std::vector<std::vector<int64_t>> batches;
  for (const std::span<const Row> part : parts) {
    batches.emplace_back();
    for (const Row& sample : part) batches.back().push_back(sample.number);
  }
  return batches;
}

}  // namespace graphc::core
