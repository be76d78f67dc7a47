// SPDX-License-Identifier: Apache-2.0
// CUDA text with one defect (tests/codegen/cuda/text_mutants.h) on its way to the device, kernel by
// kernel of graphs that have every kind of them: each defect is found, by numbers that are not the
// evaluator's or by the emulator. In a graph one place of every second rule is tried, and with
// whole samples (tests/testing/samples.h) one of each rule in each kernel; GRAPHC_TEXT_MUTANTS says
// how many. The slow suite tries all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/text/text_shape.h"
#include "tests/codegen/cuda/text_mutants.h"
#include "tests/codegen/cuda/text_trial.h"
#include "tests/codegen/variants.h"
#include "tests/cuda/emulator/module.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {
namespace {

/// Instructions of warps after which a launch counts as endless; the graphs here take a hundredth.
constexpr uint64_t kMostInstructions = 30'000'000;

/// As many mutants of each rule as there are.
constexpr size_t kAll = std::numeric_limits<size_t>::max();

/// A mutant of a kernel's text.
struct Attempt {
  const cuda::KernelText* kernel;
  TextMutant mutant;
};

/// `most` attempts of each rule, spread over its places; all if there are not more.
std::vector<Attempt> sampled(std::vector<Attempt> all, size_t most) {
  std::map<std::string_view, std::vector<Attempt*>> by_rule;
  for (Attempt& attempt : all) by_rule[attempt.mutant.rule->name].push_back(&attempt);
  std::vector<Attempt> chosen;
  for (auto& [rule, mutants] : by_rule) {
    const size_t count = std::min(mutants.size(), most);
    for (size_t i = 0; i < count; ++i)
      chosen.push_back(std::move(*mutants[(2 * i + 1) * mutants.size() / (2 * count)]));
  }
  return chosen;
}

/// What is the same in nests of a loop, or of a launch of several, as in kernels of their own,
/// where it is tried.
const std::set<std::string_view> kNotInLoops = {"one less",
                                                "thread of this axis",
                                                "one more",
                                                "guard of one more",
                                                "last guard of one more",
                                                "quotient for remainder",
                                                "remainder for quotient",
                                                "blocks side by side",
                                                "blocks below each other",
                                                "indices exchanged"};

/// The line of the kernel's head.
int64_t head_line(const std::string& text) {
  const auto head = text.begin() + std::ptrdiff_t(text.find("__global__"));
  return std::count(text.begin(), head, '\n');
}

/// Whether a defect is tried in a kernel. What stands before the steps of a placed loop stands
/// nowhere else.
bool is_tried(const TextMutant& mutant) {
  if (!kNotInLoops.contains(mutant.rule->name)) return true;
  if (mutant.text.find("// Nests that do not") != std::string::npos) return false;
  const size_t steps = mutant.text.find("iteration < steps");
  if (steps == std::string::npos) return true;
  const auto last = mutant.text.begin() + std::ptrdiff_t(steps);
  return is_placed(mutant) && mutant.line < 1 + std::count(mutant.text.begin(), last, '\n') &&
         mutant.line > 1 + head_line(mutant.text) && !mutant.before.starts_with("for (");
}

/// The largest numbers that kernels of this text are launched with.
void note_launches(const cuda::Launches& launches, std::map<std::string, Launched>& all) {
  std::vector<std::vector<cuda::Launch>> lists = launches.forms;
  lists.push_back(launches.step);
  for (const cuda::Launch& launch : launches.step) {
    if (launch.rest != nullptr) lists.push_back({*launch.rest});
  }
  for (const std::vector<cuda::Launch>& list : lists) {
    for (const cuda::Launch& launch : list) {
      const std::string& text = launches.kernels[size_t(launch.kernel)].text;
      Launched& noted = all[text];
      const auto& blocks = launch.grid.blocks;
      noted.blocks = std::max(noted.blocks, int64_t{blocks[0]} * blocks[1] * blocks[2]);
      const std::vector<std::string> names = parameters_of(text);
      for (size_t i = 0; i < names.size(); ++i) {
        const int64_t number = launch.arguments[i].number;
        noted.numbers[names[i]] = std::max(noted.numbers[names[i]], number);
        if (names[i] == "columns") noted.has_single_column |= number % launch.grid.threads[0] == 1;
      }
    }
  }
}

/// Mutants of every kernel of a graph, on all of its sizes.
class Hunt {
 public:
  explicit Hunt(const Subject& subject) : name_(subject.name) {
    for (size_t size = 0; size < subject.sizes.size(); ++size) {
      trials_.push_back(std::make_unique<Trial>(subject, size));
      const cuda::Launches& launches = trials_.back()->launches();
      if (size == 0) kernels_ = launches.kernels;
      note_launches(launches, launched_);
    }
    EXPECT_EQ(launched_.size(), kernels_.size()) << "kernels of one size alone";
  }

