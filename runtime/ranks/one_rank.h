// SPDX-License-Identifier: Apache-2.0
// One rank alone: the process that no launcher started.
#pragma once

#include <algorithm>

#include "runtime/ranks/ranks.h"

namespace graphc::core {

class OneRank : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_count() const override { return 1; }
  std::string engine() const override { return "one process"; }
  using Ranks::all_reduce;
  void all_reduce(std::span<const float> mine, std::span<float> sum) override { copy(mine, sum); }
  void all_reduce(std::span<const double> mine, std::span<double> sum) override { copy(mine, sum); }
  void all_reduce(std::span<const BFloat16> mine, std::span<BFloat16> sum) override {
    copy(mine, sum);
  }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void broadcast(std::span<std::byte>, int) override {}
  void barrier() override {}
  [[noreturn]] void abort(std::string_view message, int status) override;

 private:
  template <typename Number>
  static void copy(std::span<const Number> mine, std::span<Number> sum) {
    if (mine.data() != sum.data()) std::ranges::copy(mine, sum.begin());
  }
};

}  // namespace graphc::core
