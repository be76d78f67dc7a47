// SPDX-License-Identifier: Apache-2.0
// What is asked for before or while a graph is traced, and cannot be: errors at the user's line.
#include <gmock/gmock.h>

#include "frontend/graphc.h"

namespace graphc::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The message with the line of the error that `function` throws.
template <typename Function>
std::pair<std::string, int> message_and_line(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    return {error.message(), error.where().line};
  }
  ADD_FAILURE() << "wanted an error";
  return {};
}

TEST(Untimely, ASessionIsNotCalledWhereAGraphIsWritten) {
  Model m("m");
  Session* session = nullptr;
  const std::vector<float> two{1, 2};
  const int line = __LINE__ + 1;
  m.graph("a", [&](Inputs& in) {
    const Value x = in("x", f32, {2});
    (*session)("b", two);
    return x;
  });
  m.graph("b", [&](Inputs& in) { return in("x", f32, {2}) + 2; });
  m.graph("c", [&](Inputs& in) {
    m.trace("b", Extents{});
    return in("x", f32, {2});
  });
  Session s(m, {.target = "reference"});
  session = &s;
  const auto says = [&](const char* graph) { return message_and_line([&] { s(graph, two); }); };
  const auto refused = says("a");
  EXPECT_THAT(refused.first,
              AllOf(HasSubstr("the session of model 'm' is asked for graph 'b' while graph 'a' is "
                              "traced"),
                    HasSubstr("call the session before")));
  EXPECT_EQ(refused.second, line);
  s("b", two);
  EXPECT_EQ(says("a"), refused) << "it depends on what ran before";
  EXPECT_THAT(says("c").first, HasSubstr("graph 'b' is traced while graph 'c' is"));
  // What was refused leaves the session as it was.
  EXPECT_EQ(Tensor(s("b", two)).literal().element(1), 4);
}

TEST(Untimely, AStateThatAGraphDeclaresLaterSaysWhen) {
  Model m("m");
  const Param a = m.param("a", {1}, constant(1));
  m.graph("train", Mode::training, [&](Inputs&) {
    const Value loss = sum(a * a);
    minimize(loss, {a}, Adam{});
    return loss;
  });
  Session s(m, {.target = "reference"});
  const auto hint = AllOf(HasSubstr("has no state 'adam.step'"), HasSubstr("Session::compile()"),
                          HasSubstr("Loading::partial"));
  const auto text_of = [](const auto& function) {
    try {
      function();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(text_of([&] { s.set_state("adam.step", 3); }), hint);
  EXPECT_THAT(text_of([&] { s.state("adam.step"); }), hint);
  EXPECT_THAT(text_of([&] { s.reset("adam.step"); }), hint);
  s.compile("train", {});
  s.set_state("adam.step", 3);
  EXPECT_EQ(s.state("adam.step").element(0), 3);
}

}  // namespace
}  // namespace graphc::core
