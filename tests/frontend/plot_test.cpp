// SPDX-License-Identifier: Apache-2.0
// Plots: where points lie, gaps, names; and curves that draw themselves.
#include "frontend/plot.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/curve.h"
#include "ir/error.h"
#include "runtime/files/files.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Plot, PutsPointsWhereTheirNumbersAreOnTheAxes) {
  // The panel's frame is x 70 to 590, y 256 to 34.
  const std::string svg =
      plot_svg({{"fit & <more>", "row", {{"a", {0, 10, NAN, 5}}, {"b", {2.5}, {3}}}}});
  EXPECT_THAT(svg, HasSubstr("d=\"M70.0 256.0h0L243.3 34.0M590.0 145.0h0\""));
  EXPECT_THAT(svg, HasSubstr("d=\"M590.0 200.5h0\""));
  EXPECT_THAT(svg, AllOf(HasSubstr("fit &amp; &lt;more&gt;"), HasSubstr(">a</text>"),
                         HasSubstr(">b</text>"), HasSubstr(">10</text>"), Not(HasSubstr("nan"))));
  // Nothing to draw, one number, numbers that are not finite.
  for (const std::vector<double>& y : {std::vector<double>{}, {3}, {INFINITY, NAN}})
    EXPECT_THAT(plot_svg({{"", "", {{"", y}}}}),
                AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  EXPECT_THAT(error_of(ErrorKind::input, [] { plot_svg({{"", "", {{"a", {1, 2}, {1}}}}}); }),
              HasSubstr("a line of a plot, 'a', has 1 x and 2 y: wanted as many"));
}

TEST(Plot, CurvesDrawWhatTheirFileHadAndWhatWasAdded) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "curve.csv", svg = folder.path() / "curve.svg";
  Curve(file, {"epoch", "loss", "valid"}).add({1, 4, NAN});
  Curve curve(file, {"epoch", "loss", "valid"});
  curve.add({2, 2, 3});
  curve.add({3, 0, 1});
  curve.draw(svg);
  EXPECT_THAT(read_file(svg), AllOf(HasSubstr("d=\"M70.0 34.0h0L330.0 145.0L590.0 256.0\""),
                                    HasSubstr("d=\"M330.0 89.5h0L590.0 200.5\""),
                                    HasSubstr(">loss</text>"), HasSubstr(">epoch</text>")));
  EXPECT_THAT(error_of(ErrorKind::input, [] { Curve("", {}); }), HasSubstr("a column at least"));
}

}  // namespace
}  // namespace graphc::core
