// SPDX-License-Identifier: Apache-2.0
// What a session takes of what people hold, and gives back.
#include "frontend/data.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "runtime/files/npy.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A graph `f` of an input of each type, which gives them back.
struct Echo {
  Model model{"echo"};
  Session session{model, {.target = "reference", .announce = [](const std::string&) {}}};

  Echo() {
    model.graph("f32", [](Inputs& in) { return in("x", f32, {"n"}); });
    model.graph("i32", [](Inputs& in) { return in("x", i32, {"n"}); });
    model.graph("bool", [](Inputs& in) { return in("x", DType::boolean, {"n"}); });
    model.graph("number", [](Inputs& in) { return in("x", f32, {}) * 2; });
    model.graph("table", [](Inputs& in) {
      const Value x = in("x", f32, {"rows", "columns"});
      return Results{{"same", x}, {"sum", sum(x)}};
    });
  }
};

TEST(Data, NumbersBecomeWhatTheGraphDeclares) {
  Echo echo;
  EXPECT_EQ(echo.session("number", 1.5).scalar(), 3);
  EXPECT_EQ(echo.session("number", 1.5f).scalar(), 3);
  EXPECT_EQ(echo.session("number", 2).scalar(), 4);
  EXPECT_EQ(echo.session("number", int64_t{2}).scalar(), 4);
}

TEST(Data, VectorsHaveOneAxisRowsTwoAndSpansTheShapeTheyAreGiven) {
  Echo echo;
  EXPECT_THAT(echo.session("f32", std::vector<double>{1, 2.5}).to_vector(), ElementsAre(1, 2.5));
  EXPECT_THAT(echo.session("f32", std::vector<int>{1, 2}).to_vector<int>(), ElementsAre(1, 2));
  EXPECT_THAT(echo.session("i32", std::vector<int64_t>{1, -2}).to_vector<int64_t>(),
              ElementsAre(1, -2));
  EXPECT_THAT(echo.session("bool", std::vector<bool>{true, false}).to_vector<int>(),
              ElementsAre(1, 0));
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  const Outputs of_span = echo.session("table", Data(std::span(six).subspan(2), {2, 2}));
  EXPECT_EQ(of_span["same"].shape(), (Shape{2, 2}));
  EXPECT_THAT(of_span["same"].to_vector<double>(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(of_span["sum"].scalar(), 18);
  const std::vector<std::vector<float>> rows{{1, 2}, {3, 4}, {5, 6}};
  EXPECT_EQ(echo.session("table", rows)["same"].to_vector(), six);
}

TEST(Data, WhatDoesNotFitIsAnError) {
  Echo echo;
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Data(six, {2, 2}); }),
            "f32[2,2] has 4 elements: found 6");
  const std::vector<std::vector<float>> uneven{{1, 2}, {3}};
  EXPECT_EQ(error_of(ErrorKind::input, [&] { echo.session("table", uneven); }),
            "rows of equal length make an array: row 0 has 2, row 1 has 1");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { echo.session("i32", six); }),
              HasSubstr("input 'x' is i32[n]: found f32[6]"));
  EXPECT_THAT(error_of(ErrorKind::input,
                       [&] { echo.session("i32", std::vector<int64_t>{0, int64_t{1} << 40}); }),
              HasSubstr("input 'x' is i32[2]: "));
}

TEST(Data, TensorsAndLiteralsHaveTheTypeTheyHave) {
  Echo echo;
  EXPECT_THAT(error_of(ErrorKind::input, [&] { echo.session("number", Literal::of(1.0)); }),
              HasSubstr("input 'x' is f32[]: found f64[]"));
  // Also after a number of that type has been taken.
  EXPECT_EQ(echo.session("number", 1.0).scalar(), 2);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { echo.session("number", Literal::of(1.0)); }),
              HasSubstr("input 'x' is f32[]: found f64[]"));
  EXPECT_EQ(echo.session("number", echo.session("number", 3)).scalar(), 12);
}

TEST(Data, ArraysOfNumPyAreDoublesThatFit) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.npy";
  write_npy(path, Literal(std::vector<double>{0.5, 2}, {2}));
  Echo echo;
  EXPECT_THAT(echo.session("f32", npy(path)).to_vector(), ElementsAre(0.5, 2));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { npy(folder.path() / "y.npy"); }),
              HasSubstr("y.npy"));
}

TEST(Data, StatesAreSetToNumbersAndReadAsNumbers) {
  Model model("counter");
  model.state("epoch", {i64, {}});
  model.state("table", {f32, {2}});
  Session session(model, {.target = "reference"});
  session.set_state("epoch", 3);
  session.set_state("table", std::vector<double>{1, 2});
  EXPECT_EQ(session.state("epoch").scalar(), 3);
  EXPECT_THAT(session.state("table").to_vector(), ElementsAre(1, 2));
  EXPECT_EQ(error_of(ErrorKind::input, [&] { session.set_state("epoch", 0.5); }),
            "state 'epoch' is i64[]: found f64[]");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { session.state("table").scalar(); }),
            "scalar() needs exactly one element: found f32[2]");
}

}  // namespace
}  // namespace graphc::core
