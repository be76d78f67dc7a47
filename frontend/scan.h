// SPDX-License-Identifier: Apache-2.0
// scan: the loop. The body is a function of one step; a state assigned in it is a loop carry.
//
//   Value y = scan(xs, [&](Value x) {               // xs [steps, batch, input]
//     h = tanh(matmul(x, w) + matmul(h, u) + b);
//     return h;                                     // stacked to y [steps, batch, hidden]
//   });
//
// The body is called once, while the graph is traced. It may use any value and state of the
// enclosing graph. Its results are stacked along a new axis 0; it returns a value, an array, pair
// or tuple of values, a Values, or nothing. After the loop an assigned state has its value of the
// last step.
//
// Rows of different lengths: `{.lengths = n}` with n integers [batch], for streams [steps, batch,
// ...], states and results [batch, ...]. Each row runs its own number of steps as if it were alone;
// `reverse` starts at its own end. See ScanOptions.
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
  bool reverse = false;  ///< run from the last step to the first; results stay at their steps
  /// The number of steps of each row: integers of any type [batch], or [] for all rows. Past its
  /// end a row's states keep their values, its results are 0, and the streams affect neither values
  /// nor gradients, NaN included. The results of the body are discarded there. To keep its
  /// derivatives finite as well, the body sees the row's own first step there, streams and states:
  /// it is singular (as x / |x| is at 0) only where the row alone is.
  ///
  /// Two special cases: a row with no steps gets the first step of the first row that has one (if
  /// no row has any, streams are 0 in the body); and step_index() keeps counting after a row has
  /// ended: log(4 - step) is infinite in step 4 for every row.
  ///
  /// A length above the number of steps counts as all of them, a negative one as none; if the
  /// lengths are an input of the graph, the session checks them first.
  Value lengths = {};
  /// For the derivative, keeps the states of every `save_every`-th step alone and computes the
  /// steps between again: less memory for more time. Values and gradients are the same. 0: keeps
  /// what the derivative needs of every step, unless the compiler knows better (`--remat`). Of a
  /// loop inside another one it has no effect: a remark of the pass `remat`.
  int64_t save_every = 0;
};

/// A number of steps, for a loop without streams: `scan(Steps(10), [&](Value index) { ... })`.
struct Steps {
  explicit Steps(int64_t steps) : count(steps) {}
  int64_t count;
};

/// The index (i32[]) of the current step, inside the body of a scan.
Value step_index(Where where = Where::here());

namespace detail {

/// A scan being traced: from construction to finish(), nodes go to its body.
class ScanTrace {
 public:
  /// Throws ErrorKind::input at `where` if the streams have no steps or different numbers of steps.
  ScanTrace(const Values& streams, int64_t steps, ScanOptions options, Where where);
  ScanTrace(const Values& streams, ScanOptions options, Where where);
  ~ScanTrace();
  ScanTrace(const ScanTrace&) = delete;

  const Values& slices() const { return slices_; }
  /// Ends the body; returns its results, stacked.
  Values finish(const Values& emits);

 private:
  void check_lengths();
  /// A boolean stream and its slice in the body.
  struct Mask {
    Value stream, slice;
  };
  /// Whether rows have this step, or the step after it in loop order, for values of a given rank.
  Value has_step(Graph& body, int rank, bool next);
  /// Throws ErrorKind::input unless axis 0 of the value is the rows.
  void check_rows(Value value, const char* what, const std::string& name) const;
  /// The next values of an assigned state: its value in the body's next step and, if rows end
  /// before the last step, its value at their ends.
  Values next_states(Graph& body, const Scope::Seen& state);

  /// The results of the traced body: the next values of assigned states, then of held_, then its
  /// emitted values.
  Values results_of_body(Graph& body, const std::vector<const Scope::Seen*>& carried,
                         const Values& emitted);

  /// A loop carry in addition to what the body sees.
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

/// Converts the result of a body to values, and stacked values to the result of scan.
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

/// A loop over the steps of one stream [steps, ...]; the body takes one step of it [...].
template <typename Body>
auto scan(Value stream, Body&& body, ScanOptions options = {}, Where where = Where::here()) {
  detail::ScanTrace trace({stream}, options, where);
  return detail::finish_scan(trace, [&] { return body(trace.slices()[0]); });
}

/// The same over several streams with equal numbers of steps: `scan({x, mask}, [&](Value x, Value
/// m) {`.
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

/// A loop over a number of steps; the body takes the step index (i32[]) or nothing.
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
