// SPDX-License-Identifier: Apache-2.0
// Executes a plan on a GPU.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/targets/cuda/launches/branches.h"
#include "codegen/targets/cuda/launches/code.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/libraries/library_calls.h"
#include "codegen/targets/cuda/ranks/device_ranks.h"
#include "runtime/cuda/stream.h"
#include "runtime/executable.h"
#include "runtime/host_copies.h"

namespace graphc::core::cuda {

/// A state's content in the memory of a device.
class DeviceState : public AwayForm {
 public:
  /// `stream` is that of the executable that writes the state.
  DeviceState(std::shared_ptr<const Stream> stream, size_t bytes, std::string name);

  CUdeviceptr address() const { return memory_.address(); }
  size_t bytes() const { return memory_.bytes(); }
  const std::string& name() const { return name_; }
  const Stream& stream() const { return *stream_; }
  void bring(std::byte* home) const override;

 private:
  std::shared_ptr<const Stream> stream_;
  DeviceBuffer memory_;
  std::string name_;
};

/// Values that one copy moves to the device or back: contiguous in device memory and in pinned host
/// memory, so that copies overlap other work.
struct Transfer {
  std::vector<size_t> offsets;
  size_t bytes = 0;
  DeviceBuffer device;
  PinnedBuffer host;

  CUdeviceptr address(size_t i) const { return device.address() + offsets[i]; }
  std::byte* at(size_t i) const { return static_cast<std::byte*>(host.data()) + offsets[i]; }
  /// The copy of a tensor to pinned memory.
  HostCopy taking(size_t i, const Tensor& from) const {
    return {at(i), from.address(), size_t(from.type().bytes())};
  }
  /// Copy all tensors to pinned memory, and back.
  void take(HostCopies& copies, std::span<const Tensor> from) const;
  void give(HostCopies& copies, std::span<Tensor> to) const;
};

/// One arena, a buffer for every state, and the step as one CUDA graph: copies inputs to the
/// device, runs the kernels, and copies outputs and faults back. A call copies states that were
/// written elsewhere, launches the graph and waits for it; it makes no other requests to the
/// driver. States that the step writes stay on the device until their home form is requested.
///
/// run_on_device() copies inputs and results within the device, because the addresses in a CUDA
/// graph are fixed.
class GpuExecutable : public Executable {
 public:
  /// Compiles and loads the code of a plan made for gpu_machine(). Uses the placement, products and
  /// precision of `options`. Adds the time of each stage to the report. Throws ErrorKind::resource
  /// if memory does not suffice, naming the plan's largest buffers.
  GpuExecutable(Signature signature, Plan plan, DevicePtr device, const CompileOptions& options,
                const CodeOptions& code, CompileReport& report,
                Merging merging = Merging::together);

  const Plan& plan() const { return plan_; }
  const Launches& launches() const { return launches_; }
  const Branches& branches() const { return branches_; }
  bool checks_finite() const override { return checks_finite_; }
  bool was_finite() const override { return fault().not_finite == 0; }
  void restore(std::span<StoredState* const> states) override;
  ~GpuExecutable() override;
  int device() const override { return device_->ordinal(); }
  void synchronize() override;
  DeviceTensor new_device_tensor(const Type& type) const override;

  /// Bytes of device memory that a step takes besides states, inputs and outputs.
  int64_t step_bytes() const;
  /// The least time of a few steps on inputs and states of zeros. Must precede the first call:
  /// states left on the device are lost.
  float milliseconds_of_step();

 private:
  void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
               std::span<Tensor> outputs) override;
  void step(std::span<const Tensor> inputs, std::span<StoredState* const> states,
            std::span<Tensor> outputs);
  void execute_on_device(std::span<const AnyTensor> inputs, std::span<StoredState* const> states,
                         std::span<const DeviceTensor> outputs, DeviceStream stream) override;
  /// The part of it that enqueues work in `stream_`.
  void enqueue_step(std::span<const AnyTensor> inputs, std::span<StoredState* const> states,
                    std::span<const DeviceTensor> outputs);
  void bring_input(size_t i, const AnyTensor& input);
  void bring_inputs(std::span<const AnyTensor> inputs);
  bool is_captured(DeviceStream stream) const override;
  void execute_bring(std::span<const Tensor> inputs) override;
  void execute_launch(std::span<StoredState* const> states) override;
  void execute_finish(std::span<Tensor> outputs) override;
  /// Waits until inputs that were copied to pinned memory are on the device.
  void await_inputs() const {
    if (brought_) brought_->synchronize();
  }
  /// Waits for the step, and throws what went wrong in it.
  void await_step();
  /// Brings states and forms to the device, does the step, and leaves the new states there.
  void launch_step(const GraphExec& step, std::span<StoredState* const> states);
  /// Whether a step can find that its data is at fault, so that a caller must hear of it at once.
  bool judges_data() const { return !launches_.tables.empty() || checks_finite_; }
  /// Waits for a step that nobody has waited for, and throws what went wrong in it.
  void end_pending();

