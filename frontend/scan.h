// SPDX-License-Identifier: Apache-2.0
// scan: the loop. The body is a function of one step; a state assigned in it is a carry.
//
//   Value y = scan(xs, [&](Value x) {               // xs [steps, batch, input]
//     h = tanh(matmul(x, w) + matmul(h, u) + b);
//     return h;                                     // stacked to y [steps, batch, hidden]
//   });
//
// The body is called once, while the graph is being traced. It may use any value and state around
// it. What it returns is stacked along a new axis 0: a value, an array, pair or tuple of values, a
// Values, or nothing. After the loop an assigned state has the value of the last step.
//
// Rows of different lengths: `{.lengths = n}` with n [batch] of integers, for streams [steps,
// batch, ...], states and results [batch, ...]. Each row goes its own number of steps, `reverse`
// from its own end, as if it ran alone: see ScanOptions.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "frontend/ended_rows.h"
#include "frontend/trace.h"

namespace graphc::core {

struct ScanOptions {
  bool reverse = false;  ///< from the last step to the first; results still lie at their step
  /// The steps of each row: integers of any type [batch], or [] for all rows. Past its end a row's
  /// states hold what they are, what it emits is 0, and nothing that stands in the streams has any
  /// influence on values or gradients, NaN included. What the body makes there goes nowhere; so
  /// that its derivatives do not either, it gets the row's own first step again there, streams and
  /// states: it is singular, as x / |x| is at 0, where the row alone is.
  ///
  /// Two cases are left. A row without any step gets the first step of the first row that has one;
  /// where no row has any, streams are 0 in the body. And step_index() is the number of the step
  /// also where a row has ended: log(4 - step) is infinite in step 4 for every row.
  ///
  /// A length of more than the steps counts as all of them, one below 0 as none; one that is an
  /// input of the graph is checked by the session first.
  Value lengths = {};
};

/// A number of steps, for a loop over nothing: `scan(Steps(10), [&](Value index) { ... })`.
struct Steps {
  explicit Steps(int64_t steps) : count(steps) {}
  int64_t count;
};

/// The index (i32[]) of the step, inside the body of a scan.
Value step_index(Where where = Where::here());

namespace detail {

/// A scan being traced: from the construction to finish() the body is where nodes go.
class ScanTrace {
 public:
  /// Throws ErrorKind::input at `where` when the streams have no or different numbers of steps.
  ScanTrace(const Values& streams, int64_t steps, ScanOptions options, Where where);
  ScanTrace(const Values& streams, ScanOptions options, Where where);
  ~ScanTrace();
  ScanTrace(const ScanTrace&) = delete;

  const Values& slices() const { return slices_; }
  /// Ends the body; returns what it emitted, stacked.
  Values finish(const Values& emits);

 private:
  void check_lengths();
  /// A stream of truth values, and its slice in the body.
  struct Mask {
    Value stream, slice;
  };
  /// Whether rows have this step, or the one that the loop does after it, for values of a rank.
  Value has_step(Graph& body, int rank, bool next);
  /// Throws ErrorKind::input unless the value has an axis for the rows first.
  void check_rows(Value value, const char* what, const std::string& name) const;
  /// The next values of a state that the body assigned: what the body gets in the next step, and,
  /// where rows end before the last step, what their states are then.
  Values next_states(Graph& body, const Scope::Seen& state);

  /// What the traced body gives: the next values of the states that it assigned, then of held_,
  /// then what it emits.
  Values results_of_body(Graph& body, const std::vector<const Scope::Seen*>& carried,
                         const Values& emitted);

  /// A state that the loop carries beside what the body gets.
  struct Held {
    Value initial, entry;
  };

  Values streams_, slices_;
  int64_t steps_;
  ScanOptions options_;
  Where where_;
  std::optional<EndedRows> ended_;  ///< with lengths
  std::map<std::pair<int, bool>, Mask> masks_;
  std::vector<Held> held_;
  bool open_ = true;
};

/// How the result of a body becomes values, and the stacked values the result of scan.
template <typename Result>
struct Emitted {
  static_assert(std::is_convertible_v<Result, Value>,
                "the body of a scan returns a value, several values, or nothing");
  static Values values(const Result& result) { return {Value(result)}; }
  static Value stacked(const Values& values) { return values[0]; }
};
template <>
struct Emitted<Values> {
  static Values values(const Values& result) { return result; }
  static Values stacked(const Values& values) { return values; }
};
template <typename Tuple, size_t count>
struct EmittedTuple {
  static Values values(const Tuple& result) {
    return std::apply([](const auto&... value) { return Values{Value(value)...}; }, result);
  }
  static std::array<Value, count> stacked(const Values& values) {
    std::array<Value, count> result;
    for (size_t i = 0; i < count; ++i) result[i] = values[i];
    return result;
  }
};
template <typename T, size_t count>
struct Emitted<std::array<T, count>> : EmittedTuple<std::array<T, count>, count> {};
template <typename... T>
struct Emitted<std::tuple<T...>> : EmittedTuple<std::tuple<T...>, sizeof...(T)> {};
template <typename A, typename B>
struct Emitted<std::pair<A, B>> : EmittedTuple<std::pair<A, B>, 2> {};

/// Calls the body and closes the loop.
template <typename Call>
auto finish_scan(ScanTrace& trace, Call&& call) {
  using Result = std::remove_cvref_t<decltype(call())>;
  if constexpr (std::is_void_v<Result>) {
    call();
    trace.finish({});
  } else {
    return Emitted<Result>::stacked(trace.finish(Emitted<Result>::values(call())));
  }
}

}  // namespace detail

/// The loop over the steps of one stream [steps, ...]; the body takes one step of it [...].
template <typename Body>
auto scan(Value stream, Body&& body, ScanOptions options = {}, Where where = Where::here()) {
  detail::ScanTrace trace({stream}, options, where);
  return detail::finish_scan(trace, [&] { return body(trace.slices()[0]); });
}

/// The same over several streams of equally many steps: `scan({x, mask}, [&](Value x, Value m) {`.
template <size_t count, typename Body>
auto scan(const Value (&streams)[count], Body&& body, ScanOptions options = {},
          Where where = Where::here()) {
  detail::ScanTrace trace(Values(streams, streams + count), options, where);
  return detail::finish_scan(trace, [&]<size_t... i>(std::index_sequence<i...>) {
    return [&] { return body(trace.slices()[i]...); };
  }(std::make_index_sequence<count>()));
}

/// The same over any number of streams; the body takes a Values.
template <typename Body>
auto scan(const Values& streams, Body&& body, ScanOptions options = {},
          Where where = Where::here()) {
  detail::ScanTrace trace(streams, options, where);
  return detail::finish_scan(trace, [&] { return body(trace.slices()); });
}

/// The loop over a number of steps; the body takes the step's index (i32[]), or nothing.
template <typename Body>
auto scan(Steps steps, Body&& body, ScanOptions options = {}, Where where = Where::here()) {
  detail::ScanTrace trace({}, steps.count, options, where);
  if constexpr (std::is_invocable_v<Body, Value>) {
    return detail::finish_scan(trace, [&] { return body(step_index(where)); });
  } else {
    return detail::finish_scan(trace, [&] { return body(); });
  }
}

}  // namespace graphc::core
