// SPDX-License-Identifier: Apache-2.0
// Executables: compiled graphs, made by a target and run by a session.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/device_tensor.h"
#include "runtime/state_store.h"

namespace graphc::core {

/// One argument or result of an executable; the name is for messages.
struct Argument {
  std::string name;
  Type type;
  bool written = false;  ///< a state with a `next` in the graph
};

/// The arguments and results of an executable, in the order of the graph it was compiled from. The
/// types are those of the stored tensors: under precision f64 the graph's f32 is f64 here.
struct Signature {
  std::string graph;
  std::vector<Argument> inputs, states, outputs;
};

/// Measurements of one kernel in a run.
struct KernelTime {
  std::string name;    ///< name of its first result, e.g. "matmul"
  std::string what;    ///< its kind, e.g. "tiles", "panels", "gather"
  Where where;         ///< the user's line of its first result; backward() for a derivative
  int64_t calls = 0;   ///< product of the step counts of the enclosing loops
  double seconds = 0;  ///< on the first thread, until all threads have finished it
  double flop = 0;     ///< of its products, over all threads; 0 if it has none
  double bytes = 0;    ///< distinct bytes of its operands, over all calls; 0 if spans are measured
};

/// An interval on a worker: its share of a kernel, then waiting for the other workers.
struct WorkerSpan {
  /// In the place of a worker: the thread that exchanges with other ranks. Its kernel is a
  /// collective, and it does not wait afterwards.
  static constexpr int kCommunication = -1;
  int worker = 0;
  size_t kernel = 0;                    ///< index into RunProfile::kernels
  int64_t step = -1;                    ///< of the innermost enclosing loop; -1 if there is none
  double begin = 0, done = 0, met = 0;  ///< steady_seconds(); `met` is when all workers were done
};

/// Measurements of runs.
struct RunProfile {
  std::vector<KernelTime> kernels;
  std::vector<WorkerSpan> spans;  ///< by worker, in order of time
  int64_t dropped = 0;            ///< spans lost for lack of space
};

/// What to measure: a sum per kernel, or every span as well.
enum class Profiled : uint8_t { kernels, spans };

/// The signature of a graph, with its types unchanged.
Signature signature_of(const Graph& graph);

/// A compiled graph. One call at a time; the caller owns every tensor and state.
class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const Signature& signature() const { return signature_; }

  /// Computes `outputs` (allocated by the caller, distinct from all else) from inputs and states,
  /// and writes the new values of states in place, after every read of the old ones. It keeps the
  /// derived forms of states between calls and remakes them when the state's version changes: a
  /// state must therefore only be written through StoredState::change(). States that the graph
  /// writes have a new version afterwards, also after an error. Throws ErrorKind::input, before
  /// anything is written, if a tensor is missing or has another type. A fault found while computing
  /// (an index outside its table) is ErrorKind::input too; states may then hold some of their new
  /// values.
  void run(std::span<const Tensor> inputs, std::span<StoredState* const> states,
           std::span<Tensor> outputs);
  /// The same for states that are plain tensors, whose owner may write them between calls: every
  /// call remakes the derived forms it needs.
  void run(std::span<const Tensor> inputs, std::span<Tensor> states, std::span<Tensor> outputs);
  /// The same for a graph without states.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs);

