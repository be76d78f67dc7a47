// SPDX-License-Identifier: Apache-2.0
// Branches of a step's graph: which launches run beside each other, that every order has the same
// bits, and that a dependency that lacks is found.
#include "codegen/targets/cuda/launches/branches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/libraries/library_product.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/codegen/wanted.h"
#include "tests/runtime/cuda/mock_driver.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

cuda::Launches branched_launches(const Plan& plan, const cuda::Gpu& gpu = {}) {
  return cuda::make_launches(plan, gpu);
}

Plan branched_plan(const GraphPtr& graph) {
  CompileReport report;
  return make_plan(*form_kernels_for(graph, {}, report), cuda::gpu_machine());
}

GraphPtr branched_step(const std::string& model, const std::vector<std::string>& parameters) {
  const auto program = make_program(model, parameters);
  return program->model().trace("train", program->extents("train")).graph;
}

/// For each launch all that come before it whatever the order.
std::vector<std::set<int>> all_before(const cuda::Branches& branches) {
  std::vector<std::set<int>> all(branches.launches.size());
  std::vector<int> last(size_t(branches.streams), -1);
  for (size_t i = 0; i < all.size(); ++i) {
    const cuda::BranchPlace& place = branches.launches[i];
    std::vector<int> direct = place.waits;
    if (last[size_t(place.stream)] >= 0) direct.push_back(last[size_t(place.stream)]);
    for (const int each : direct) {
      all[i].insert(all[size_t(each)].begin(), all[size_t(each)].end());
      all[i].insert(each);
    }
    last[size_t(place.stream)] = int(i);
  }
  return all;
}

TEST(Branches, AreThereInTheStepOfTwoLayers) {
  const Plan plan = branched_plan(branched_step("ptb-lm", {"size=small"}));
  const cuda::Launches launches = branched_launches(plan);
  const cuda::Branches branches = cuda::branches_of(launches.step);
  EXPECT_GT(branches.streams, 2);
  EXPECT_LT(branches.longest, int(launches.step.size()));
  EXPECT_THAT(cuda::branches_text(branches), HasSubstr("launches in "));
  // The backward loop of the first layer and a product for the second one's gradients are free of
  // each other.
  const auto order = all_before(branches);
  int loops = 0, last_loop = 0;
  for (size_t i = 0; i < launches.step.size(); ++i) {
    if (launches.step[i].placement == nullptr) continue;
    ++loops;
    last_loop = int(i);
  }
  EXPECT_EQ(loops, 4);
  int beside = 0;
  for (size_t i = 0; i < launches.step.size(); ++i) {
    const bool product = launches.step[i].record->family == Family::gemm;
    beside +=
        product && !order[i].contains(last_loop) && !order[size_t(last_loop)].contains(int(i));
  }
  EXPECT_GE(beside, 2);
}

TEST(Branches, HoldEveryConflictAndOneStreamHoldsAll) {
  const Plan plan = branched_plan(branched_step("ptb-lm", {"size=small"}));
  const cuda::Launches launches = branched_launches(plan);
  for (const int streams : {1, 2, 16}) {
    const cuda::Branches branches = cuda::branches_of(launches.step, streams);
    EXPECT_LE(branches.streams, streams);
    const auto order = all_before(branches);
    int conflicts = 0;
    for (size_t i = 0; i < launches.step.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        // Pair by pair, in no way as the product finds them.
        bool conflict = false;
        for (const MemoryAccess& a : launches.step[i].accesses) {
          for (const MemoryAccess& b : launches.step[j].accesses)
            conflict |= a.memory == b.memory && (a.writes || b.writes) && overlap(a.bytes, b.bytes);
        }
        conflicts += conflict;
        const bool ordered = order[i].contains(int(j));
        EXPECT_TRUE(ordered || !(conflict || streams == 1)) << i << " " << j;
      }
    }
    EXPECT_GT(conflicts, 100);
  }
}

