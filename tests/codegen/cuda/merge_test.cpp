// SPDX-License-Identifier: Apache-2.0
// Launches of several nests: which become one, that they do what they did, and that a wrong one is
// found by the emulator.
#include "codegen/targets/cuda/launches/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/plan/arena_places.h"
#include "codegen/step/order.h"
#include "codegen/targets/cuda/machine.h"
#include "codegen/targets/cuda/text/merged_kernel.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/codegen/variants.h"
#include "tests/cuda/run_text.h"
#include "tests/runtime/cuda/mock_driver.h"

namespace graphc::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

/// A plan and its launches, of a variant.
struct MergedStep {
  explicit MergedStep(const GraphPtr& graph, const char* variant = "fused") {
    CompileReport report;
    plan = make_plan(*form_kernels_for(graph, {.variant = variant}, report), cuda::gpu_machine());
    launches = cuda::make_launches(plan);
  }

  /// As many as there would be if no two were one.
  size_t before() const {
    size_t count = 0;
    for (const cuda::Launch& launch : launches.step)
      count += std::max<size_t>(launch.nests.size(), 1);
    return count;
  }
  /// The names of the nests in one launch with this one.
  std::vector<std::string> with(const std::string& name) const {
    for (const cuda::Launch& launch : launches.step) {
      std::vector<std::string> names;
      for (const cuda::LaunchedNest& nest : launch.nests) names.push_back(nest.call->name);
      if (std::ranges::find(names, name) != names.end()) return names;
    }
    return {};
  }

  Plan plan;
  cuda::Launches launches;
};

MergedStep merged_step(const std::string& model, const std::vector<std::string>& parameters) {
  const auto program = make_program(model, parameters);
  return MergedStep(program->model().trace("train", program->extents("train")).graph);
}

TEST(MergedLaunches, OfATrainingStepAreFewer) {
  const MergedStep test = merged_step("ptb-lm", {"size=test"});
  EXPECT_EQ(test.before(), 51u);
  EXPECT_EQ(test.launches.step.size(), 28u);
  const MergedStep small = merged_step("ptb-lm", {"size=small"});
  EXPECT_EQ(small.before(), 70u);
  EXPECT_EQ(small.launches.step.size(), 35u);
}

TEST(MergedLaunches, ClipAndUpdateAreOneOfPartialNormsOneOfNormsAndOneOfUpdates) {
  const MergedStep step = merged_step("ptb-lm", {"size=test"});
  EXPECT_THAT(step.with("sum.14"), IsSupersetOf({"sum.7", "sum.9", "sum.11"}));
  EXPECT_THAT(step.with("sum.15"), IsSupersetOf({"sum.8", "sum.10", "sum.12", "sum.16"}));
  EXPECT_THAT(step.with("sub.2"), IsSupersetOf({"sub.3", "sub.4", "sub.6", "sub.7"}));
}

/// So many states, each moved by its own input.
std::string updates_text(int count) {
  std::string inputs, states, next;
  for (int i = 0; i < count; ++i) {
    const std::string shape = fmt::format("f32[{},{}]", i % 3 + 1, 7 * i + 2);
    inputs += fmt::format("%d{}: {}, ", i, shape);
    states += fmt::format("{}%w{}: {}", i == 0 ? "" : ", ", i, shape);
    next += fmt::format("{}%w{} = sub(%w{}, mul(%d{}, %rate))", i == 0 ? "" : ", ", i, i, i);
  }
  return fmt::format(
      "graph @g({}%rate: f32[]) state ({}) {{\n  next {}\n  return mul(%rate, 2.)\n}}", inputs,
      states, next);
}

