// SPDX-License-Identifier: Apache-2.0
// Session: a model that runs. It owns the states and compiles a graph at the first call with inputs
// of new shapes.
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
#include "runtime/ranks/ranks.h"
#include "runtime/state_store.h"

namespace graphc::core {

class Divided;
class DrawsBeside;
class PlainDraw;
class Session;

struct SessionOptions {
  /// A target name, optionally with an architecture: "cuda:sm_90a"; empty: the first that can run
  /// here.
  std::string target;
  CompileOptions compile;
  uint64_t seed = 0;  ///< for initial values and random numbers in training
  int kept = 16;      ///< compiled shapes per graph; the least recently used is dropped
  /// Dims whose extents are rounded up, to compile for fewer shapes: frontend/round_up.h.
  RoundUps round_up;
  /// A trace of events over time: compilations with their phases, every run of a graph, and for the
  /// first `traced_runs` runs of each compiled graph the kernels of each worker, if the target
  /// records them. Null: no trace.
  std::shared_ptr<TraceFile> trace;
  int64_t traced_runs = 10;
  /// Checks after every run that no result and no written state contains NaN or infinity. If one
  /// does, the session restores the states to their values before the run, evaluates the run once
  /// more on the host (ir/not_finite.h: much slower than the run), and throws ErrorKind::check at
  /// the user's line of the op where it began, with the steps of the enclosing loops and the range
  /// of its operands. If an input or a state was not finite, the error names it. The session
  /// remains usable. The states are also restored after any other error of a run. Costs a copy of
  /// the written states and a pass over them per run.
  bool check_finite = false;
  /// Receives one line when a graph is compiled for further shapes, for each loop that is not one
  /// recurrent kernel (with the reason), and for a state whose first value took more than a second
  /// to draw. Default: writes to stderr.
  /// With several ranks, those other than 0 announce nothing by default.
  std::function<void(const std::string& line)> announce;
  /// Whoever trains the model together with this process; null: nobody. Every rank makes the same
  /// calls with the same inputs, those of the whole batch, and gets the same results: the session
  /// computes its own rows and exchanges sums with the others. States
  /// are whole on every rank. A graph without the dim `batch`, or whose batch the ranks do not
  /// divide, is computed whole by every rank; the latter is announced.
  std::shared_ptr<Ranks> ranks;
  /// A power of two that the ranks divide: gradients are summed by as many shards of the batch, and
  /// no bit depends on how many ranks there are. 0: as many shards as ranks.
  int shards = 0;
  /// The type in which ranks send gradients of f32: f32, or bf16, which halves the bytes. What a
  /// rank has of a gradient is rounded to bf16, the sum is one in f32, and is rounded again: an
  /// element is wrong by at most 1/128 of the sum of what the ranks have of it, without signs.
  /// Every rank has the same bits. Not with `shards`, nor where `compile.precision` is f64.
  DType gradients = DType::f32;
  std::string batch = "batch";  ///< the dim of inputs that ranks share out
};

/// Selects one of several results: an index, negative from the end, or the result's name.
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

/// The results of a run: tensors in the order of the graph's results. They belong to the caller;
/// neither another run nor the end of the session changes them.
class Outputs {
 public:
  using Names = std::shared_ptr<const std::vector<std::string>>;

  Outputs(std::vector<Tensor> tensors, Names names)
      : tensors_(std::move(tensors)), names_(std::move(names)) {}

  /// Throws ErrorKind::input, at the caller's line, if there is no such result.
  const Tensor& operator[](ResultKey key) const&;
  Tensor operator[](ResultKey key) && { return std::as_const(*this)[std::move(key)]; }
  size_t size() const { return tensors_.size(); }
  /// One for each result, or none if the graph names none.
  const std::vector<std::string>& names() const { return *names_; }
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

/// The results of a run on a GPU, which belong to the caller.
struct DeviceOutputs {
  std::vector<DeviceTensor> tensors;
  Outputs::Names names;  ///< one for each result, or none if the graph names none
};

/// A run in parts, by Session::prepare(): the inputs of one run go to the GPU while it works on
/// another. One handle of a run is enough; copies are handles of the same run.
class PreparedRun {
 public:
  /// The state of a run, shared with its session.
  struct Parts;

