// SPDX-License-Identifier: Apache-2.0
// Executables: compiled graphs. What a target makes and a session runs.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/state_store.h"

namespace graphc::core {

/// One argument or result of an executable; the name is for messages.
struct Argument {
  std::string name;
  Type type;
  bool written = false;  ///< a state for which the graph has a `next`
};

/// What an executable takes and gives, in the order of the graph it was compiled from. The types
/// are those of the stored tensors: under precision f64 the f32 of the graph are f64 here.
struct Signature {
  std::string graph;
  std::vector<Argument> inputs, states, outputs;
};

/// What one kernel took of a run.
struct KernelTime {
  std::string name;    ///< of its first result: "matmul"
  std::string what;    ///< what it is: "tiles", "panels", "gather"
  Where where;         ///< the user's line that made its first result; backward() of a derivative
  int64_t calls = 0;   ///< the steps of the loops around it, multiplied
  double seconds = 0;  ///< of the first thread, until all had ended it
  double flop = 0;     ///< of its products, all threads; 0 where it has none
  double bytes = 0;    ///< distinct ones of its operands, of each call; 0 with spans
};

/// A stretch of a worker's time: its share of a kernel, and then waiting for the other workers.
struct WorkerSpan {
  int worker = 0;
  size_t kernel = 0;  ///< its place in RunProfile::kernels
  int64_t step = -1;  ///< of the innermost loop around the kernel; -1 where there is none
  double begin = 0, done = 0, met = 0;  ///< steady_seconds(); `met` when all had done theirs
};

/// What was measured of runs.
struct RunProfile {
  std::vector<KernelTime> kernels;
  std::vector<WorkerSpan> spans;  ///< by worker, in the order of time
  int64_t dropped = 0;            ///< spans that there was no room for
};

/// What is measured: a sum for each kernel, or every span of it too.
enum class Profiled : uint8_t { kernels, spans };

/// The signature of a graph as it stands.
Signature signature_of(const Graph& graph);

/// A compiled graph. One call at a time; the caller owns every tensor and state.
class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const Signature& signature() const { return signature_; }

  /// Computes `outputs` (allocated by the caller, distinct from all else) from inputs and states,
  /// and writes the new values of states in place, after every read of the old ones. What it needs
  /// of the states in other forms stays with it from call to call, and is made again when the
  /// state's version says so: a state is written through StoredState::change() and no other way.
  /// States that the graph writes have a new version afterwards, also after an error. Throws
  /// ErrorKind::input, before anything is written, when a tensor is missing or has another type.
  /// A fault found while computing (an index outside its table) is ErrorKind::input too; states may
  /// then hold some of their new values.
  void run(std::span<const Tensor> inputs, std::span<StoredState* const> states,
           std::span<Tensor> outputs);
  /// The same for states that are plain tensors, whose owner may write them between calls: every
  /// call makes the forms it needs.
  void run(std::span<const Tensor> inputs, std::span<Tensor> states, std::span<Tensor> outputs);
  /// The same for a graph without states.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs);

  /// Does of a run what needs no inputs: brings the derived forms of states up to date and takes
  /// the memory it will need from the system. Executables that have been prepared may then run at
  /// the same time, each in one thread, with states in common that none of them writes. Throws as
  /// run() does for states that are missing or have another type.
  void prepare(std::span<StoredState* const> states);

  /// Of the last run(), the seconds until a device had been given all of its work: what a clock
  /// shows that does not wait for the device. Nothing where the caller's threads do the work.
  std::optional<double> enqueue_s() const { return enqueue_s_; }

  /// Whether it looks itself if all that a run gave and wrote is finite, and can give states back
  /// what they had: where asking for results and states would cost more than the run.
  virtual bool checks_finite() const { return false; }
  /// With checks_finite(): whether all results of the last run, and all states that it wrote, are
  /// finite.
  virtual bool was_finite() const { return true; }
  /// With checks_finite(): gives the states of the last run, in its order, what they had before it.
  /// Does nothing where that run wrote none of them.
  virtual void restore(std::span<StoredState* const>) {}

  /// Measures each kernel of the next runs, which then take longer; forgets what was measured.
  /// Throws ErrorKind::usage where a target does not know: one without has_profile().
  virtual void begin_profile(Profiled what);
  /// What they took, the kernels in the order in which they began; stops measuring.
  virtual RunProfile end_profile();
  virtual bool has_profile() const { return false; }

 protected:
  explicit Executable(Signature signature) : signature_(std::move(signature)) {}
  /// What run() does, when everything has the type of the signature. Writes states where they are,
  /// at home().address(), or leaves them elsewhere (StoredState::leave()); run() sees to their
  /// versions. Derived forms of states that this reads are
  /// brought up to date first (runtime/state_store.h).
  virtual void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
                       std::span<Tensor> outputs) = 0;
  /// What prepare() does: nothing where all that a run needs is its own.
  virtual void prepare_states(std::span<StoredState* const>) {}
  void set_enqueue_s(double seconds) { enqueue_s_ = seconds; }

 private:
  Signature signature_;
  std::optional<double> enqueue_s_;
  // These hold plain tensors, each for the time of a call.
  std::deque<StoredState> borrowing_;
  std::vector<StoredState*> borrowers_;
};

}  // namespace graphc::core
