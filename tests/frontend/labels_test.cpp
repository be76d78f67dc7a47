// SPDX-License-Identifier: Apache-2.0
// Labels that are no class, labels that are ignored, and numbers that are none: on every target.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/targets.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor floats(const std::vector<float>& v, const Shape& shape) {
  return Literal(std::span<const float>(v), shape);
}
Tensor labels_of(const std::vector<int32_t>& v) {
  return Literal(std::span<const int32_t>(v), {int64_t(v.size())});
}

/// Every target of the build that can run here, the CUDA target in its emulator among them.
std::vector<std::string> targets() {
  std::vector<std::string> names;
  const std::vector<testing::TargetLevel> levels = testing::all_target_levels();
  for (const Target* target : all_targets()) {
    const auto is_it = [&](const testing::TargetLevel& level) { return &level.target() == target; };
    if (std::ranges::any_of(levels, is_it)) names.emplace_back(target->name);
  }
  return names;
}

/// The mean cross entropy with its gradient, and the rows.
struct Classifier {
  Model model{"classifier"};
  int line = 0;

  explicit Classifier(std::optional<LabelOptions> options = {}) {
    model.graph("f", Mode::training, [this, options](Inputs& in) {
      Value x = in("x", f32, {"rows", 3}), y = in("y", i32, {"rows"});
      line = __LINE__ + 1;
      Value rows = options ? cross_entropy(x, y, *options) : cross_entropy(x, y);
      return Values{rows, gradients(sum(rows), {x})[0]};
    });
    model.graph("derivative", Mode::training, [](Inputs& in) {
      Value x = in("x", f32, {"rows", 3}), y = in("y", i32, {"rows"});
      return gradients(sum(cross_entropy(x, y)), {x});
    });
  }
};

TEST(Labels, ALabelThatIsNoClassIsNamedWithItsRowOnEveryTarget) {
  Classifier classifier;
  const Tensor x = floats({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  EXPECT_GE(targets().size(), 2u);
  for (const std::string& target : targets()) {
    SCOPED_TRACE(target);
    Session session(classifier.model, {.target = target});
    for (const auto& [label, text] :
         {std::pair(3, "label 3 of row 1"), {-1, "label -1 of row 1"}}) {
      const Tensor y = labels_of({0, label, 2});
      try {
        session("f", x, y);
        FAIL() << "wanted an error";
      } catch (const Error& error) {
        EXPECT_EQ(error.message(), fmt::format("{} is none of the 3 classes: wanted 0 to 2", text));
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_EQ(error.where().line, classifier.line);
      }
      EXPECT_THAT(error_of(ErrorKind::input, [&] { session("derivative", x, y); }),
                  HasSubstr(text));
    }
    session("f", x, labels_of({0, 1, 2}));
  }
}

TEST(Labels, RowsOfTheIgnoredLabelHaveNoLossAndNoDerivative) {
  Classifier plain, ignoring(LabelOptions{.ignore = -100});
  const Tensor x = floats({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  for (const std::string& target : targets()) {
    SCOPED_TRACE(target);
    Session all(plain.model, {.target = target}), some(ignoring.model, {.target = target});
    const Outputs wanted = all("f", x, labels_of({0, 1, 2}));
    const Outputs found = some("f", x, labels_of({0, -100, 2}));
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(found[0].literal().element(row), row == 1 ? 0 : wanted[0].literal().element(row));
      for (int64_t i = 3 * row; i < 3 * row + 3; ++i)
        EXPECT_EQ(found[1].literal().element(i), row == 1 ? 0 : wanted[1].literal().element(i));
    }
    EXPECT_THAT(error_of(ErrorKind::input, [&] { some("f", x, labels_of({0, -1, 2})); }),
                HasSubstr("label -1 of row 1"));
  }
}

TEST(Labels, MeanCountsIgnoredRowsAndPyTorchsMeanDoesNot) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    Value x = in("x", f32, {"rows", 3}), y = in("y", i32, {"rows"});
    Value loss = cross_entropy(x, y, {.ignore = -100});
    return Values{mean(loss), sum(loss) / sum(cast(not_equal(y, -100), f32))};
  });
  Session session(m, {.target = "reference"});
  const Outputs found = session("f", floats({0, 0, 0, 0, 0, 0}, {2, 3}), labels_of({-100, 1}));
  EXPECT_NEAR(found[0].literal().element(0), std::log(3) / 2, 1e-6);
  EXPECT_NEAR(found[1].literal().element(0), std::log(3), 1e-6);
}

TEST(NotANumber, ReluOfNanIsNanOnEveryTarget) {
  Model m("m");
  m.graph("f", Mode::training, [](Inputs& in) {
    Value x = in("x", f32, {5});
    return Values{relu(x), gradients(sum(relu(x)), {x})[0]};
  });
  for (const std::string& target : targets()) {
    SCOPED_TRACE(target);
    Session session(m, {.target = target});
    const Outputs found = session("f", floats({NAN, -1, 2, -0.0f, 0}, {5}));
    const auto y = found[0].data<float>(), d = found[1].data<float>();
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_THAT(std::vector<float>(y.begin() + 1, y.end()), ElementsAre(0, 2, 0, 0));
    EXPECT_THAT(d, ElementsAre(1, 0, 1, 0, 0));  // PyTorch's, of NaN too
  }
}

}  // namespace
}  // namespace graphc::core