  /// What is wrong without a mutant.
  std::string fault() {
    std::string wrong;
    for (auto& trial : trials_) wrong += trial->fault(true) + trial->fault(false);
    return wrong;
  }

  /// Tries `most` mutants of each rule, or a sample of them, in the kernels whose texts match
  /// `having`.
  void run(size_t most, const std::regex& having) {
    std::vector<Attempt> all;
    for (const cuda::KernelText& kernel : kernels_) {
      if (!std::regex_search(kernel.text, having) || is_of_one_element(kernel.text)) continue;
      std::vector<Attempt> attempts;
      for (TextMutant& mutant : mutants_of(kernel.text)) {
        if (is_tried(mutant)) attempts.push_back({&kernel, std::move(mutant)});
      }
      std::ranges::move(sampled(std::move(attempts), most), std::back_inserter(all));
    }
    // The kernels take turns of the rules: of each, one's place is the middle of all.
    if (most < kAll) {
      if (!whole_samples()) all = sampled(std::move(all), most);
      std::erase_if(
          all, [turn = name_.size()](const Attempt&) mutable { return !is_sampled(turn++, 3); });
    }
    for (const Attempt& attempt : all) try_one(*attempt.kernel, attempt.mutant);
    count("mutants of CUDA text killed", killed_);
    count("mutants of CUDA text that change nothing", equal_);
    std::printf("%ld mutants killed, %ld change nothing\n", long(killed_), long(equal_));
  }

 private:
  /// A number by itself is no occasion for most defects.
  bool is_of_one_element(const std::string& text) const {
    const auto& numbers = launched_.at(text).numbers;
    return numbers.contains("columns") && numbers.at("rows") == 1 && numbers.at("columns") == 1;
  }

  void try_one(const cuda::KernelText& kernel, const TextMutant& mutant) {
    if (!why_equal(mutant, launched_.at(kernel.text)).empty()) {
      ++equal_;
      return;
    }
    SCOPED_TRACE(fmt::format("{}, line {}: {}: {}  ->  {}", kernel.name, mutant.line,
                             mutant.rule->name, mutant.before, mutant.now));
    try {
      const cuda_emulator::Module module(mutant.text);
    } catch (const Error& error) {
      ADD_FAILURE() << "a rule makes no CUDA: " << error.what();
      return;
    }
    const std::string wrong = found(kernel.text, mutant);
    EXPECT_NE(wrong, "") << "lives";
    killed_ += wrong.empty() ? 0 : 1;
  }

  /// What is wrong with the mutant: nothing, if it lives. Reuse of memory is an occasion too, and
  /// so is another order.
  std::string found(const std::string& text, const TextMutant& mutant) {
    trials_[0]->driver().exchange(text.c_str(), mutant.text.c_str(), kMostInstructions);
    std::string wrong;
    for (int attempt = 0; attempt < 3 && wrong.empty(); ++attempt) {
      for (size_t i = 0; i < trials_.size() && wrong.empty(); ++i)
        wrong = trials_[i]->fault(attempt == 1);
    }
    trials_[0]->driver().exchange(nullptr, nullptr, 0);
    return wrong;
  }