TEST(Branches, HaveNoTwoLaunchesBesideEachOtherWhoseBlocksWait) {
  const Plan plan = branched_plan(parse_graph(R"(
    graph @g(%x: f32[3,8,128], %h: f32[8,128], %k: f32[8,128])
        state (%u: f32[128,128], %v: f32[128,128]) {
      %y, %a = scan %x.t in %x carry %h.t = %h with %u {
        %n = tanh(add(matmul(%h.t, %u), %x.t))
        next %h.t = %n
        emit %n
      }
      %z, %b = scan %x.t in %x carry %k.t = %k with %v {
        %m = tanh(sub(matmul(%k.t, %v), %x.t))
        next %k.t = %m
        emit %m
      }
      return %y, %z
    })"));
  for (const auto placement : {cuda::Placement::grid, cuda::Placement::block}) {
    const cuda::Launches launches = cuda::make_launches(plan, {}, placement);
    std::vector<size_t> loops;
    for (size_t i = 0; i < launches.step.size(); ++i) {
      if (launches.step[i].placement != nullptr) loops.push_back(i);
    }
    ASSERT_EQ(loops.size(), 2u);
    const bool wait = launches.step[loops[0]].barrier_groups > 0;
    EXPECT_EQ(wait, placement == cuda::Placement::grid);
    const auto order = all_before(cuda::branches_of(launches.step));
    EXPECT_EQ(order[loops[1]].contains(int(loops[0])), wait) << name_of(placement);
  }
}

/// Products side by side, that meet in the end, and a state that is read before it is written.
constexpr const char* kBeside = R"(
  graph @beside(%x: f32[20,16], %a: f32[16,12], %b: f32[12,16], %c: f32[16,12])
      state (%s: f32[20,12]) {
    %p = softmax(matmul(%x, %a))
    %q = softmax(matmul(%x, %c))
    %r = matmul(%p, %b)
    %t = matmul(%q, %b)
    %n = matmul(%r, %c)
    next %s = add(%s, matmul(%t, %a))
    return add(matmul(%r, %a), %s), %n, %q
  })";

/// Calls twice; outputs and states of the second, or what went wrong.
struct BranchedResult {
  std::vector<Literal> values;
  std::string error;
  bool operator==(const BranchedResult&) const = default;
};

