// SPDX-License-Identifier: Apache-2.0
// Every model on several ranks, threads of this process, against one process: losses, norms and all
// states after a few steps; and with shards the same bits on any number of ranks.
#include "tests/testing/ranks.h"

#include <gtest/gtest.h>

#include <mutex>

#include "models/registry.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {
namespace {

struct Subject {
  const char* model;
  std::vector<std::string> parameters;
  std::vector<std::string> graphs{"train"};
};

/// Small models of every workload, with batches that 2, 3 and 4 divide, and 8 shards where the
/// batch is 24.
const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = {
      {"ptb-lm", {"hidden=16", "steps=4", "batch=24", "vocabulary=200", "keep=0.7"}},
      {"ptb-lm",
       {"hidden=8", "steps=3", "batch=24", "vocabulary=40", "keep=0.5", "unmerged-norm=true"}},
      {"wikitext2-lm", {"hidden=12", "steps=4", "batch=24", "vocabulary=150", "keep=0.7"}},
      {"wikitext2-lm",
       {"config=pytorch", "tied=true", "hidden=12", "steps=4", "batch=24", "vocabulary=150",
        "layers=2"}},
      {"word-lm", {"hidden=12", "steps=5", "batch=24", "vocabulary=100", "tied=true"}},
      {"char-lm", {"hidden=16", "steps=6", "batch=24", "keep=0.8"}},
      {"char-lm", {"hidden=16", "steps=6", "batch=24", "cell=gated-delta", "heads=2"}},
      {"char-lm", {"hidden=16", "steps=6", "batch=24", "cell=selective-scan"}},
      {"char-lstm", {"hidden=16", "steps=6", "batch=24", "samples=100"}},
      {"rnn-variants", {"hidden=8", "steps=5", "batch=24"}},
      {"rnn-variants",
       {"task=returnn", "hidden=8", "steps=5", "batch=24", "layers=2", "sequences=24", "shortest=5",
        "longest=9"}},
      {"rnn-variants",
       {"task=classification", "hidden=8", "steps=5", "batch=24", "layers=2", "keep=0.8"}},
      {"lstm-layer", {"hidden=16", "steps=5", "batch=24"}},
      {"lstm-layer", {"hidden=16", "steps=5", "batch=24", "cell=gru"}},
      {"forecast", {"hidden=8", "steps=5", "batch=24", "keep=0.8"}},
      {"cell-layer", {"size=test", "batch=24"}},
      {"cell-layer", {"size=test", "batch=24", "cell=mlstm"}},
  };
  return all;
}

/// What a session has after a few calls: every result, and every state.
struct Trace {
  std::vector<Literal> results;
  std::map<std::string, Literal> states;
};

Trace trained(const Subject& subject, const std::shared_ptr<Ranks>& ranks, int shards, int steps) {
  const auto program = make_program(subject.model, subject.parameters);
  SessionOptions options{.target = "cpu", .seed = 7, .ranks = ranks, .shards = shards};
  options.compile.threads = 1;
  options.announce = [](const std::string& line) {
    if (line.find("whole") != std::string::npos) ADD_FAILURE() << line;
  };
  Session session(program->model(), options);
  Trace trace;
  for (int step = 0; step < steps; ++step) {
    for (const Tensor& result : session.run("train", program->random_inputs("train", step % 2)))
      trace.results.push_back(result.copy());
  }
  for (const auto& cell : program->model().states()) {
    if (session.has_state(cell->name)) trace.states.emplace(cell->name, session.state(cell->name));
  }
  return trace;
}

std::vector<Trace> trained_by(const Subject& subject, int ranks, int shards, int steps) {
  std::vector<Trace> all(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](const std::shared_ptr<Ranks>& engine) {
    all[size_t(engine->rank())] = trained(subject, engine, shards, steps);
  });
  return all;
}

void expect_same_bits(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.results.size(), b.results.size());
  for (size_t i = 0; i < a.results.size(); ++i)
    EXPECT_TRUE(a.results[i] == b.results[i]) << "result " << i;
  ASSERT_EQ(a.states.size(), b.states.size());
  for (const auto& [name, value] : a.states) EXPECT_TRUE(value == b.states.at(name)) << name;
}