  /// The GPU in whose memory it can have inputs and results, counted from 0; -1: none.
  virtual int device() const { return -1; }
  /// run() with results in the memory of device(), allocated by the caller, and inputs there or in
  /// the host's. On the GPU it comes after the work that is in `stream` now, and before what is put
  /// into `stream` later. The call returns before the work is done, except where its data may be at
  /// fault (an index outside its table). The caller's memory is neither written nor freed before
  /// later work of `stream`. What goes wrong on the GPU after the call has returned is thrown by
  /// a later call, or by synchronize(). Throws ErrorKind::input for tensors of another GPU.
  void run_on_device(std::span<const AnyTensor> inputs, std::span<StoredState* const> states,
                     std::span<const DeviceTensor> outputs, DeviceStream stream);
  /// The part of the checks of run_on_device() that must precede other work in the stream: throws
  /// ErrorKind::input without a GPU, and for a stream that is being captured as a CUDA graph.
  void check_stream(DeviceStream stream) const;
  /// Waits for the work of run_on_device(), and throws what went wrong.
  virtual void synchronize() {}
  /// run() in three parts, with a GPU, so that the host brings the inputs of a run there while the
  /// GPU works on the run before. bring() copies inputs, which may change when it returns; a second
  /// bring() replaces them. launch() begins a run on them, and returns. finish() waits for it,
  /// writes `outputs`, and throws what went wrong. Between launch() and finish() there is no other
  /// call than bring(). Each throws ErrorKind::input as run() does, without device(), and
  /// where the part before it is missing.
  void bring(std::span<const Tensor> inputs);
  void launch(std::span<StoredState* const> states);
  void finish(std::span<Tensor> outputs);
  /// Memory for a result of run_on_device(), not initialised.
  virtual DeviceTensor new_device_tensor(const Type& type) const;

  /// Does the part of a run that needs no inputs: brings the derived forms of states up to date and
  /// allocates memory. Prepared executables may then run concurrently, each on one thread, sharing
  /// states that none of them writes. Throws as run() does for states that are missing or have
  /// another type.
  void prepare(std::span<StoredState* const> states);

  /// The seconds that the last run() took to enqueue all its work on a device, without waiting for
  /// it. Empty if the caller's threads do the work.
  std::optional<double> enqueue_s() const { return enqueue_s_; }

  /// Whether the executable itself can check results and written states for finiteness and restore
  /// states, because reading them back would cost more than the run.
  virtual bool checks_finite() const { return false; }
  /// With checks_finite(): whether all results of the last run and all states it wrote are finite.
  virtual bool was_finite() const { return true; }
  /// With checks_finite(): restores the states of the last run, in its order, to their values
  /// before it. Does nothing if that run wrote none.
  virtual void restore(std::span<StoredState* const>) {}

  /// Starts measuring the kernels of the next runs, which makes them slower; discards earlier
  /// measurements. Throws ErrorKind::usage without has_profile().
  virtual void begin_profile(Profiled what);
  /// The measurements, with kernels in the order of their starts; stops measuring.
  virtual RunProfile end_profile();
  virtual bool has_profile() const { return false; }

 protected:
  explicit Executable(Signature signature) : signature_(std::move(signature)) {}
  /// The implementation of run(), called with arguments of the signature's types. Writes states in
  /// place, at home().address(), or leaves them elsewhere (StoredState::leave()); run() updates
  /// their versions. First brings the derived forms that it reads up to date
  /// (runtime/state_store.h).
  virtual void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
                       std::span<Tensor> outputs) = 0;
  /// Whether the stream is being captured.
  virtual bool is_captured(DeviceStream) const { return false; }
  /// The implementation of run_on_device(), called with tensors of the signature's types on
  /// device().
  virtual void execute_on_device(std::span<const AnyTensor>, std::span<StoredState* const>,
                                 std::span<const DeviceTensor>, DeviceStream) {}
  /// The implementations of bring(), launch() and finish(), called with arguments of the
  /// signature's types.
  virtual void execute_bring(std::span<const Tensor>) {}
  virtual void execute_launch(std::span<StoredState* const>) {}
  virtual void execute_finish(std::span<Tensor>) {}
  /// The implementation of prepare(): nothing if a run uses only its own memory.
  virtual void prepare_states(std::span<StoredState* const>) {}
  void set_enqueue_s(double seconds) { enqueue_s_ = seconds; }

 private:
  Signature signature_;
  std::optional<double> enqueue_s_;
  // Wrappers of plain tensors for the duration of a call.
  std::deque<StoredState> borrowing_;
  std::vector<StoredState*> borrowers_;
};

}  // namespace graphc::core