BranchedResult called_twice(const GraphPtr& graph, const Call& call) {
  BranchedResult result;
  try {
    CompileReport report;
    const auto executable = compile(graph, targets::cuda, {}, report);
    std::vector<Tensor> inputs, outputs, states;
    for (const Literal& input : call.inputs) inputs.emplace_back(input);
    for (const Literal& state : call.states) states.emplace_back(state).make_unique();
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    for (int i = 0; i < 2; ++i) executable->run(inputs, states, outputs);
    for (const auto* list : {&outputs, &states})
      for (const Tensor& each : *list) result.values.push_back(each.copy());
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

class BranchesCalled : public ::testing::Test {
 protected:
  ~BranchesCalled() override {
    unsetenv("GRAPHC_MOCK_SEED");
    unsetenv("GRAPHC_MOCK_AS_CAPTURED");
    unsetenv("GRAPHC_MOCK_MULTIPROCESSORS");
    driver_.forget(0);
  }

  /// In the order of the capture: that of one stream.
  BranchedResult in_order(const GraphPtr& graph, const Call& call) {
    setenv("GRAPHC_MOCK_AS_CAPTURED", "1", 1);
    const BranchedResult result = called_twice(graph, call);
    unsetenv("GRAPHC_MOCK_AS_CAPTURED");
    EXPECT_EQ(result.error, "");
    return result;
  }

  static bool same_bits(const BranchedResult& a, const BranchedResult& b) {
    return a.error == b.error &&
           std::ranges::equal(a.values, b.values, [](const Literal& x, const Literal& y) {
             return std::ranges::equal(x.bytes(), y.bytes());
           });
  }

  cuda::testing::MockDriver driver_;
};

TEST_F(BranchesCalled, HaveTheBitsOfOneStreamInEveryOrder) {
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "3", 1);
  const GraphPtr two_layers = branched_step(
      "ptb-lm",
      {"size=test", "hidden=5", "layers=2", "steps=3", "batch=4", "vocabulary=19", "keep=0.5"});
  for (const GraphPtr& graph : {parse_graph(kBeside), two_layers}) {
    const Call call = random_call(*graph, 5, Numbers::real);
    const BranchedResult wanted = in_order(graph, call);
    ASSERT_FALSE(wanted.values.empty());
    for (int seed = 1; seed <= 8; ++seed) {
      setenv("GRAPHC_MOCK_SEED", std::to_string(seed).c_str(), 1);
      const BranchedResult found = called_twice(graph, call);
      EXPECT_TRUE(same_bits(found, wanted)) << "seed " << seed << " " << found.error;
    }
  }
}

TEST_F(BranchesCalled, WithADependencyThatLacksAreFound) {
  const GraphPtr graph = parse_graph(kBeside);
  const Call call = random_call(*graph, 5, Numbers::real);
  driver_.forget(0);
  const BranchedResult wanted = in_order(graph, call);
  const size_t waits = driver_.forget(0);
  ASSERT_GE(waits, 3u);
  for (size_t wait = 1; wait <= waits; ++wait) {
    bool found = false;
    for (int seed = 1; seed <= 12 && !found; ++seed) {
      setenv("GRAPHC_MOCK_SEED", std::to_string(100 * seed).c_str(), 1);
      driver_.forget(wait);
      found = !same_bits(called_twice(graph, call), wanted);
    }
    EXPECT_TRUE(found) << "wait " << wait << " of " << waits;
  }
}

TEST_F(BranchesCalled, OfAChainAreOneStreamWithoutEvents) {
  const GraphPtr graph = parse_graph(R"(
    graph @chain(%x: f32[9,8], %a: f32[8,8]) {
      return matmul(softmax(matmul(%x, %a)), %a)
    })");
  driver_.heal();
  const BranchedResult result = called_twice(graph, random_call(*graph, 5, Numbers::real));
  EXPECT_EQ(result.error, "");
  for (const char* none : {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"})
    EXPECT_EQ(driver_.calls(none), 0u) << none;
}

TEST_F(BranchesCalled, AreARemark) {
  CompileReport report;
  const auto executable = compile(parse_graph(kBeside), targets::cuda, {}, report);
  std::vector<std::string> texts;
  for (const Remark& remark : report.remarks) texts.push_back(remark.text);
  EXPECT_THAT(texts, ::testing::Contains(HasSubstr("branches, ")));
}

/// A loop that is launches, whose matrix is a state in panels that the step writes behind it.
constexpr const char* kStateOfALoop = R"(
  graph @loop(%i: i64[3,8], %k0: i64[8], %h0: f32[8,24], %t: f32[10,24]) state (%w: f32[24,20]) {
    %y, %k.e, %h.e = scan %i.t in %i carry %k = %k0, %h = %h0 with %w, %t {
      %l = tanh(matmul(add(gather(%t, %k), %h), %w))
      %w.t = transpose(%w) {permutation = [1, 0]}
      next %k = %i.t, %h = matmul(%l, %w.t)
      emit %l
    }
    next %w = sub(%w, mul(%w, 0.5))
    return %y, %h.e
  })";

/// The library reads the state where a kernel reads panels of it: as what the launch touches has to
/// say, or the state might be written meanwhile.
TEST(Branches, PanelsStandForTheirStateUntilTheStepWritesIt) {
  CompileReport report;
  const Plan plan =
      make_plan(*form_kernels_for(parse_graph(kStateOfALoop), {}, report), cuda::gpu_machine());
  const auto state = std::ranges::find(plan.buffers, "w", &Buffer::name);
  ASSERT_NE(state, plan.buffers.end());
  const int memory = memory_of(plan, int(state - plan.buffers.begin()));
  const cuda::Launches launches =
      cuda::make_launches(plan, {}, {}, cuda::Merging::together, {.products = 0});
  int products = 0;
  for (const cuda::Launch& launch : launches.step) {
    if (launch.by_library == nullptr) continue;
    ++products;
    EXPECT_TRUE(std::ranges::any_of(launch.accesses, [&](const MemoryAccess& each) {
      return each.memory == memory && !each.writes && each.bytes.end == state->bytes;
    })) << launch.by_library->shape.text();
  }
  EXPECT_EQ(products, 6);
}

}  // namespace
}  // namespace graphc::core::testing