  const std::string name_;  ///< graphs whose names differ in length begin with another rule
  std::vector<std::unique_ptr<Trial>> trials_;
  std::vector<cuda::KernelText> kernels_;
  std::map<std::string, Launched> launched_;  ///< by text
  int64_t killed_ = 0, equal_ = 0;
};

void hunt(const Subject& subject, size_t most) {
  Hunt all(subject);
  ASSERT_EQ(all.fault(), "");
  all.run(most, std::regex(subject.having));
}

std::string name_of(const ::testing::TestParamInfo<Subject>& subject) { return subject.param.name; }

/// A place of each rule in each kernel.
class TextMutants : public ::testing::TestWithParam<Subject> {};
TEST_P(TextMutants, AreFound) { hunt(GetParam(), size_t(number_from("GRAPHC_TEXT_MUTANTS", 1))); }
INSTANTIATE_TEST_SUITE_P(Of, TextMutants, ::testing::ValuesIn(text_subjects()), name_of);

/// Every place.
class TextMutantsSlow : public ::testing::TestWithParam<Subject> {};
TEST_P(TextMutantsSlow, AreFound) { hunt(GetParam(), kAll); }
INSTANTIATE_TEST_SUITE_P(Of, TextMutantsSlow, ::testing::ValuesIn(text_subjects()), name_of);

/// Whether the place is one of those that are said to make no difference.
bool is_at(const TextMutant& mutant, const EqualPlace& place) {
  return mutant.rule->name == place.rule && mutant.before.find(place.part) != std::string::npos;
}

TEST(TextMutantRules, AllMatchSomewhere) {
  std::set<std::string_view> unused;
  for (const TextRule& rule : text_rules()) unused.insert(rule.name);
  std::vector<EqualPlace> unseen = equal_places();
  for (const Subject& subject : text_subjects()) {
    const Trial trial(subject, 0);
    for (const cuda::KernelText& kernel : trial.launches().kernels) {
      for (const TextMutant& mutant : mutants_of(kernel.text)) {
        if (is_tried(mutant)) unused.erase(mutant.rule->name);
        std::erase_if(unseen, [&](const EqualPlace& place) { return is_at(mutant, place); });
      }
    }
  }
  EXPECT_THAT(unused, ::testing::IsEmpty());
  EXPECT_TRUE(unseen.empty()) << unseen[0].rule << ": " << unseen[0].part;
}

/// A kernel that does something else is never taken for another one (text_shape.h).
TEST(TextMutantRules, GiveTextsOtherShapes) {
  for (const Subject& subject : text_subjects()) {
    const Trial trial(subject, 0);
    for (const cuda::KernelText& kernel : trial.launches().kernels) {
      const std::string shape = cuda::shape_of(kernel);
      for (const TextMutant& mutant : mutants_of(kernel.text))
        EXPECT_NE(cuda::shape_of({kernel.name, mutant.text}), shape)
            << mutant.before << "  ->  " << mutant.now;
    }
  }
}

TEST(TextMutantRules, LeaveCommentsAndHeadsAlone) {
  const std::string text =
      "// for (int i = 0; i < 3; ++i) __syncthreads();\n"
      "extern \"C\" __global__ void __launch_bounds__(256) f(\n    const float* x,\n"
      "    long long x_row) {\n  __syncthreads();  // row * x_row\n}\n";
  const std::vector<TextMutant> mutants = mutants_of(text);
  ASSERT_EQ(mutants.size(), 1u);
  EXPECT_EQ(mutants[0].rule->name, "barrier removed");
  EXPECT_EQ(mutants[0].line, 5);
  EXPECT_EQ(mutants[0].now, ";");
  EXPECT_EQ(parameters_of(text), (std::vector<std::string>{"x", "x_row"}));
}

}  // namespace
}  // namespace graphc::core::testing
