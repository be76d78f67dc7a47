// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/wide_golden.h"

#include <algorithm>
#include <cmath>

#include "ir/text.h"
#include "tests/testing/golden_numbers.h"

namespace graphc::core::testing {
namespace {

/// The generator's next array.
Literal wide_array(GoldenNumbers& numbers, const Shape& shape) {
  double scale = 1;
  while (shape.rank() == 2 && 4 / scale / scale <= double(shape[0])) scale /= 2;
  Literal literal(Type{DType::f32, shape});
  for (float& x : literal.mutable_data<float>()) x = float(numbers.fraction() * scale);
  return literal;
}

/// An argument: its name, and a letter per axis.
struct WideArgument {
  const char* name;
  const char* axes;
};

struct WideCell {
  const char* name;
  int64_t gates;
  std::vector<WideArgument> more;    ///< in addition to x, h0, w, u, b
  std::vector<const char*> outputs;  ///< in addition to y
};

const std::vector<WideCell>& all_cells() {
  static const std::vector<WideCell> cells{
      {"lstm", 4, {{"c0", "BH"}}, {"h_end", "c_end"}},
      {"gru", 3, {{"c", "H"}}, {"h_end"}},
      {"gru_reset_before", 3, {}, {"h_end"}},
      {"rnn", 1, {}, {"h_end"}},
      {"peephole", 4, {{"c0", "BH"}, {"p_i", "H"}, {"p_f", "H"}, {"p_o", "H"}}, {"h_end", "c_end"}},
      {"projected", 4, {{"c0", "BH"}, {"p", "HO"}}, {"h_end", "c_end"}},
      {"bidirectional",
       4,
       {{"c0", "BH"}, {"h0_r", "BO"}, {"c0_r", "BH"}, {"w_r", "IG"}, {"u_r", "OG"}, {"b_r", "G"}},
       {"h_end", "c_end", "h_end_r"}},
      {"lengths", 4, {{"c0", "BH"}}, {"h_end", "c_end"}},
  };
  return cells;
}

const WideCell& cell_of(const WideCase& c) {
  return *std::ranges::find_if(all_cells(),
                               [&](const WideCell& cell) { return c.cell == cell.name; });
}

std::vector<WideArgument> arguments_of(const WideCase& c) {
  std::vector<WideArgument> all{{"x", "TBI"}, {"h0", "BO"}, {"w", "IG"}, {"u", "OG"}, {"b", "G"}};
  const WideCell& cell = cell_of(c);
  all.insert(all.end(), cell.more.begin(), cell.more.end());
  return all;
}

Shape shape_of(const WideCase& c, const char* axes) {
  const bool projected = c.cell == "projected", both = c.cell == "bidirectional";
  const int64_t out = projected ? std::max<int64_t>(2, c.hidden / 3) : c.hidden;
  std::vector<int64_t> extents;
  for (const char* axis = axes; *axis != 0; ++axis) {
    switch (*axis) {
      case 'T':
        extents.push_back(c.steps);
        break;
      case 'B':
        extents.push_back(c.batch);
        break;
      case 'I':
        extents.push_back(3);
        break;
      case 'H':
        extents.push_back(c.hidden);
        break;
      case 'O':
        extents.push_back(out);
        break;
      case 'Y':
        extents.push_back(both ? 2 * out : out);
        break;
      default:
        extents.push_back(cell_of(c).gates * c.hidden);
    }
  }
  return Shape(extents);
}

uint64_t seed_of(const WideCase& c) {
  const int64_t index = &cell_of(c) - all_cells().data();
  return uint64_t(((index * 100 + c.steps) * 100 + c.batch) * 100 + c.hidden);
}

/// The step of a cell of tests/testing/golden.h.
const GoldenCell& golden_cell(std::string_view name) {
  return *std::ranges::find_if(golden_cells(), [&](const GoldenCell& g) { return name == g.file; });
}

/// The layer from its arguments to %y and the other outputs.
std::string layer_text(const WideCase& c) {
  if (c.cell == "bidirectional") {
    const GoldenCell& lstm = golden_cell("lstm");
    return fmt::format(R"(
      %y.f, %h_end, %c_end = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b {{{0}
        next %h = %h.1, %c = %c.1
        emit %h.1
      }}
      %y.r, %h_end_r, %c_end_r = scan {{reverse = true}} %x.t in %x
          carry %h = %h0_r, %c = %c0_r with %w = %w_r, %u = %u_r, %b = %b_r {{{0}
        next %h = %h.1, %c = %c.1
        emit %h.1
      }}
      %y = concat(%y.f, %y.r) {{axis = 2}})",
                       lstm.step);
  }
  if (c.cell == "lengths") {
    return fmt::format(R"(
      %ts = iota {{axis = 0, dtype = i32, shape = [{1}]}}
      %y, %h_end, %c_end = scan %x.t in %x, %t in %ts carry %h = %h0, %c = %c0
          with %w, %u, %b, %lengths {{{0}
        %alive = reshape(less(%t, %lengths)) {{shape = [{2},1]}}
        next %h = select(%alive, %h.1, %h), %c = select(%alive, %c.1, %c)
        emit select(%alive, %h.1, 0.)
      }})",
                       golden_cell("lstm").step, c.steps, c.batch);
  }
  const GoldenCell& golden = golden_cell(c.cell);
  const bool lstm = cell_of(c).outputs.size() > 1;
  return fmt::format(
      "\n%y, %h_end{} = scan %x.t in %x carry {} with {} {{{}\n next %h = %h.1{}\n emit %h.1\n}}",
      lstm ? ", %c_end" : "", golden.carries, golden.captures, golden.step,
      lstm ? ", %c = %c.1" : "");
}

}  // namespace

