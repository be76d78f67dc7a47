// SPDX-License-Identifier: Apache-2.0
// Session: a model that runs. It owns the states, and compiles a graph when it is first called with
// inputs of certain shapes.
#pragma once

#include <concepts>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/target.h"
#include "frontend/awaited_state.h"
#include "frontend/load_report.h"
#include "frontend/model.h"
#include "frontend/one_thread.h"
#include "frontend/round_up.h"
#include "runtime/files/trace_file.h"
#include "runtime/state_store.h"

namespace graphc::core {

class DrawsBeside;
class PlainDraw;

struct SessionOptions {
  /// A name, or a name and an architecture: "cuda:sm_90a"; empty: the first that can run here.
  std::string target;
  CompileOptions compile;
  uint64_t seed = 0;  ///< of initial values and of what is drawn while training
  int kept = 16;      ///< compiled shapes of a graph; the least recently used goes
  /// The dims whose extents are rounded up, so that few are compiled for: frontend/round_up.h.
  RoundUps round_up;
  /// Where it writes what happens when: compilations with their phases, every run of a graph, and
  /// of the first `traced_runs` runs of each compiled graph what each worker did, kernel by kernel,
  /// where the target knows. Null: nothing is written.
  std::shared_ptr<TraceFile> trace;
  int64_t traced_runs = 10;
  /// Checks, after every run, that no result and no state that the graph has written has a NaN or
  /// an infinity. Where one has, the states are put back as they were before the run, the run is
  /// evaluated once more on the host (ir/not_finite.h: much slower than the run), and the session
  /// throws ErrorKind::check at the user's line of the op where it began, with the steps of the
  /// loops around it and the range of its operands. An input or a state that was not finite is
  /// named as such. The session can be used on. After any other error of a run, too, the states are
  /// as before it. Costs a copy of the written states, and reading them, each run.
  bool check_finite = false;
  /// Is told in one line when a graph is compiled for further shapes, of each loop that is not one
  /// recurrent kernel, and why, and of a state whose first value took more than a second to draw;
  /// by default it is written to stderr.
  std::function<void(const std::string& line)> announce;
};

/// Which of several results: a number, below 0 from the end, or the name that a graph gave it.
struct ResultKey {
  template <Whole Integer>
  ResultKey(Integer number, Where line = Where::here()) : place(int64_t(number)), where(line) {}
  template <typename Text>
    requires std::is_convertible_v<const Text&, std::string_view>
  ResultKey(const Text& text, Where line = Where::here()) : name(text), where(line) {}

  int64_t place = 0;
  std::optional<std::string_view> name;
  Where where;
};

/// What a run returns: tensors in the order of the graph's results. They are the caller's: neither
/// another run changes them nor the end of the session.
class Outputs {
 public:
  using Names = std::shared_ptr<const std::vector<std::string>>;

  Outputs(std::vector<Tensor> tensors, Names names)
      : tensors_(std::move(tensors)), names_(std::move(names)) {}

  /// Throws ErrorKind::input, at the caller's line, when there is no such result.
  const Tensor& operator[](ResultKey key) const&;
  Tensor operator[](ResultKey key) && { return std::as_const(*this)[std::move(key)]; }
  size_t size() const { return tensors_.size(); }
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }
  /// The only result.
  operator Tensor() const;
  /// The only result, a scalar.
  double scalar(Where where = Where::here()) const;
  /// The elements of the only result, in row-major order, as Tensor::to_vector().
  template <Number T = float>
  std::vector<T> to_vector() const {
    return Tensor(*this).to_vector<T>();
  }

 private:
  std::vector<Tensor> tensors_;
  Names names_;
};

/// What Session::save() writes: parameters and buffers, which is the model; or every state, which
/// is what training goes on from (StateOptions says which states are what).
enum class Saving { model, everything };

