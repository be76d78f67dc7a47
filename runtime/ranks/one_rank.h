// SPDX-License-Identifier: Apache-2.0
// One rank alone: the process that no launcher started.
#pragma once

#include "runtime/ranks/ranks.h"

namespace graphc::core {

class OneRank : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_count() const override { return 1; }
  std::string engine() const override { return "one process"; }
  void all_reduce(std::span<float>) override {}
  void all_reduce(std::span<double>) override {}
  void all_reduce(std::span<BFloat16>) override {}
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void broadcast(std::span<std::byte>, int) override {}
  void barrier() override {}
  [[noreturn]] void abort(std::string_view message, int status) override;
};

}  // namespace graphc::core
