// SPDX-License-Identifier: Apache-2.0
#include "ir/not_finite.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/composite.h"
#include "ir/evaluate_watch.h"
#include "ir/not_finite_sources.h"
#include "ir/op.h"

namespace graphc::core {

void NotFiniteCounts::add(double value) {
  ++elements;
  if (std::isfinite(value)) return;
  ++(std::isnan(value) ? nan : value > 0 ? above : below);
}

NotFiniteCounts count_not_finite(const Literal& value) {
  NotFiniteCounts counts;
  if (!is_floating(value.dtype())) return {.elements = value.elements()};
  const auto count = [&](auto elements) {
    for (auto element : elements) counts.add(double(element));
  };
  if (value.dtype() == DType::f32) {
    count(value.data<float>());
  } else if (value.dtype() == DType::f64) {
    count(value.data<double>());
  } else {
    for (int64_t i = 0; i < value.elements(); ++i) counts.add(value.element(i));
  }
  return counts;
}

std::string to_string(const NotFiniteCounts& counts) {
  std::vector<std::string> kinds;
  if (counts.nan > 0) kinds.push_back(fmt::format("{} NaN", counts.nan));
  if (counts.above > 0) kinds.push_back(fmt::format("{} inf", counts.above));
  if (counts.below > 0) kinds.push_back(fmt::format("{} -inf", counts.below));
  const std::string of =
      fmt::format("of {} element{}", counts.elements, counts.elements == 1 ? "" : "s");
  if (kinds.size() == 1) return fmt::format("{} {}", kinds[0], of);
  return fmt::format("{} {} ({})", counts.all(), of, fmt::join(kinds, ", "));
}

namespace {

using namespace evaluation;

/// Added to the number of an origin that is a constant, which ranks behind all others.
constexpr int kConstantOrigin = 1 << 29;

/// The description of a value: the number of non-finite elements, and the range of the others.
struct ValueRange {
  std::string name;
  NotFiniteCounts counts;
  double least = std::numeric_limits<double>::infinity(), most = -least;
};

ValueRange range_of(Value value, const Array& array) {
  ValueRange range{.name = value.name()};
  for (int64_t i = 0; i < array.elements(); ++i) {
    const double element = array.floating() ? array.floats()[i] : double(array.integers()[i]);
    range.counts.add(element);
    if (!std::isfinite(element)) continue;
    range.least = std::min(range.least, element);
    range.most = std::max(range.most, element);
  }
  return range;
}

/// An origin of non-finite elements: one run of a node.
struct NotFiniteEvent {
  const Node* node = nullptr;
  int result = 0;
  NotFiniteCounts counts;  ///< elements that begin here; `elements` counts the whole value
  std::vector<ValueRange> operands;
  std::vector<std::pair<const Node*, int64_t>> steps;  ///< of the enclosing loops, outermost first
};

std::string range_text(const ValueRange& range) {
  std::string text = "%" + range.name;
  if (range.least == range.most) {
    text += fmt::format(" = {:.6g}", range.least);
  } else if (range.least < range.most) {
    text += fmt::format(" in [{:.6g}, {:.6g}]", range.least, range.most);
  }
  if (range.counts.all() > 0) text += fmt::format(" with {}", to_string(range.counts));
  return text;
}

std::string steps_text(const NotFiniteEvent& event) {
  std::string text;
  for (auto step = event.steps.rbegin(); step != event.steps.rend(); ++step)
    text += fmt::format(" in step {} of the loop %{}", step->second, step->first->names[0]);
  return text;
}

std::string op_text(const NotFiniteEvent& event) {
  const Node& node = *event.node;
  std::vector<std::string> operands, ranges;
  bool finite = true;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const ValueRange& range = event.operands[i];
    finite = finite && range.counts.all() == 0;
    // A number in an equation has no name known to the user.
    const bool number = node.operands[i].node->is(ops::constant) && range.least == range.most &&
                        range.counts.elements == 1;
    operands.push_back(number ? fmt::format("{:.6g}", range.least) : "%" + range.name);
    if (!number) ranges.push_back(range_text(range));
  }
  std::string text = fmt::format(
      "%{} = {} {} is the first value that is not finite: {}{}", node.names[size_t(event.result)],
      node.op.name, fmt::join(operands, ", "), to_string(event.counts), steps_text(event));
  if (ranges.empty()) return text;
  return text + fmt::format("; its operands {}: {}",
                            finite ? "are finite" : "are finite where these are computed",
                            fmt::join(ranges, ", "));
}

NotFiniteOrigin origin_of(const NotFiniteEvent& event) {
  const Node& node = *event.node;
  const std::string& name = node.names[size_t(event.result)];
  if (node.is(ops::input))
    return {node.where, fmt::format("input %{} is not finite: {}", name, to_string(event.counts))};
  if (node.is(ops::state)) {
    return {node.where, fmt::format("state '{}' was not finite before the step: {}", name,
                                    to_string(event.counts))};
  }
  if (node.is(ops::constant) || node.is(ops::pad)) {
    return {node.where, fmt::format("what is not finite comes of the constant %{}: {}{}", name,
                                    to_string(event.counts), steps_text(event))};
  }
  std::string text = op_text(event);
  const bool of_constants = std::ranges::any_of(
      event.operands, [](const ValueRange& operand) { return operand.counts.all() > 0; });
  if (event.counts.nan > 0 && of_constants) {
    const std::string finite = "are finite where these are computed";
    const size_t at = text.find(finite);
    if (at != std::string::npos)
      text.replace(at, finite.size(), "are finite there, or infinite by a constant");
  }
  return {node.where, text};
}

/// Assigns to every non-finite element the number of its origin.
class OriginWatch : public Watch {
 public:
  void argument(Value value, Array& array) override {
    if (!array.floating()) return;
    mark(*value.node, value.index, array, NotFiniteSources(size_t(array.elements())), {});
  }

