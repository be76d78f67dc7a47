// SPDX-License-Identifier: Apache-2.0
// SharedGraph: a compiled graph that several threads run at once, for servers. A session serves one
// thread at a time; a SharedGraph is made from it and provides a runner for each thread.
//
//   const SharedGraph shared(session, "predict", {{f32, {1, 16}}});
//   // in each thread:
//   Runner runner = shared.runner();
//   Tensor y = runner(x);
//
// Runners share machine code and parameters, with the session's values when the SharedGraph was
// made: training may continue meanwhile. Each runner has its own arena and its own copy of the
// states that the graph writes, so carried states are not shared. A runner uses only the thread
// that calls it, so as many runners as cores run in parallel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/session.h"

namespace graphc::core {

namespace detail {
struct SharedParts;
struct RunnerParts;
}  // namespace detail

/// Runs a shared graph on the calling thread, one call at a time. A concurrent call from another
/// thread is an error.
class Runner {
 public:
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  /// Like Session::operator(), with anything that converts to Data. Throws ErrorKind::input if the
  /// inputs do not have, and cannot be converted to, the types that the graph was compiled for.
  template <typename... Inputs>
  Outputs operator()(const Inputs&... inputs) {
    return run(std::vector<Data>{Data(inputs)...});
  }
  Outputs run(const std::vector<Data>& inputs);
  /// The same with inputs by name, in any order: `runner({{"x", x}})`.
  Outputs operator()(std::initializer_list<std::pair<std::string, Data>> inputs) {
    return run_named(NamedData(inputs));
  }
  Outputs run_named(const NamedData& inputs);

  /// Resets the states that the graph writes to their values when the runner was made.
  void reset();
  /// A copy of a state that the graph writes. Throws ErrorKind::input for another name.
  Literal state(std::string_view name) const;
  /// Sets a state that the graph writes. Throws ErrorKind::input for another name or type.
  void set_state(std::string_view name, const Literal& value);

 private:
  friend class SharedGraph;
  explicit Runner(std::unique_ptr<detail::RunnerParts> parts);
  /// Throws ErrorKind::input if this runner was moved from.
  detail::RunnerParts& parts() const;

  std::unique_ptr<detail::RunnerParts> parts_;
};

/// Copies share the same graph.
class SharedGraph {
 public:
  /// A graph of the session's model, compiled for inputs of these types, with the current values of
  /// its states. Needs neither the session nor its model afterwards. Throws what Session::compile()
  /// throws, and ErrorKind::usage for a target that does not compute on the calling thread.
  SharedGraph(Session& session, std::string_view graph, const std::vector<Type>& inputs);

  /// Makes a runner; may be called from any thread. Its memory is allocated and its parameters are
  /// packed, so that the first call is as fast as the others.
  Runner runner() const;

 private:
  std::shared_ptr<detail::SharedParts> parts_;
};

}  // namespace graphc::core