void expect_near(const Literal& found, const Literal& wanted, const std::string& what) {
  ASSERT_EQ(found.shape(), wanted.shape()) << what;
  double size = 1e-2;
  for (int64_t i = 0; i < wanted.elements(); ++i)
    size = std::max(size, std::abs(wanted.element(i)));
  for (int64_t i = 0; i < wanted.elements(); ++i)
    ASSERT_NEAR(found.element(i), wanted.element(i), 2e-4 * size) << what << " at " << i;
}

void expect_near(const Trace& found, const Trace& wanted) {
  ASSERT_EQ(found.results.size(), wanted.results.size());
  for (size_t i = 0; i < wanted.results.size(); ++i)
    expect_near(found.results[i], wanted.results[i], fmt::format("result {}", i));
  ASSERT_EQ(found.states.size(), wanted.states.size());
  for (const auto& [name, value] : wanted.states) expect_near(found.states.at(name), value, name);
}

std::string name_of(const Subject& subject) {
  return fmt::format("{} {}", subject.model, fmt::join(subject.parameters, " "));
}

using RankCounts = std::vector<int>;

/// Every model on the numbers of ranks that `counts` says for its place in the list.
template <typename Counts>
void expect_training_of_one_process(const Counts& counts) {
  int64_t tried = 0;
  for (size_t i = 0; i < subjects().size(); ++i) {
    const Subject& subject = subjects()[i];
    const RankCounts sampled = counts(i);
    if (sampled.empty()) continue;
    const Trace wanted = trained(subject, nullptr, 0, 3);
    for (const int ranks : sampled) {
      SCOPED_TRACE(fmt::format("{}: {} ranks", name_of(subject), ranks));
      const std::vector<Trace> found = trained_by(subject, ranks, 0, 3);
      expect_near(found[0], wanted);
      for (const Trace& each : found) expect_same_bits(each, found[0]);
      ++tried;
    }
  }
  count("models trained by ranks", tried);
}

template <typename Counts>
void expect_bits_of_shards(const Counts& counts) {
  int64_t tried = 0;
  for (size_t i = 0; i < subjects().size(); ++i) {
    const Subject& subject = subjects()[i];
    const RankCounts sampled = counts(i);
    if (sampled.empty()) continue;
    const Trace wanted = trained(subject, nullptr, 4, 3);
    for (const int ranks : sampled) {
      SCOPED_TRACE(fmt::format("{}: {} ranks of 4 shards", name_of(subject), ranks));
      for (const Trace& each : trained_by(subject, ranks, 4, 3)) expect_same_bits(each, wanted);
      ++tried;
    }
  }
  count("models with shards", tried);
}

// Samples: each model is trained by one of the two.
TEST(RanksOfModels, TrainAsOneProcessDoes) {
  expect_training_of_one_process([](size_t i) {
    if (!is_sampled(i, 2)) return RankCounts{};
    return whole_samples() ? RankCounts{1, 2, 3, 4} : RankCounts{2 + int(i / 2 % 2)};
  });
}

TEST(RanksOfModels, WithShardsHaveTheSameBitsOnAnyNumberOfRanks) {
  expect_bits_of_shards([](size_t i) {
    if (!is_sampled(i + 1, 2)) return RankCounts{};
    return whole_samples() ? RankCounts{1, 2, 4} : RankCounts{i / 2 % 2 == 0 ? 2 : 4};
  });
}

/// A batch that ranks do not divide is computed whole by every rank, and said once.
TEST(RanksOfModels, ComputeAnOddBatchWhole) {
  const Subject subject{"lstm-layer", {"hidden=8", "steps=3", "batch=5"}};
  std::mutex mutex;
  std::vector<std::string> said;
  std::vector<Literal> losses(2);
  run_ranks(2, [&](const std::shared_ptr<Ranks>& ranks) {
    const auto program = make_program(subject.model, subject.parameters);
    SessionOptions options{.target = "cpu", .ranks = ranks};
    options.compile.threads = 1;
    options.announce = [&](const std::string& line) {
      std::lock_guard lock(mutex);
      if (ranks->rank() == 0) said.push_back(line);
    };
    Session session(program->model(), options);
    for (int i = 0; i < 2; ++i)
      losses[size_t(ranks->rank())] =
          session.run("train", program->random_inputs("train", 1))[0].copy();
  });
  EXPECT_TRUE(losses[0] == losses[1]);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0],
            "remark: every rank computes graph train whole: batch 5 is not divided by 2 ranks");
}

}  // namespace
}  // namespace graphc::core::testing