std::string WideCase::name() const {
  return fmt::format("{} T={} B={} H={}", cell, steps, batch, hidden);
}

std::vector<std::string> wide_cells() {
  std::vector<std::string> names;
  for (const WideCell& cell : all_cells()) names.emplace_back(cell.name);
  return names;
}

std::vector<WideCase> wide_cases(const std::string& cell) {
  std::vector<WideCase> cases;
  for (int64_t steps : {1, 2, 7, 30}) {
    for (int64_t batch : {1, 3, 20}) {
      for (int64_t hidden : {1, 5, 64}) cases.push_back({cell, steps, batch, hidden});
    }
  }
  return cases;
}

GraphPtr wide_layer(const WideCase& c, Derivatives derivatives) {
  std::string parameters, leaves, gradients, outputs;
  for (const auto& [name, axes] : arguments_of(c)) {
    parameters += fmt::format("%{}: f32[{}], ", name, to_string(shape_of(c, axes)));
    leaves += fmt::format(", %{}", name);
    gradients += fmt::format("{}%grad.{}", gradients.empty() ? "" : ", ", name);
  }
  if (c.cell == "lengths") parameters += fmt::format("%lengths: i32[{}], ", c.batch);
  for (const char* output : cell_of(c).outputs) outputs += fmt::format(", %{}", output);
  const bool with = derivatives == Derivatives::with;
  const std::string text = fmt::format(
      "graph @{}({}%r: f32[{}]) {{{}\n %loss = sum(mul(%y, %r)) {{axes = [0,1,2]}}\n{} return "
      "%loss, %y{}{}\n}}",
      c.cell, parameters, to_string(shape_of(c, "TBY")), layer_text(c),
      with ? fmt::format("{} = grad %loss{}\n", gradients, leaves) : "", outputs,
      with ? ", " + gradients : "");
  return parse_graph(text, c.cell);
}

std::vector<Literal> wide_inputs(const WideCase& c) {
  GoldenNumbers numbers(seed_of(c));
  std::vector<Literal> inputs;
  for (const auto& [name, axes] : arguments_of(c))
    inputs.push_back(wide_array(numbers, shape_of(c, axes)));
  if (c.cell == "lengths") {
    Literal lengths(Type{DType::i32, {c.batch}});
    for (int32_t& length : lengths.mutable_data<int32_t>())
      length = int32_t(1 + numbers.bits() % c.steps);
    inputs.push_back(std::move(lengths));
  }
  inputs.push_back(wide_array(numbers, shape_of(c, "TBY")));
  return inputs;
}

std::vector<WideDifference> compare(const WideCase& c, const std::vector<Literal>& results,
                                    const std::map<std::string, Literal>& arrays) {
  std::vector<std::string> names{"loss", "y"};
  for (const char* output : cell_of(c).outputs) names.emplace_back(output);
  for (const auto& [name, axes] : arguments_of(c)) names.push_back(fmt::format("grad.{}", name));
  std::vector<WideDifference> differences;
  for (size_t i = 0; i < names.size(); ++i) {
    const Literal& found = results.at(i);
    const Literal& wanted =
        arrays.at(fmt::format("{}.{}.{}.{}", c.steps, c.batch, c.hidden, names[i]));
    WideDifference d{names[i]};
    const auto differ = [&](double x, double y) {
      d.difference = std::isnan(x) ? x : std::max(d.difference, std::abs(x - y));
    };
    for (int64_t k = 0; k < found.elements(); ++k)
      d.scale = std::max(d.scale, std::abs(found.element(k)));
    if (found.elements() <= kGoldenWhole) {
      GRAPHC_CHECK(found.elements() == wanted.elements(), "{}: {} elements", names[i],
                   wanted.elements());
      for (int64_t k = 0; k < found.elements(); ++k) differ(found.element(k), wanted.element(k));
    } else {
      d.scale *= std::sqrt(double(found.elements()));
      const std::vector<double> products = golden_products(found, seed_of(c) * 100 + i);
      for (size_t k = 0; k < products.size(); ++k) differ(products[k], wanted.element(int64_t(k)));
    }
    differences.push_back(d);
  }
  return differences;
}

}  // namespace graphc::core::testing
