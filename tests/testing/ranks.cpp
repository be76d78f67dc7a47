// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/ranks.h"

#include <exception>
#include <thread>

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
  std::vector<std::exception_ptr> errors(ranks.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        function(ranks[r]);
      } catch (const std::exception& error) {
        errors[r] = std::current_exception();
        try {
          ranks[r]->abort(fmt::format("rank {} ended: {}", r, error.what()), 1);
        } catch (const Error&) {
          // The others no longer wait.
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool own : {true, false}) {
    for (const std::exception_ptr& error : errors) {
      if (error == nullptr) continue;
      try {
        std::rethrow_exception(error);
      } catch (const Error& each) {
        if (!own || each.kind() != ErrorKind::resource) throw;
      }
    }
  }
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