/// One thread at a time may use a session: two at once are ErrorKind::input.
class Session {
 public:
  /// The model must outlive the session: without it every call is ErrorKind::input. What the
  /// functions of its graphs refer to must live as long. Throws ErrorKind::usage for an unknown
  /// target.
  explicit Session(Model& model, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;

  /// Runs a graph: `session("train", tokens, targets, 0.01)`, with anything that Data is made of.
  /// The first call with inputs of certain shapes traces and compiles. Throws ErrorKind::input when
  /// inputs do not fit.
  template <typename... Inputs>
  Outputs operator()(std::string_view graph, const Inputs&... inputs) {
    return run(graph, std::vector<Data>{Data(inputs)...});
  }
  Outputs run(std::string_view graph, const std::vector<Data>& inputs);
  /// The same with inputs by name, in any order: `session("train", {{"x", x}, {"y", y}})`.
  Outputs operator()(std::string_view graph,
                     std::initializer_list<std::pair<std::string, Data>> inputs) {
    return run_named(graph, NamedData(inputs));
  }
  Outputs run_named(std::string_view graph, const NamedData& inputs);
  template <std::same_as<Tensor> T>
  Outputs run(std::string_view graph, const std::vector<T>& inputs) {
    return run(graph, std::vector<Data>(inputs.begin(), inputs.end()));
  }

  /// Runs a graph as operator() does, once to compile it and make what it keeps, and once to
  /// measure; says what each kernel of the second run took, in the order they begin. Throws
  /// ErrorKind::usage for a target that does not know.
  template <typename... Inputs>
  std::vector<KernelTime> profile(std::string_view graph, const Inputs&... inputs) {
    return profile_run(graph, {Data(inputs)...});
  }
  std::vector<KernelTime> profile_run(std::string_view graph, const std::vector<Data>& inputs);

  /// Executable::enqueue_s() of the last run.
  std::optional<double> enqueue_s() const { return enqueue_s_; }

  /// Compiles a graph for inputs of these types, unless it is; returns how.
  CompileReport compile(std::string_view graph, const std::vector<Type>& inputs);

  /// Whether the state has a value: it was loaded, set, or used by a graph.
  bool has_state(std::string_view name) const;
  /// A copy of a state's value. Throws ErrorKind::input for an unknown name.
  Literal state(std::string_view name);
  /// Sets a state: `session.set_state("epoch", 3)`. Throws ErrorKind::input when the value has
  /// another type, and does not become the state's (Data); f64 is taken for f32 where the session
  /// computes in f64.
  void set_state(std::string_view name, const Data& value);
  /// Gives a state its initial value again.
  void reset(std::string_view name);

  /// Writes parameters and buffers to a safetensors file, or every state (Saving), whole or not at
  /// all; what load() has kept for states to come is written with them. The metadata say which of
  /// them graphs declare when they are traced. Throws ErrorKind::resource when it cannot be
  /// written.
  void save(const std::string& path, Saving saving = Saving::model);
  /// Reads the states that a safetensors file has. Throws ErrorKind::input, before any is changed,
  /// when a type differs, or, unless `loading` is partial, when the file lacks a parameter or a
  /// buffer, or has an array that is no state of the model.
  ///
  /// Graphs may declare states when they are traced, as optimizers do. A file that save() wrote
  /// says which those are: they are kept, and are what the states of their names and types begin
  /// with when they are declared; an array of another type is ErrorKind::input then. So it does not
  /// matter what has been traced before. A parameter or buffer that is declared later, and that a
  /// strictly loaded file lacks although its writer had traced the graph, is ErrorKind::input when
  /// it is first used. A partial loading keeps every array that is no state so far, whoever wrote
  /// it. An exact one goes on from a training (Loading says what each of them asks for): where a
  /// graph differs from what the file says of it, its compilation throws ErrorKind::input, or the
  /// loading does where it is compiled already.
  LoadReport load(const std::string& path, Loading loading = Loading::strict);

  const Target& target() const { return *target_; }
  const SessionOptions& options() const { return options_; }
  /// Throws ErrorKind::input once the model is gone.
  Model& model() const;
  /// Lives as long as the session.
  std::weak_ptr<const void> alive() const { return alive_; }
  /// The names under which objects of the frontend keep numbers in this session: KeptNumbers.
  const std::shared_ptr<std::set<std::string>>& claimed_names() const { return claimed_; }

 private:
  struct Compiled;
  /// Runs what is compiled; results of which only a part is shown have these types.
  void execute(Compiled& found, const std::vector<Tensor>& inputs, const std::vector<Type>& shown);
  /// Throws ErrorKind::input while the function of a graph is traced.
  void check_not_traced(std::string_view graph) const;
  /// A state that the model has so far. Throws ErrorKind::input for another name.
  const StateCell& declared(std::string_view name) const;
  Outputs run_here(std::string_view graph, const std::vector<Data>& inputs);
  /// Named inputs in the order of the graph's, which is traced once to know it.
  std::vector<Data> ordered(std::string_view graph, const NamedData& inputs);
  const RoundedCall& rounded(std::string_view graph, const GivenTypes& called);
  GivenTypes traced_types(GivenTypes types) const;
  Compiled& compiled(std::string_view graph, const GivenTypes& inputs);
  /// The graph compiled as the options say, in the arena of the session.
  std::unique_ptr<Executable> made(const GraphPtr& graph, CompileReport& report) const;
  /// Runs the executable; what it took goes to the trace, if there is one.
  void run_traced(Compiled& graph, const std::vector<Tensor>& inputs);
  void announce(const Compiled& before, const Compiled& now) const;
  void announce_loops(const CompileReport& report) const;
  /// Says, once every graph of the model is compiled, which dims of `round_up` none has.
  void announce_unmet(const TracedGraph& traced);
  /// The state; drawn when it is first asked for, unless `beside` has drawn it.
  StoredState& stored(std::string_view name, DrawsBeside* beside = nullptr);
  /// What can be drawn while the graph is compiled of the states that nobody has asked for yet.
  std::vector<std::pair<std::string, PlainDraw>> plain_draws(const Graph& graph) const;
  static void write(StoredState& state, const Literal& value);
  /// Gives the state its value, whether or not somebody has asked for it before.
  void put(const StateCell& cell, const Literal& value);
  /// Throws where a file that was loaded strictly should have had the state.
  void expect_not_missed(const StateCell& cell) const;
  /// Throws, or announces where the file was not loaded exactly, that a graph keeps other states
  /// than the training that wrote the file: at the line of a state that the file lacks, or `where`.
  void compare(const TrainingFile& file, const std::string& graph,
               const std::vector<std::string>& used, Where where) const;
  /// Throws unless the file has all that Loading::exact asks for, as far as it is known now.
  void expect_everything(const TrainingFile& file) const;
  /// The graphs that are compiled, with the states that each uses.
  std::multimap<std::string, std::vector<std::string>> used_states() const;
  /// What a file has under a name: the state's value, or kept until a graph declares the state. Of
  /// another optimizer it is left alone.
  void take(AwaitedState found, const std::string& name);
  /// Whether no graph can come to want what was loaded for it.
  bool is_forsaken(const AwaitedState& awaited) const;
  /// The initial value of a state: the evaluator's bits, whoever computes them.
  Literal draw(const StateCell& cell) const;
  Literal drawn(const StateCell& cell) const;
  int64_t key_of(const StateCell& cell) const;
  void check_type(const StateCell& cell, const Literal& value) const;
  OneThread::Inside inside() const;

  Model& model_;
  std::weak_ptr<const void> model_lives_;
  std::shared_ptr<const void> alive_ = std::make_shared<int>();
  SessionOptions options_;
  std::set<std::string> unmet_;  ///< dims of `round_up` that no graph has had so far
  const Target* target_;
  std::shared_ptr<Arena> arena_;  ///< of all its graphs, which run one at a time
  StateStore states_;
  /// What was loaded for states that are not declared yet.
  std::map<std::string, AwaitedState, std::less<>> awaited_;
  std::optional<StrictFile> strictly_;        ///< the file that was last loaded strictly
  std::optional<TrainingFile> trained_from_;  ///< the file of everything that was last loaded
  std::set<std::string> loaded_graphs_;       ///< traced by the writers of what was loaded
  std::shared_ptr<std::set<std::string>> claimed_ = std::make_shared<std::set<std::string>>();
  mutable OneThread thread_;
  std::optional<double> enqueue_s_;
  bool profiling_ = false;  ///< whether profile_run() measures
  std::map<std::string, std::list<Compiled>, std::less<>> graphs_;    ///< most recently used first
  std::map<std::string, std::list<RoundedCall>, std::less<>> calls_;  ///< the same, with round_up
  /// Of graphs that are called by the names of their inputs: the names in order.
  std::map<std::string, std::vector<std::string>, std::less<>> input_names_;
};

}  // namespace graphc::core
