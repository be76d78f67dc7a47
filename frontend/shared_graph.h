// SPDX-License-Identifier: Apache-2.0
// SharedGraph: a compiled graph that several threads run at once, for a server. A session is used
// by one thread at a time; this is made from it, and has a runner for each thread.
//
//   const SharedGraph shared(session, "predict", {{f32, {1, 16}}});
//   // in each thread:
//   Runner runner = shared.runner();
//   Tensor y = runner(x);
//
// Runners share machine code and parameters, which are those of the session when the shared graph
// was made: training may go on meanwhile. Each has an arena of its own, and its own states where
// the graph writes them: what one carries on from call to call is no other's. A runner uses the
// thread that calls it and no other, so that runners in as many threads as cores run side by side.
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

/// Runs a shared graph, on the thread that calls it: one call at a time. Another thread that calls
/// meanwhile gets an error.
class Runner {
 public:
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  /// As Session::operator(), with anything that Data is made of. Throws ErrorKind::input when the
  /// inputs are not of the types that the graph was compiled for, and do not become it.
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

  /// Gives the states that the graph writes the values they had when it was made.
  void reset();
  /// A copy of a state that the graph writes. Throws ErrorKind::input for another name.
  Literal state(std::string_view name) const;
  /// Sets a state that the graph writes. Throws ErrorKind::input for another name or type.
  void set_state(std::string_view name, const Literal& value);

 private:
  friend class SharedGraph;
  explicit Runner(std::unique_ptr<detail::RunnerParts> parts);
  /// Throws ErrorKind::input where another runner was made of this one.
  detail::RunnerParts& parts() const;

  std::unique_ptr<detail::RunnerParts> parts_;
};

/// Copies are the same graph.
class SharedGraph {
 public:
  /// A graph of the session's model compiled for inputs of these types, and the states it uses as
  /// they are now. Neither the session nor its model is needed afterwards. Throws what
  /// Session::compile() throws, and ErrorKind::usage for a target that computes elsewhere than on
  /// the thread that calls it.
  SharedGraph(Session& session, std::string_view graph, const std::vector<Type>& inputs);

  /// Another runner; may be called from any thread. Its memory is there and the parameters lie as
  /// its code reads them, so that its first call is as quick as the others.
  Runner runner() const;

 private:
  std::shared_ptr<detail::SharedParts> parts_;
};

}  // namespace graphc::core
