// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/growing_graphs.h"

#include <fmt/format.h>

#include <array>
#include <functional>

#include "ir/error.h"

namespace graphc::core::testing {
namespace {

/// `text(i)` for each i below n, separated by commas.
std::string list(int n, const std::function<std::string(int)>& text) {
  std::string result;
  for (int i = 0; i < n; ++i) result += (i == 0 ? "" : ", ") + text(i);
  return result;
}

/// Nodes that simplify cannot merge, from %0 to the returned value.
std::string chain(int n, std::string& at, std::string_view other) {
  constexpr std::array forms{"tanh(%{})", "add(%{}, %{})", "mul(%{}, %{})"};
  std::string text;
  for (int i = 0; i < n; ++i) {
    text += fmt::format("  %v{} = {}\n", i,
                        fmt::format(fmt::runtime(forms[size_t(i) % forms.size()]), at, other));
    at = fmt::format("v{}", i);
  }
  return text;
}

std::string chain_graph(int n, bool gradient) {
  std::string at = "x";
  const std::string text = chain(n, at, "y");
  const std::string end = gradient ? fmt::format(
                                         "  %l = sum(%{}) {{axes = [0, 1]}}\n"
                                         "  %d = grad(%l, %y)\n  return %d\n",
                                         at)
                                   : fmt::format("  return %{}\n", at);
  return "graph @f(%x: f32[4,8], %y: f32[4,8]) {\n" + text + end + "}\n";
}

std::string carries_graph(int n, bool gradient) {
  const auto named = [](const char* form) {
    return [form](int i) { return fmt::format(fmt::runtime(form), i); };
  };
  std::string lines;
  for (int i = 0; i < n; ++i)
    lines += fmt::format("    %n{} = tanh(add(%k{}, %t))\n", i, (i + 1) % n);
  const std::string end = gradient ? "  %l = sum(%y) {axes = [0, 1, 2]}\n"
                                     "  %d = grad(%l, %c0)\n  return %d\n}\n"
                                   : "  return %y, %e0\n}\n";
  return fmt::format(
             "graph @f(%x: f32[5,4,8], {}) {{\n  %y, {} = scan %t in %x carry {} {{\n{}"
             "    next {}\n    emit %n0\n  }}\n",
             list(n, named("%c{}: f32[4,8]")), list(n, named("%e{}")),
             list(n, named("%k{0} = %c{0}")), lines, list(n, named("%k{0} = %n{0}"))) +
         end;
}

std::string delays_graph(int n) {
  const auto named = [](const char* form) {
    return [form](int i) { return fmt::format(fmt::runtime(form), i); };
  };
  const auto handed = [](int i) {
    return i == 0 ? std::string("%k0 = %t") : fmt::format("%k{} = %k{}", i, i - 1);
  };
  return fmt::format(
      "graph @f(%x: f32[5,4,8], {}) {{\n  %y, {} = scan %t in %x carry {} {{\n"
      "    %z = tanh(add(%k{}, %t))\n    next {}\n    emit %z\n  }}\n"
      "  %l = sum(%y) {{axes = [0, 1, 2]}}\n  %d = grad(%l, %x)\n  return %y, %d\n}}\n",
      list(n, named("%c{}: f32[4,8]")), list(n, named("%e{}")), list(n, named("%k{0} = %c{0}")),
      n - 1, list(n, handed));
}

std::string scans_graph(int n, bool gradient) {
  std::string text = "graph @f(%x: f32[3,2,4], %h: f32[2,4], %u: f32[4,4]) {\n", at = "x";
  for (int i = 0; i < n; ++i) {
    text += fmt::format(
        "  %y{0}, %e{0} = scan %t in %{1} carry %c = %h with %u {{\n"
        "    %n = tanh(add(matmul(%c, %u), %t))\n    next %c = %n\n    emit %n\n  }}\n",
        i, at);
    at = fmt::format("y{}", i);
  }
  if (!gradient) return text + fmt::format("  return %{}\n}}\n", at);
  return text + fmt::format(
                    "  %l = sum(%{}) {{axes = [0, 1, 2]}}\n  %d = grad(%l, %u)\n"
                    "  return %d\n}}\n",
                    at);
}

std::string layers_graph(int n) {
  std::string lines, at = "x";
  for (int i = 0; i < n; ++i) {
    lines += fmt::format("  %h{} = tanh(matmul(%{}, %w{}))\n", i, at, i);
    at = fmt::format("h{}", i);
  }
  const auto named = [](const char* form) {
    return [form](int i) { return fmt::format(fmt::runtime(form), i); };
  };
  return fmt::format(
      "graph @f(%x: f32[4,8], {}) {{\n{}  %l = sum(%{}) {{axes = [0, 1]}}\n"
      "  {} = grad(%l, {})\n  return {}\n}}\n",
      list(n, named("%w{}: f32[8,8]")), lines, at, list(n, named("%d{}")), list(n, named("%w{}")),
      list(n, named("%d{}")));
}

std::string body_graph(int n) {
  std::string at = "c";
  const std::string text = chain(n, at, "t");
  return fmt::format(
      "graph @f(%x: f32[3,4,8], %h: f32[4,8]) {{\n  %y, %e = scan %t in %x carry %c = %h {{\n{}"
      "    next %c = %{}\n    emit %{}\n  }}\n  %l = sum(%y) {{axes = [0, 1, 2]}}\n"
      "  %d = grad(%l, %h)\n  return %y, %d\n}}\n",
      text, at, at);
}

/// Loops numbered from `from`; the last is %y<loops - 1>.
void add_nested(int levels, bool twice, const std::string& from, int& loops, std::string& text) {
  const int own = loops++;
  text += fmt::format("%y{0} = scan {{steps = 1}} carry %c{0} = %{1} {{\n", own, from);
  std::string last = fmt::format("c{}", own);
  for (int i = 0; levels > 1 && i < (twice ? 2 : 1); ++i) {
    const int inner = loops;
    add_nested(levels - 1, twice, last, loops, text);
    last = fmt::format("y{}", inner);
  }
  text += fmt::format("next %c{} = tanh(%{})\n}}\n", own, last);
}

}  // namespace

std::string growing_graph(std::string_view family, int n) {
  if (family == "chain") return chain_graph(n, false);
  if (family == "chain-gradient") return chain_graph(n, true);
  if (family == "carries") return carries_graph(n, false);
  if (family == "carries-gradient") return carries_graph(n, true);
  if (family == "scans") return scans_graph(n, false);
  if (family == "scans-gradient") return scans_graph(n, true);
  if (family == "layers-gradient") return layers_graph(n);
  if (family == "body") return body_graph(n);
  if (family == "delays") return delays_graph(n);
  GRAPHC_CHECK(family == "steps", "there is no family '{}'", family);
  return fmt::format(
      "graph @f(%x: f32[{},4], %h: f32[4]) {{\n  %y, %e = scan %t in %x carry %c = %h {{\n"
      "    next %c = add(mul(%c, 0.9), %t)\n    emit %c\n  }}\n  return %e\n}}\n",
      n);
}

std::string nested_graph(int levels, bool twice) {
  std::string text = "graph @f(%x: f32[4,4]) {\n";
  int loops = 0;
  add_nested(levels, twice, "x", loops, text);
  return text + "return %y0\n}\n";
}

}  // namespace graphc::core::testing
