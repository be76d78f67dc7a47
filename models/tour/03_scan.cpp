// SPDX-License-Identifier: Apache-2.0
// 03, scan and state: a state assigned in a loop is a carry; a state assigned outside it persists
// between calls.
#include "models/tour/memory.h"

using namespace graphc;

namespace {

/// Steps [from, to) of a sequence of signals [4, 1, 3].
Literal signals(int64_t from, int64_t to) {
  const std::vector<float> all{1, 0, 0, 0, 1, 0, 0, 0, 1, -1, -1, -1};
  return Literal(std::span(all).subspan(size_t(3 * from), size_t(3 * (to - from))),
                 {to - from, 1, 3});
}

void show(const char* what, const Tensor& heard) {
  fmt::print("{}", what);
  for (const float h : heard.data<float>()) fmt::print(" {:.4f}", h);
  fmt::print("\n");
}

}  // namespace

int main() {
  Model model("tour");
  const Memory memory(model);
  model.graph("listen", [&](Inputs& in) {
    Value xs = in("xs", f32, {"steps", "batch", 3});
    State h = in.state("h", {in.extent("batch"), 1});
    return memory(xs, h);
  });

  // One body for any number of steps; `next %h` is the value of the state afterwards.
  fmt::print("{}\n", print(*model.trace("listen", Extents{{"steps", 4}, {"batch", 1}}).graph));

  // Four steps in one call, or two calls of two: the state persists.
  Session session(model, {.announce = [](const std::string&) {}});
  show("four at once:", session("listen", signals(0, 4)));
  session.reset("h");
  show("two,         ", session("listen", signals(0, 2)));
  show("and two:     ", session("listen", signals(2, 4)));
}