size_t occurrences(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(MergedLaunches, UpdatesOfManyParametersAreOneLaunchWithOneBody) {
  const MergedStep step(parse_graph(updates_text(12)));
  ASSERT_EQ(step.launches.step.size(), 1u);
  const cuda::Launch& launch = step.launches.step[0];
  EXPECT_EQ(launch.nests.size(), 13u);
  EXPECT_THAT(cuda::nests_text(launch), HasSubstr("13 nests in one launch: "));
  ASSERT_EQ(step.launches.kernels.size(), 1u);
  const std::string& text = step.launches.kernels[0].text;
  EXPECT_EQ(occurrences(text, "// A thread an element."), 2u) << text;
  for (const cuda::LaunchedNest& nest : launch.nests)
    EXPECT_THAT(text, HasSubstr(fmt::format("// {}\n", nest.call->name)));
}

TEST(MergedLaunches, StayWithinTheParametersOfAKernelAndTheNestsOfALaunch) {
  const MergedStep step(parse_graph(updates_text(150)));
  EXPECT_EQ(step.before(), 151u);
  EXPECT_EQ(step.launches.step.size(), 3u);
  for (const cuda::Launch& launch : step.launches.step)
    EXPECT_LE(launch.arguments.size() * sizeof(int64_t), cuda::kMostParameterBytes);
}

TEST(MergedLaunches, OrderNoProductBehindAnotherOne) {
  Plan plan = MergedStep(parse_graph(R"(
    graph @g(%x: f32[9,8], %a: f32[8,7], %b: f32[7,5], %y: f32[6,8], %c: f32[8,4], %d: f32[4,3]) {
      %p = softmax(matmul(%x, %a))
      %q = softmax(matmul(%y, %c))
      return matmul(%p, %b), matmul(%q, %d)
    })"))
                  .plan;
  // As in an arena without end: no place is used again.
  plan.arena_bytes = 0;
  for (Buffer& buffer : plan.buffers) {
    if (buffer.place != Place::arena) continue;
    buffer.offset = plan.arena_bytes;
    plan.arena_bytes += buffer.bytes;
  }
  const cuda::Launches launches = cuda::make_launches(plan);
  EXPECT_EQ(launches.step.size(), 10u);
  for (const cuda::Launch& launch : launches.step) EXPECT_LE(launch.nests.size(), 1u);
}

/// Runs a launch by itself, with memory for each buffer of the plan.
class LaunchAlone {
 public:
  explicit LaunchAlone(const Plan& plan) {
    for (const Buffer& buffer : plan.buffers) {
      std::vector<float> values(size_t(buffer.bytes) / sizeof(float), 0.5f);
      buffers_.push_back(
          std::make_unique<cuda_emulator::Array<float>>(memory_, buffer.name, values));
    }
  }

  void run(const cuda::MergedKernel& merged, uint64_t seed) {
    std::vector<uint64_t> values;
    for (const cuda::LaunchValue& value : merged.arguments) {
      values.push_back(value.kind == cuda::KernelArgument::Kind::number
                           ? uint64_t(value.number)
                           : uint64_t(buffers_[size_t(value.place.buffer)]->data()) +
                                 uint64_t(value.place.offset));
    }
    std::vector<const void*> parameters;
    for (const uint64_t& value : values) parameters.push_back(&value);
    cuda_emulator::Launch launch =
        cuda_emulator::launch_of(merged.grid.blocks[0], merged.grid.threads[0], seed);
    launch.parameters = parameters.data();
    const cuda_emulator::Module module(merged.kernel.text.c_str());
    cuda_emulator::run(*module.find(merged.kernel.name), launch, memory_);
  }

 private:
  cuda_emulator::DeviceMemory memory_;
  std::vector<std::unique_ptr<cuda_emulator::Array<float>>> buffers_;
};

/// A nest with what a launch by itself gives it.
cuda::MergedNest nest_alone(const Plan& plan, const NestCall& call) {
  cuda::MergedNest nest{&call, cuda::nest_grid(plan.programs[size_t(call.program)], call), {}};
  for (const cuda::Parameter& parameter : cuda::parameters_of(plan, call)) {
    const Address* address = cuda::address_for(parameter, plan, call);
    cuda::LaunchValue value;
    if (address == nullptr) {
      value.number = cuda::number_for(parameter, plan, call);
    } else {
      value = {cuda::KernelArgument::Kind::address, 0, resolve(*address, {})};
    }
    nest.arguments.push_back(value);
  }
  return nest;
}

/// What the emulator finds in one of some orders of a launch of two nests.
std::string fault_of_pair(const Plan& plan, const cuda::MergedNest& a, const cuda::MergedNest& b) {
  const std::vector<cuda::MergedNest> pair{a, b};
  const cuda::MergedKernel merged = cuda::merged_kernel(plan, pair, "pair", 1000);
  std::string found;
  for (uint64_t seed = 0; seed < 4 && found.empty(); ++seed) {
    LaunchAlone alone(plan);
    found = cuda_emulator::message_of([&] { alone.run(merged, seed); });
  }
  return found;
}

TEST(MergedLaunches, OfNestsThatDependOnEachOtherAreARaceInTheEmulator) {
  // The second one reads what the first one writes; the third what the first one reads.
  const MergedStep step(parse_graph(R"(
    graph @g(%x: f32[40,9]) {
      %y = tanh(%x)
      %z = transpose(%y) {permutation = [1,0]}
      return %y, mul(%z, 2.), exp(%x)
    })"),
                        "basic");
  std::vector<cuda::MergedNest> nests;
  for (const cuda::Launch& launch : step.launches.step) {
    for (const cuda::LaunchedNest& nest : launch.nests)
      nests.push_back(nest_alone(step.plan, *nest.call));
  }
  ASSERT_GE(nests.size(), 3u);
  int dependent = 0, independent = 0;
  for (size_t i = 0; i < nests.size(); ++i) {
    for (size_t j = i + 1; j < nests.size(); ++j) {
      std::vector<std::vector<MemoryAccess>> accesses;
      for (const size_t each : {i, j})
        accesses.push_back(memory_accesses(step.plan, {{}, *nests[each].call, -1, {}}, {}, 0));
      const bool depends = !dependencies(accesses)[1].empty();
      const std::string found = fault_of_pair(step.plan, nests[i], nests[j]);
      EXPECT_EQ(found.find("race") != found.npos, depends) << found;
      EXPECT_EQ(found.empty(), !depends) << found;
      ++(depends ? dependent : independent);
    }
  }
  EXPECT_GE(dependent, 1);
  EXPECT_GE(independent, 1);
}

TEST(MergedLaunches, OfManyBlocksHaveFewerAndDoTheSame) {
  const cuda::testing::MockDriver driver;
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "1", 1);
  // With one multiprocessor a launch has 16 blocks: each goes on to further elements.
  const GraphPtr graph = parse_graph(R"(
    graph @g(%x: f32[70,300], %y: f32[300,70], %z: f32[90,33]) {
      return tanh(%x), softmax(%y), sum(%z) {axes = [0]}, mul(%z, 2.), softmax(%x)
    })");
  const std::vector<TestTarget>& all = all_test_targets();
  const TestTarget* cuda = &*std::ranges::find(all, &targets::cuda, &TestTarget::target);
  for (const char* variant : {"fused", "basic"}) {
    const Plan plan = MergedStep(graph, variant).plan;
    const auto few = cuda::make_launches(plan, {.multiprocessors = 1});
    ASSERT_GT(few.step[0].nests.size(), 3u);
    EXPECT_LT(few.step[0].grid.blocks[0], 24u);
    EXPECT_GT(cuda::make_launches(plan).step[0].grid.blocks[0], 100u);
    EXPECT_EQ(first_difference(graph, 3, Numbers::real, {{cuda, "", std::nullopt}},
                               {{variant, "loop", {1}}}),
              "");
  }
  unsetenv("GRAPHC_MOCK_MULTIPROCESSORS");
}

TEST(MergedLaunches, FindSmallBuffersInPlacesOfTheirOwn) {
  const auto program = make_program("ptb-lm", {"size=small"});
  const GraphPtr graph = program->model().trace("train", program->extents("train")).graph;
  CompileReport report;
  const GraphPtr kernels = form_kernels_for(graph, {}, report);
  const auto shared_places = [](const Plan& plan, int64_t most_bytes) {
    int count = 0;
    for (const Buffer& a : plan.buffers) {
      for (const Buffer& b : plan.buffers) {
        const bool in_arena = is_in_arena(a) && is_in_arena(b);
        count += in_arena && &a < &b && std::min(a.bytes, b.bytes) <= most_bytes &&
                 overlap({a.offset, a.offset + a.bytes}, {b.offset, b.offset + b.bytes});
      }
    }
    return count;
  };
  Machine machine = cuda::gpu_machine();
  const Plan own = make_plan(*kernels, machine);
  machine.reorders_phases = false;
  const Plan shared = make_plan(*kernels, machine);
  EXPECT_GT(shared_places(shared, 4096), 10);
  EXPECT_EQ(shared_places(own, 4096), 0);
  EXPECT_LE(own.arena_bytes, shared.arena_bytes + shared.arena_bytes / 8);
}

// --- who waits for whom ---

MemoryAccess reads(int64_t begin, int64_t end, int memory = 0) {
  return {memory, {begin, end}, false};
}
MemoryAccess writes(int64_t begin, int64_t end, int memory = 0) {
  return {memory, {begin, end}, true};
}

std::vector<std::vector<int>> order_of(const std::vector<std::vector<MemoryAccess>>& accesses) {
  std::vector<std::vector<int>> before = dependencies(accesses);
  transitive_reduction(before);
  return before;
}

TEST(OrderOfLaunches, IsThatOfBytesThatAreWritten) {
  EXPECT_THAT(order_of({{writes(0, 8)}, {reads(7, 9)}, {reads(8, 9)}}),
              ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty()));
  EXPECT_THAT(order_of({{reads(0, 8)}, {reads(0, 8)}, {writes(4, 5)}}),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1)));
  EXPECT_THAT(order_of({{writes(0, 8)}, {writes(8, 16)}, {writes(4, 12)}, {reads(0, 4)}}),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), ElementsAre(0)));
  EXPECT_THAT(order_of({{writes(0, 8)}, {writes(0, 8, 3)}, {reads(0, 8, 3)}}),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1)));
}

TEST(OrderOfLaunches, LeavesOutWhatIsReachedInAnyCase) {
  EXPECT_THAT(order_of({{writes(0, 8)}, {reads(0, 8), writes(8, 16)}, {reads(0, 16)}}),
              ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1)));
}

TEST(OrderOfLaunches, HasWhatSaysNothingBetweenAllOthers) {
  EXPECT_THAT(order_of({{writes(0, 8)}, {writes(8, 16)}, {}, {reads(20, 24)}, {writes(30, 31)}}),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), ElementsAre(2), ElementsAre(2)));
}

}  // namespace
}  // namespace graphc::core::testing
