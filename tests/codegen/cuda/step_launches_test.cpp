// SPDX-License-Identifier: Apache-2.0
// Loops whose steps are launches (step_launches.h): drawn ones have the evaluator's numbers, their
// products read panels of all parts, and large ones are chosen for it.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/codegen/cuda/counted_exchange.h"
#include "tests/codegen/cuda/text_trial.h"
#include "tests/codegen/precision_trial.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Precision kStepPrecisions[] = {Precision::bf16, Precision::tf32, Precision::tf32x3,
                                         Precision::fp16};

/// A loop over steps with one to five parts, in whole numbers of at most three.
class DrawnSteps {
 public:
  explicit DrawnSteps(unsigned seed) : random_(seed) {}

  std::string draw() {
    constexpr int64_t kRows[] = {17, 20, 64, 65, 130, 200}, kUnits[] = {17, 31, 32, 40, 66, 129};
    // Once in eight times few rows and so many terms that blocks could divide them.
    const bool many_terms = below(8) == 0;
    const int64_t rows = many_terms ? kRows[below(2)] : kRows[below(6)];
    const int64_t units = many_terms ? 512 : kUnits[below(6)], heads = below(4) == 0 ? 2 : 1;
    const int parts = many_terms ? 1 + int(below(2)) : 1 + int(below(5));
    const std::string lead = heads > 1 ? fmt::format("{},", heads) : std::string();
    const int axis = heads > 1 ? 2 : 1;
    std::vector<std::string> names;
    for (int part = 0; part < parts; ++part) names.push_back(fmt::format("%p{}", part));
    std::string step = "      %z = add(matmul(%h, %u), %x.t)\n";
    if (parts == 1) {
      names = {"%z"};
    } else {
      step += fmt::format("      {} = split %z {{axis = {}, parts = {}}}\n", fmt::join(names, ", "),
                          axis, parts);
    }
    std::string sum = names[0];
    for (size_t i = 1; i < names.size(); ++i)
      sum = fmt::format("{}({}, {})", i % 2 == 0 ? "add" : "sub", sum, names[i]);
    const bool emits = below(2) == 0, reverse = below(3) == 0;
    return fmt::format(
        "graph @g(%x: f32[3,{0}{1},{2}], %h0: f32[{0}{1},{3}], %u: f32[{0}{3},{2}]) {{\n"
        "    {4}%h.e = scan {8}%x.t in %x carry %h = %h0 with %u {{\n"
        "{5}      %n = minimum(maximum({6}, -3.), 3.)\n"
        "      next %h = %n\n{7}    }}\n  return {4}%h.e\n}}",
        lead, rows, units * parts, units, emits ? "%y, " : "", step, sum,
        emits ? fmt::format("      emit add(%n, {})\n", names.back()) : "",
        reverse ? "{reverse = true} " : "");
  }
  Precision precision() { return kStepPrecisions[below(4)]; }

 private:
  unsigned below(unsigned end) { return unsigned(random_() % end); }

  std::mt19937 random_;
};

class StepLaunches : public CountedExchange {};

TEST_F(StepLaunches, DrawnStepsHaveTheNumbersOfTheEvaluator) {
  int in_panels = 0, tried = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    if (!is_sampled(seed, 5)) continue;
    DrawnSteps draws(seed);
    const std::string text = draws.draw();
    const Precision precision = draws.precision();
    SCOPED_TRACE(fmt::format("{}: {}, {}", seed, name_of(precision), text));
    setenv("GRAPHC_MOCK_SEED", std::to_string(seed).c_str(), 1);
    const GraphPtr graph = parse_graph(text);
    ++tried;
    const cuda::Launches launches = launches_of(graph, precision, {}, cuda::Placement::launches);
    in_panels += std::ranges::any_of(launches.kernels, [](const cuda::KernelText& kernel) {
      return kernel.text.find("end_copies();") != std::string::npos;
    });
    for (const cuda::Launch& launch : launches.step) EXPECT_EQ(launch.placement, nullptr);
    const std::vector<Literal> inputs = drawn_inputs(*graph, seed, 2, true);
    EXPECT_EQ(results(graph, inputs, precision, cuda::Placement::launches),
              evaluate(*graph, inputs).results);
  }
  std::printf("%d of %d loops have products whose panels are copied ahead\n", in_panels, tried);
  count("loops in launches whose panels are copied ahead", in_panels);
  EXPECT_GE(in_panels, tried / 2);
}

/// A product that reads the panels of a state, of so many terms that blocks could divide them.
constexpr const char* kProductOfState =
    R"(graph @g(%x: f32[M,K], %b: f32[N]) state (%w: f32[K,N]) {
       return add(matmul(%x, %w), %b)
     })";

TEST_F(StepLaunches, PanelsOfManyTermsAreMultipliedAsTheyAre) {
  for (const Precision precision : kStepPrecisions) {
    const Subject subject{.name = "",
                          .graph = kProductOfState,
                          .sizes = {"M=32 K=784 N=130"},
                          .precision = precision,
                          .numbers = Numbers::whole,
                          .tolerance = 1e-7};
    EXPECT_EQ(Trial(subject, 0).fault(true), "") << name_of(precision);
  }
}

/// The notes of a training step of a layer.
std::vector<std::string> notes_of_layer(const std::vector<std::string>& size, Precision precision,
                                        std::optional<cuda::Placement> placement = {}) {
  const auto layer = make_program("lstm-layer", size);
  return launches_of(layer->model().trace("train", layer->extents("train")).graph, precision, {},
                     placement)
      .notes;
}

TEST_F(StepLaunches, AreChosenForLargeProducts) {
  const std::vector<std::string> large{"hidden=2048", "batch=1024", "steps=3"};
  for (const Precision precision : {Precision::bf16, Precision::tf32}) {
    const std::vector<std::string> notes = notes_of_layer(large, precision);
    ASSERT_THAT(notes, ElementsAre(HasSubstr("loop mul.3: 3 launches, which take "),
                                   HasSubstr("loop concat.3: 6 launches, which take ")));
    EXPECT_THAT(notes[0], HasSubstr("(every step reads its matrices from memory"));
    // What is asked for is done.
    EXPECT_THAT(notes_of_layer(large, precision, cuda::Placement::streamed), IsEmpty());
    // One kernel takes less for small ones, and a graph of 6,000 launches is long to make.
    EXPECT_THAT(notes_of_layer({"hidden=512", "batch=128", "steps=3"}, precision), IsEmpty());
    EXPECT_THAT(notes_of_layer({"hidden=2048", "batch=1024", "steps=4097"}, precision), IsEmpty());
  }
}

}  // namespace
}  // namespace graphc::core::testing
