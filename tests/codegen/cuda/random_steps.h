// SPDX-License-Identifier: Apache-2.0
// Random loops whose rows carry a matrix, vectors and a number.
#pragma once

#include <fmt/format.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "ir/text.h"

namespace graphc::core::testing {

/// Draws the steps of a loop over a matrix, a vector along each of its axes and a number in every
/// row.
class RandomSteps {
 public:
  explicit RandomSteps(unsigned seed) : random_(seed) {}

  /// A graph over it; with `gradients`, those of all that it reads.
  GraphPtr graph(bool gradients) {
    for (int i = draw(6, 14); i > 0; --i) add_operation();
    std::string emitted = pick('r');
    for (const char kind : {'c', 'n'}) emitted += fmt::format(", {}", pick(kind));
    // Carries that go on alike, and start with different numbers.
    const std::string next = fmt::format("add(%half, {})", pick('m'));
    const std::string other = draw(0, 2) > 0 ? pick('m') : next;
    return parse_graph(fmt::format(
        R"(graph @g(%x: f32[4,3,{0}], %y: f32[4,3,{1}], %z: f32[4,3], %s0: f32[3,{0},{1}],
                    %p0: f32[3,{0},{1}], %r0: f32[3,{0}], %c0: f32[3,{1}], %n0: f32[3]) {{
         %a, %b, %d, %s.e, %p.e, %r.e, %c.e, %n.e = scan %x.t in %x, %y.t in %y, %z.t in %z
             carry %s = %s0, %p = %p0, %r = %r0, %c = %c0, %n = %n0 {{
           %half = mul(%s, 0.5)
{2}           next %s = {3}, %p = {4}, %r = {5}, %c = {6}, %n = {7}
           emit {8}
         }}
{9}       }})",
        rows_, columns_, body_, next, other, pick('r'), pick('c'), pick('n'), emitted,
        gradients ? kGradients : "         return %a, %b, %d, %s.e, %p.e, %r.e, %c.e, %n.e\n"));
  }

 private:
  static constexpr const char* kGradients =
      R"(         %l0 = add(sum(%a) {axes = [0,1,2]}, sum(%b) {axes = [0,1,2]})
         %l1 = add(sum(%d) {axes = [0,1]}, sum(add(%s.e, %p.e)) {axes = [0,1,2]})
         %l = add(%l0, %l1)
         %gx, %gy, %gz, %gs, %gr, %gn = grad %l, %x, %y, %z, %s0, %r0, %n0
         return %l, %gx, %gy, %gz, %gs, %gr, %gn
)";

  int draw(int first, int last) { return std::uniform_int_distribution(first, last)(random_); }
  /// A value of a kind: a matrix, a vector of its rows or columns, a number.
  const std::string& pick(char kind) {
    const std::vector<std::string>& all = values_.at(kind);
    return all[size_t(draw(0, int(all.size()) - 1))];
  }
  void define(char kind, const std::string& text) {
    const std::string name = fmt::format("%v{}", count_++);
    body_ += fmt::format("           {} = {}\n", name, text);
    values_[kind].push_back(name);
  }
  std::string shaped(char kind, int rows, int columns) {
    return fmt::format("reshape({}) {{shape = [3,{},{}]}}", pick(kind), rows, columns);
  }

  void add_operation() {
    const char kind = "mmrrcn"[draw(0, 5)];
    switch (draw(0, 7)) {
      case 0:
        return define(kind, fmt::format("tanh({})", pick(kind)));
      case 1:
        return define(kind, fmt::format("mul({}, {})", pick(kind), pick(kind)));
      case 2:
        return define(kind, fmt::format("sub({}, mul({}, 0.5))", pick(kind), pick(kind)));
      case 3:
        return define('m',
                      fmt::format("mul({}, {})", shaped('r', rows_, 1), shaped('c', 1, columns_)));
      case 4:
        return define('m',
                      fmt::format("mul({}, {})", pick('m'),
                                  draw(0, 1) == 0 ? shaped('n', 1, 1) : shaped('r', rows_, 1)));
      case 5:
        return define('c', fmt::format("sum({}) {{axes = [1]}}", pick('m')));
      case 6:
        return define('r', fmt::format("sum({}) {{axes = [2]}}", pick('m')));
      default:
        return define('n', fmt::format("sum(mul({}, 0.1)) {{axes = [1]}}",
                                       pick(draw(0, 1) == 0 ? 'r' : 'c')));
    }
  }

  std::mt19937 random_;
  const int rows_ = draw(3, 9), columns_ = draw(0, 2) == 0 ? rows_ : 16 * draw(1, 2);
  int count_ = 0;
  std::string body_;
  std::map<char, std::vector<std::string>> values_{{'m', {"%s", "%half", "%p"}},
                                                   {'r', {"%r", "%x.t"}},
                                                   {'c', {"%c", "%y.t"}},
                                                   {'n', {"%n", "%z.t"}}};
};

}  // namespace graphc::core::testing
