// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/ranks.h"

namespace graphc::core::testing {
namespace {

class Exchange : public RankExchange {
 public:
  explicit Exchange(Ranks& ranks) : ranks_(ranks) {}
  int count() const override { return ranks_.count(); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ranks_.all_gather(mine, all);
  }

 private:
  Ranks& ranks_;
};

}  // namespace

void run_ranks(int count, const std::function<void(const std::shared_ptr<Ranks>&)>& function) {
  const std::vector<std::shared_ptr<Ranks>> ranks = thread_ranks(count);
  run_on(ranks, [&](size_t rank) { function(ranks[rank]); });
}

std::vector<Evaluation> evaluate_ranks(const std::vector<GraphPtr>& graphs,
                                       const std::vector<Literal>& inputs,
                                       const std::map<std::string, Literal>& states,
                                       Precision precision) {
  std::vector<Evaluation> results(graphs.size());
  run_ranks(int(graphs.size()), [&](const std::shared_ptr<Ranks>& ranks) {
    Exchange exchange(*ranks);
    const auto rank = size_t(ranks->rank());
    results[rank] = evaluate(*graphs[rank], inputs, states, precision, &exchange);
  });
  return results;
}

}  // namespace graphc::core::testing
