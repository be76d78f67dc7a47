// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/drawn_rows.h"

#include <fmt/ranges.h>

#include <random>
#include <string>
#include <vector>

#include "ir/text.h"

namespace graphc::core::testing {
namespace {

class Drawing {
 public:
  explicit Drawing(unsigned seed) : random_(seed) {
    heads_ = one_of<int>({0, 0, 2, 3});
    batch_ = one_of<int>({1, 1, 5, 9, 20, 33});
    hidden_ = heads_ > 0 ? one_of<int>({5, 8, 18}) : one_of<int>({7, 16, 22, 45, 72});
    axis_ = heads_ > 0 ? 2 : 1;
  }

  std::string text() {
    std::string step = fmt::format("%p = add({}, %x.t)\n", product());
    elements_ = {"%p", "%p", "%x.t", "mul(%p, %g)", "mul(%x.t, %b)", "mul(%h, 0.3)"};
    // Of heads, what the first of them has in the place of what each of them has.
    if (heads_ > 0) elements_.push_back("mul(%p, slice(%b) {axis = 0, start = 0, limit = 1})");
    rows_ = {"%m.t"};
    const int count = one_of<int>({2, 3, 4, 5});
    for (int i = 0; i < count; ++i) step += statement();
    const std::string row = one_of(rows_);
    const std::string last =
        fmt::format("%last = tanh(add(add(%p, {}), mul({}, 0.2)))\n", one_of(elements_), row);
    const bool emits_row = one_of<int>({0, 0, 1}) == 1 && row != "%m.t";
    const std::string loss_axes = heads_ > 0 ? "[0,1,2,3]" : "[0,1,2]";
    return fmt::format(
        R"(graph @g(%x: f32[3,{0}], %m: f32[3,{1}], %h0: f32[{0}], %g: f32[{2}], %b: f32[{3}],
                    %u: f32[{4}]) {{
             %y, %h.e = scan{9} %x.t in %x, %m.t in %m carry %h = %h0 with %u, %g, %b {{
               {5}{6}next %h = %last
               emit {7}
             }}
             %loss = add(mean(square(%y)) {{axes = {8}}}, mul(sum(%h.e) {{axes = {10}}}, 0.01))
             %dx, %dm, %dh, %dg, %db, %du = grad(%loss, %x, %m, %h0, %g, %b, %u)
             return %y, %h.e, %dx, %dm, %dh, %dg, %db, %du
           }})",
        state(hidden_), state(1), hidden_,
        heads_ > 0 ? fmt::format("{},{}", heads_, hidden_) : std::to_string(hidden_),
        heads_ > 0 ? fmt::format("{0},{1},{1}", heads_, hidden_) : fmt::format("{0},{0}", hidden_),
        step, last, emits_row ? row : one_of<std::string>({"%p", "%last"}), loss_axes,
        one_of<std::string>({"", " {reverse = true}"}), heads_ > 0 ? "[0,1,2]" : "[0,1]");
  }

 private:
  template <typename T>
  T one_of(const std::vector<T>& all) {
    return all[random_() % all.size()];
  }

  std::string state(int width) const {
    return heads_ > 0 ? fmt::format("{},{},{}", batch_, heads_, width)
                      : fmt::format("{},{}", batch_, width);
  }

  std::string product() const {
    return heads_ == 0 ? "matmul(%h, %u)"
                       : "transpose(matmul(transpose(%h) {permutation = [1,0,2]}, %u)) "
                         "{permutation = [1,0,2]}";
  }

  std::string along(std::string_view what, const std::string& of) const {
    return fmt::format("{}({}) {{axes = [{}], keep = true}}", what, of, axis_);
  }

  /// A number of each row, or elements.
  std::string statement() {
    const int number = count_++;
    const std::string name = fmt::format("%v{}", number), of = one_of(elements_);
    switch (random_() % 6) {
      case 0:
        rows_.push_back(name);
        return fmt::format("{} = {}\n", name,
                           along(one_of<std::string>({"sum", "mean", "max"}), of));
      case 1: {
        // The mean may be that of another value.
        const std::string mean = fmt::format("%k{}", number);
        rows_.insert(rows_.end(), {name, mean});
        return fmt::format("{} = {}\n{} = {}\n", mean,
                           along("mean", one_of<std::string>({of, of, of, one_of(elements_)})),
                           name, along("mean", fmt::format("square(sub({}, {}))", of, mean)));
      }
      case 2: {
        const std::string made =
            fmt::format("{} = rsqrt(add(square({}), 0.5))\n", name, one_of(rows_));
        rows_.push_back(name);
        return made;
      }
      case 3: {
        // Elements that are the same for all columns.
        const std::string made = fmt::format("{} = broadcast_to(tanh({})) {{shape = [{}]}}\n", name,
                                             one_of(rows_), state(hidden_));
        elements_.push_back(name);
        return made;
      }
      default: {
        const std::string made =
            fmt::format("{} = {}({}, mul({}, 0.3))\n", name,
                        one_of<std::string>({"add", "sub", "mul"}), of, one_of(rows_));
        elements_.push_back(name);
        return made;
      }
    }
  }

  std::mt19937 random_;
  int heads_ = 0, batch_ = 1, hidden_ = 1, axis_ = 1, count_ = 0;
  std::vector<std::string> elements_, rows_;  ///< texts of values of a step
};

}  // namespace

GraphPtr drawn_rows(unsigned seed) { return parse_graph(Drawing(seed).text()); }

}  // namespace graphc::core::testing