  PreparedRun() = default;
  explicit PreparedRun(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
  /// Whether it is the handle of a run.
  explicit operator bool() const { return parts_ != nullptr; }

  /// Begins the run. With a GPU it first waits for the run that was begun before, and throws what
  /// went wrong there; it returns while the GPU works. Without one it computes the run. Throws
  /// ErrorKind::input for a run that has begun, for one whose inputs those of another prepare()
  /// have replaced, without a run, and after the session's end.
  void start();
  /// The results, once the run has ended; begins it if need be. Throws what went wrong in it, as
  /// often as it is called.
  const Outputs& wait() &;
  Outputs wait() && { return wait(); }

 private:
  std::shared_ptr<Parts> parts_;
};

/// What Session::save() writes: the model (parameters and buffers), or every state, which is needed
/// to resume a training (see StateOptions).
enum class Saving { model, everything };

/// A session serves one thread at a time: concurrent use is ErrorKind::input.
class Session {
 public:
  /// The model must outlive the session; otherwise every call throws ErrorKind::input. Everything
  /// that the functions of its graphs refer to must live as long. Throws ErrorKind::usage for an
  /// unknown target.
  explicit Session(Model& model, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;

  /// Runs a graph: `session("train", tokens, targets, 0.01)`, with anything that converts to Data.
  /// The first call with inputs of new shapes traces and compiles. Throws ErrorKind::input if the
  /// inputs do not match.
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

  /// A run whose inputs are copied now, to the GPU if the session has one, where it may work on a
  /// run that was started before. It computes nothing, and what it computes later is what run()
  /// would compute then. The inputs may change when it returns. A session keeps the inputs of one
  /// run: another prepare() replaces those of a run that has not started.
  ///
  ///     PreparedRun next = session.prepare("train", inputs_of(0));
  ///     for (int step = 0; step < steps; ++step) {
  ///       PreparedRun now = next;
  ///       now.start();
  ///       if (step + 1 < steps) next = session.prepare("train", inputs_of(step + 1));
  ///       report(now.wait()["loss"]);
  ///     }
  ///
  /// Every other call of the session, except compile() and those that only ask, waits for the run
  /// that was started, and throws what went wrong in it. With `check_finite` a run ends in start().
  /// Throws as run() does.
  PreparedRun prepare(std::string_view graph, const std::vector<Data>& inputs);
  /// The same with inputs by name.
  PreparedRun prepare_named(std::string_view graph, const NamedData& inputs);

  /// Runs a graph on the GPU of the session, with results in its memory and inputs there or in the
  /// host's. Begins after the work that is in `stream` now, and waits for the end. Throws
  /// ErrorKind::input for another target than cuda, for an input on a GPU that is not of the
  /// declared type, and with `round_up`, `check_finite` or ranks, which want inputs in the host's
  /// memory.
  DeviceOutputs run_on_device(std::string_view graph, const std::vector<Data>& inputs,
                              DeviceStream stream = 0);
  /// The same with inputs by name.
  DeviceOutputs run_named_on_device(std::string_view graph, const NamedData& inputs,
                                    DeviceStream stream = 0);

  /// Runs a graph as operator() does: once to compile it and to allocate, once to measure. Returns
  /// the time of each kernel of the second run, in the order of their starts. Throws
  /// ErrorKind::usage for a target that cannot measure.
  template <typename... Inputs>
  std::vector<KernelTime> profile(std::string_view graph, const Inputs&... inputs) {
    return profile_run(graph, {Data(inputs)...});
  }
  std::vector<KernelTime> profile_run(std::string_view graph, const std::vector<Data>& inputs);

  /// Executable::enqueue_s() of the last run.
  std::optional<double> enqueue_s() const { return enqueue_s_; }

  /// Compiles a graph for inputs of these types unless it is compiled; returns its report.
  CompileReport compile(std::string_view graph, const std::vector<Type>& inputs);

  /// Whether the state has a value: it was loaded, set, or used by a graph.
  bool has_state(std::string_view name) const;
  /// A copy of a state's value. Throws ErrorKind::input for an unknown name.
  Literal state(std::string_view name);
  /// Sets a state: `session.set_state("epoch", 3)`. Throws ErrorKind::input if the value has
  /// another type and cannot be converted (Data). A session that computes in f64 accepts f64 for
  /// f32.
  void set_state(std::string_view name, const Data& value);
  /// Resets a state to its initial value.
  void reset(std::string_view name);

  /// Writes parameters and buffers, or every state (Saving), to a safetensors file, atomically;
  /// including values that load() keeps for states to come. The metadata record which of them
  /// graphs declare when they are traced. With several ranks, all call it and rank 0 writes. Throws
  /// ErrorKind::resource if the file cannot be written.
  void save(const std::string& path, Saving saving = Saving::model);
  /// Reads the states in a safetensors file. Throws ErrorKind::input, before changing anything, if
  /// a type differs or, unless `loading` is partial, if the file lacks a parameter or a buffer or
  /// has an array that is not a state of the model.
  ///
  /// Graphs may declare states when they are traced, as optimizers do. A file written by save()
  /// says which states those are: their arrays are kept and become the initial values when states
  /// with their names and types are declared; a different type is then ErrorKind::input. It
  /// therefore does not matter what has been traced before. If the file was loaded strictly, and
  /// lacks a later parameter or buffer although its writer had traced the graph, the first use is
  /// ErrorKind::input. A partial load keeps every array without a state so far, whoever wrote it.
  /// An exact load resumes a training (see Loading): if a graph differs from the file's record of
  /// it, its compilation throws ErrorKind::input; so does the load if the graph is already
  /// compiled.
  LoadReport load(const std::string& path, Loading loading = Loading::strict);

  const Target& target() const { return *target_; }
  const SessionOptions& options() const { return options_; }
  /// Throws ErrorKind::input once the model is destroyed.
  Model& model() const;
  /// Expires with the session.
  std::weak_ptr<const void> alive() const { return alive_; }
  /// The names under which frontend objects keep numbers in this session: KeptNumbers.
  const std::shared_ptr<std::set<std::string>>& claimed_names() const { return claimed_; }

 private:
  friend class Divided;
  friend class PreparedRun;
  struct Compiled;
  using CompiledPtr = std::shared_ptr<Compiled>;
  struct Arranged;
  class Call;
  /// Runs a compiled graph; `shown` are the true types of results that are cut.
  void execute(Compiled& found, const std::vector<Tensor>& inputs, const std::vector<Type>& shown);
  /// Throws ErrorKind::input while the function of a graph is traced.
  void check_not_traced(std::string_view graph) const;
  /// A declared state of the model. Throws ErrorKind::input for another name.
  const StateCell& declared(std::string_view name) const;
  Outputs run_here(std::string_view graph, const std::vector<Data>& inputs);
  /// The inputs of a run, in the form of the graph compiled for them.
  Arranged arranged(std::string_view graph, const std::vector<Data>& inputs);
  PreparedRun prepare_here(std::string_view graph, const std::vector<Data>& inputs);
  void start(const std::shared_ptr<PreparedRun::Parts>& run);
  void wait(const std::shared_ptr<PreparedRun::Parts>& run);
  /// Waits for the run that was started, if there is one, and throws what went wrong in it.
  void end_started();
  DeviceOutputs run_on_device_here(std::string_view graph, const std::vector<Data>& inputs,
                                   DeviceStream stream);
  /// Named inputs in the order of the graph's inputs; traces it once to find that order.
  std::vector<Data> ordered(std::string_view graph, const NamedData& inputs);
  const RoundedCall& rounded(std::string_view graph, const GivenTypes& called);
  GivenTypes traced_types(GivenTypes types) const;
  const CompiledPtr& compiled(std::string_view graph, const GivenTypes& inputs);
  /// The graph compiled with the session's options, in the session's arena.
  std::unique_ptr<Executable> made(const GraphPtr& graph, CompileReport& report,
                                   RankOptions ranks = {}) const;
  /// Among whom the batch of a graph is shared out; announces one that is not.
  RankOptions ranks_for(const TracedGraph& traced);
  /// Runs the executable; records the run in the trace if there is one.
  void run_traced(Compiled& graph, const std::vector<Tensor>& inputs);
  void announce(const Compiled& before, const Compiled& now) const;
  void announce_notices(const CompileReport& report) const;
  /// Once every graph of the model is compiled, announces the dims of `round_up` that none has.
  void announce_unmet(const TracedGraph& traced);
  /// The state; drawn at first use unless `beside` has drawn it.
  StoredState& stored(std::string_view name, DrawsBeside* beside = nullptr);
  /// The unused states of the graph that can be drawn during its compilation.
  std::vector<std::pair<std::string, PlainDraw>> plain_draws(const Graph& graph) const;
  static void write(StoredState& state, const Literal& value);
  /// Sets the state's value, whether or not it has been used before.
  void put(const StateCell& cell, const Literal& value);
  /// Throws if a strictly loaded file should have had the state.
  void expect_not_missed(const StateCell& cell) const;
  /// Throws (or announces, unless the file was loaded exactly) if a graph keeps other states than
  /// the training that wrote the file; at the line of a state that the file lacks, or at `where`.
  void compare(const TrainingFile& file, const std::string& graph,
               const std::vector<std::string>& used, Where where) const;
  /// Throws unless the file has everything that Loading::exact requires, as far as known now.
  void expect_everything(const TrainingFile& file) const;
  /// The compiled graphs with the states that each uses.
  std::multimap<std::string, std::vector<std::string>> used_states() const;
  /// Takes a value from a file: sets the state, or keeps the value until a graph declares the
  /// state. Ignores values of another optimizer.
  void take(AwaitedState found, const std::string& name);
  /// Whether no graph can still need this loaded value.
  bool is_forsaken(const AwaitedState& awaited) const;
  /// The initial value of a state, bit-identical to the evaluator's whoever computes it.
  Literal draw(const StateCell& cell) const;
  Literal drawn(const StateCell& cell) const;
  int64_t key_of(const StateCell& cell) const;
  void check_type(const StateCell& cell, const Literal& value) const;
  OneThread::Inside inside() const;

  Model& model_;
  std::weak_ptr<const void> model_lives_;
  std::shared_ptr<const void> alive_ = std::make_shared<int>();
  SessionOptions options_;
  /// Graphs and extents of `batch` that are announced as not shared out.
  std::set<std::pair<std::string, int64_t>> not_shared_;
  std::set<std::string> unmet_;  ///< dims of `round_up` that no graph has had so far
  const Target* target_;
  std::shared_ptr<Arena> arena_;  ///< shared by all its graphs, which run one at a time
  StateStore states_;
  /// Loaded values of states that are not declared yet.
  std::map<std::string, AwaitedState, std::less<>> awaited_;
  std::optional<StrictFile> strictly_;        ///< the file last loaded strictly
  std::optional<TrainingFile> trained_from_;  ///< the file with every state last loaded
  std::set<std::string> loaded_graphs_;       ///< traced by the writers of loaded files
  std::shared_ptr<std::set<std::string>> claimed_ = std::make_shared<std::set<std::string>>();
  mutable OneThread thread_;
  std::optional<double> enqueue_s_;
  bool profiling_ = false;                       ///< whether profile_run() is measuring
  std::weak_ptr<PreparedRun::Parts> prepared_;   ///< whose inputs are kept; its handles own it
  std::shared_ptr<PreparedRun::Parts> started_;  ///< on the GPU, where it may not have ended
  /// The most recently used first.
  std::map<std::string, std::list<CompiledPtr>, std::less<>> graphs_;
  std::map<std::string, std::list<RoundedCall>, std::less<>> calls_;  ///< the same, with round_up
  /// For graphs called with named inputs: their names in order.
  std::map<std::string, std::vector<std::string>, std::less<>> input_names_;
};

}  // namespace graphc::core