  void begin(const Node& node) override { open_.push_back({&node, events_.size(), 0}); }

  void step(int64_t step) override { open_.back().step = step; }

  void end(const Node& node, const Arrays& operands, Arrays& results,
           const std::function<Arrays(const Arrays&)>& again) override {
    const size_t before = open_.back().events;
    open_.pop_back();
    if (node.is(ops::scan)) return;
    for (size_t i = 0; i < results.size(); ++i) {
      Array& result = results[i];
      if (!result.floating()) continue;
      if (is_composite(node.op)) {
        adopt(node, int(i), result, operands, before);
        continue;
      }
      result.origins = nullptr;
      if (is_finite(result)) continue;
      mark(node, int(i), result, sources_of(node, int(i), operands, result, again), operands);
    }
  }

  const NotFiniteEvent& event(int origin) const {
    return events_[size_t(origin & (kConstantOrigin - 1)) - 1];
  }

 private:
  struct Open {
    const Node* node;
    size_t events;  ///< their number when the node began
    int64_t step;
  };

  static bool is_finite(const Array& array) {
    return std::all_of(array.floats(), array.floats() + array.elements(),
                       [](double x) { return std::isfinite(x); });
  }

  /// Adds an event at the node; returns its number.
  int add_event(const Node& node, int index, const Array& result, const Arrays& operands) {
    NotFiniteEvent event{.node = &node, .result = index};
    event.counts.elements = result.elements();
    for (size_t i = 0; i < operands.size(); ++i)
      event.operands.push_back(range_of(node.operands[i], operands[i]));
    for (const Open& open : open_) {
      if (open.node->is(ops::scan)) event.steps.emplace_back(open.node, open.step);
    }
    events_.push_back(std::move(event));
    return int(events_.size()) | (makes_constants(node) ? kConstantOrigin : 0);
  }

  /// Whether it introduces a constant: a constant, or the padding of a pad.
  static bool makes_constants(const Node& node) {
    return node.is(ops::constant) || node.is(ops::pad);
  }

  void mark(const Node& node, int index, Array& result, const NotFiniteSources& sources,
            const Arrays& operands) {
    std::vector<int> origins(size_t(result.elements()), 0);
    int fresh = 0;
    for (int64_t i = 0; i < result.elements(); ++i) {
      const double element = result.floats()[i];
      if (std::isfinite(element)) continue;
      const NotFiniteSource& source = sources[size_t(i)];
      int origin = std::isnan(element) ? source.nan : source.infinite;
      if (origin == NotFiniteSource::none) {
        origin = std::min(source.nan, source.infinite);
        // A NaN made from a constant's infinity: the constant itself may be legitimate.
        const bool of_constant = std::isnan(element) && (origin & kConstantOrigin) != 0;
        if (origin == NotFiniteSource::none || of_constant) {
          if (fresh == 0) fresh = add_event(node, index, result, operands);
          origin = fresh;
        }
      }
      origins[size_t(i)] = origin;
      if (origin == fresh) count(fresh, element);
    }
    const bool any = std::ranges::any_of(origins, [](int origin) { return origin != 0; });
    result.origins = any ? std::make_shared<const std::vector<int>>(std::move(origins)) : nullptr;
  }

  void count(int origin, double element) {
    NotFiniteCounts& counts = events_[size_t(origin & (kConstantOrigin - 1)) - 1].counts;
    counts.add(element);
    --counts.elements;
  }

  /// An origin inside a composite is attributed to the composite, which the user knows.
  void adopt(const Node& node, int index, Array& result, const Arrays& operands, size_t before) {
    if (result.origins == nullptr) return;
    std::vector<int> origins = *result.origins;
    int fresh = 0;
    for (size_t i = 0; i < origins.size(); ++i) {
      if (size_t(origins[i] & (kConstantOrigin - 1)) <= before) continue;
      if (fresh == 0) fresh = add_event(node, index, result, operands);
      origins[i] = fresh;
      count(fresh, result.floats()[i]);
    }
    result.origins = std::make_shared<const std::vector<int>>(std::move(origins));
  }

  std::vector<Open> open_;
  std::vector<NotFiniteEvent> events_;
};

/// Whether element `i` of `shape` is inside `shown`.
bool is_shown(int64_t i, const Shape& shape, const Shape& shown) {
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (i % shape[axis] >= shown[axis]) return false;
    i /= shape[axis];
  }
  return true;
}

}  // namespace

std::optional<NotFiniteOrigin> first_not_finite(const Graph& graph,
                                                const std::vector<Literal>& inputs,
                                                const std::map<std::string, Literal>& states,
                                                Precision precision,
                                                const std::vector<Shape>& shown) {
  OriginWatch watch;
  const Arrays roots = evaluate_watched(graph, inputs, states, precision, watch);
  // NaN ranks before infinity, and constants behind everything else.
  constexpr std::array<int, 3> none = {1, 1, NotFiniteSource::none};
  std::array<int, 3> best = none;
  for (size_t k = 0; k < roots.size(); ++k) {
    const Array& root = roots[k];
    if (root.origins == nullptr) continue;
    for (int64_t i = 0; i < root.elements(); ++i) {
      const int origin = (*root.origins)[size_t(i)];
      if (origin == 0) continue;
      if (k < shown.size() && !is_shown(i, root.shape(), shown[k])) continue;
      best = std::min(
          best, {int((origin & kConstantOrigin) != 0), int(!std::isnan(root.floats()[i])), origin});
    }
  }
  if (best == none) return {};
  return origin_of(watch.event(best[2]));
}

}  // namespace graphc::core
