// SPDX-License-Identifier: Apache-2.0
#include "frontend/buckets.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/split_mix.h"
#include "ir/error.h"

namespace graphc::core {
namespace {

void check_batch(const char* who, int64_t batch) {
  if (batch >= 1) return;
  throw Error(ErrorKind::usage, {},
              fmt::format("{}: wanted a batch of at least 1: found {}", who, batch));
}

}  // namespace

std::vector<int64_t> shuffled(int64_t count, uint64_t seed, int64_t epoch) {
  if (count < 0) {
    throw Error(ErrorKind::usage, {},
                fmt::format("shuffled: wanted a count of at least 0: found {}", count));
  }
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  // The seed is hashed first: consecutive seeds must not give similar orders.
  SplitMix draw(SplitMix(seed)() + uint64_t(epoch));
  for (int64_t i = count - 1; i > 0; --i)
    std::swap(order[size_t(i)], order[size_t(draw.below(i + 1))]);
  return order;
}

std::vector<std::vector<int64_t>> in_batches(std::span<const int64_t> order, int64_t batch) {
  check_batch("in_batches", batch);
  std::vector<std::vector<int64_t>> batches;
  for (size_t first = 0; first < order.size(); first += size_t(batch)) {
    const auto part = order.subspan(first, std::min(size_t(batch), order.size() - first));
    batches.emplace_back(part.begin(), part.end());
  }
  return batches;
}

std::vector<std::vector<int64_t>> batches_by_length(std::span<const int64_t> order,
                                                    std::span<const int64_t> lengths,
                                                    int64_t batch) {
  check_batch("batches_by_length", batch);
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
  // A random order of places gives a random order of batches.
  std::ranges::sort(parts, {}, [](std::span<const Row> part) { return part[0].place; });
  std::vector<std::vector<int64_t>> batches;
  for (const std::span<const Row> part : parts) {
    batches.emplace_back();
    for (const Row& sample : part) batches.back().push_back(sample.number);
  }
  return batches;
}

}  // namespace graphc::core