  /// The part of the constructor that follows planning.
  void prepare(const CompileOptions& options, const CodeOptions& code, CompileReport& report,
               Merging merging);
  /// Calls `work`; adds a note with the plan's largest buffers to an error about memory.
  void noting_buffers(const std::function<void()>& work) const;
  void allocate();
  void allocate_transfers();
  DeviceBuffer buffer(int64_t bytes, const std::string& what) const;
  /// What a captured step does besides its launches: copies inputs and outputs from and to pinned
  /// memory, only outputs, or only the fault.
  enum class Copies : uint8_t { all, outputs, fault };
  GraphExec captured(Copies copies) const;
  void launch(const Launch& launch, const Stream& stream) const;
  void enqueue(const Launch& launch, const ChosenProduct& chosen, const Stream& stream) const;
  /// Connects the ranks' GPUs, if the step has collectives. Collective.
  void connect(const RankOptions& options);
  /// Throws ErrorKind::resource if the device cannot hold a cluster of this shape.
  void check_cluster(const Kernel& kernel, const LaunchShape& shape) const;
  void prepare_libraries(const CompileOptions& options, const Choices& choices,
                         CompileReport& report);
  void choose_products(const Choices& choices, bool measure, CompileReport& report);
  void choose_placements(const Choices& choices);
  float milliseconds_of(const Launch& launch);
  void fill_with_zeros();
  CUdeviceptr address_of(const LaunchValue& value) const;
  uint64_t bits_of(const LaunchValue& value) const;
  void copy_state_to_device(size_t i, const StoredState& state);
  void copy_between_streams(const DeviceState& from, const DeviceState& to) const;
  void make_stale_forms(std::span<StoredState* const> states);
  CUdeviceptr fault_address() const { return results_.address(signature().outputs.size()); }
  /// Throws if blocks of the completed step waited in vain for each other, or if it found an index
  /// outside its table.
  void throw_fault() const;
  Fault fault() const;

  /// A device buffer holds this version of the state's content; 0: unknown.
  struct Held {
    const StoredState* state = nullptr;
    uint64_t version = 0;
    bool operator==(const Held&) const = default;
  };

  DevicePtr device_;
  Plan plan_;
  Launches launches_;
  Branches branches_;
  std::vector<KernelPtr> kernels_;
  std::shared_ptr<const Stream> stream_;
  Transfer inputs_;
  std::optional<HostCopies> host_copies_;          ///< between them and callers' memory
  Transfer results_;                               ///< the outputs, then the Fault
  std::shared_ptr<const NcclCommunicator> ranks_;  ///< null where the step exchanges nothing
  DeviceBuffer arena_, scratch_, arrived_, exchange_;
  std::vector<DeviceBuffer> constants_, forms_;
  std::vector<std::shared_ptr<DeviceState>> states_;
  std::vector<Held> held_states_;
  std::vector<std::vector<Held>> made_forms_;  ///< for each form, of its states
  bool checks_finite_ = false;
  std::vector<Launch> finite_checks_;
  std::vector<DeviceBuffer> kept_states_;  ///< values of the written states before the last step
  bool has_kept_ = false;                  ///< whether `kept_states_` belongs to the last call
  std::unique_ptr<LayerLibrary> layers_;
  std::unique_ptr<ProductLibrary> products_;
  std::vector<std::optional<ChosenProduct>> chosen_products_;  ///< by launch of the step
  GraphExec step_;
  GraphExec device_step_;  ///< for run_on_device(), captured at its first call
  /// Inputs of the next launch(), copied there while a step reads `inputs_`.
  struct Ahead {
    Stream copies;
    DeviceBuffer inputs;
    Event taken;       ///< after the last launch() has copied `inputs` to `inputs_`
    GraphExec step{};  ///< captured at the first launch()
    bool is_filled = false;
  };
  std::optional<Ahead> ahead_;
  /// After the last inputs of run_on_device() or bring() have left pinned memory.
  std::optional<Event> brought_;
  bool is_pending_ = false;  ///< whether nobody has waited for the last step
};

}  // namespace graphc::core::cuda
