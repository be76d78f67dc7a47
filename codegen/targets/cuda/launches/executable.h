// SPDX-License-Identifier: Apache-2.0
// A plan that a GPU runs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "codegen/step/plan.h"
#include "codegen/targets/cuda/launches/branches.h"
#include "codegen/targets/cuda/launches/code.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/libraries/library_calls.h"
#include "runtime/cuda/stream.h"
#include "runtime/executable.h"

namespace graphc::core::cuda {

/// A state's content in the memory of a device.
class DeviceState : public AwayForm {
 public:
  /// `stream` is that of the executable that writes it.
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

/// Values that one copy brings to the device, or back: beside each other in its memory, and in
/// memory of the host that copies run from beside other work.
struct Transfer {
  std::vector<size_t> offsets;
  size_t bytes = 0;
  DeviceBuffer device;
  PinnedBuffer host;

  CUdeviceptr address(size_t i) const { return device.address() + offsets[i]; }
  std::byte* at(size_t i) const { return static_cast<std::byte*>(host.data()) + offsets[i]; }
};

/// One arena, a buffer for every state, and the step as one CUDA graph: inputs to the device, the
/// kernels, outputs and what went wrong back. A call brings states that somebody else has written,
/// launches the graph and waits for it: nothing else is asked of the driver. States that the step
/// writes stay on the device until their home form is asked for.
class GpuExecutable : public Executable {
 public:
  /// Compiles and loads the code of a plan made for gpu_machine(); of `options` it takes placement,
  /// products and precision. The report gets what each part took. Throws ErrorKind::resource
  /// without the memory, naming the plan's largest buffers.
  GpuExecutable(Signature signature, Plan plan, DevicePtr device, const CompileOptions& options,
                const CodeOptions& code, CompileReport& report,
                Merging merging = Merging::together);

  const Plan& plan() const { return plan_; }
  const Launches& launches() const { return launches_; }
  const Branches& branches() const { return branches_; }
  bool checks_finite() const override { return checks_finite_; }
  bool was_finite() const override { return fault().not_finite == 0; }
  void restore(std::span<StoredState* const> states) override;

  /// Bytes of the device that a step takes beside states, inputs and outputs.
  int64_t step_bytes() const;
  /// The least time of a few steps on inputs and states of zeros. What states were left on the
  /// device is lost: before the first call.
  float milliseconds_of_step();

 private:
  void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
               std::span<Tensor> outputs) override;
  void step(std::span<const Tensor> inputs, std::span<StoredState* const> states,
            std::span<Tensor> outputs);

  /// What the constructor does when there is a plan.
  void prepare(const CompileOptions& options, const CodeOptions& code, CompileReport& report,
               Merging merging);
  /// Does the work; an error about memory gets a note of the plan's largest buffers.
  void noting_buffers(const std::function<void()>& work) const;
  void allocate();
  void allocate_transfers();
  DeviceBuffer buffer(int64_t bytes, const std::string& what) const;
  void record_step();
  void launch(const Launch& launch, const Stream& stream) const;
  void enqueue(const Launch& launch, const ChosenProduct& chosen, const Stream& stream) const;
  /// Throws ErrorKind::resource if the device holds no cluster of this shape.
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
  void make_stale_forms(std::span<StoredState* const> states);
  CUdeviceptr fault_address() const { return results_.address(signature().outputs.size()); }
  /// Throws if blocks of the step that has ended waited in vain for each other, or if it met an
  /// index outside its table.
  void throw_fault() const;
  Fault fault() const;

  /// What lies in a device's buffer is the state's content of this version; 0: nothing is known.
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
  Transfer results_;  ///< the outputs, then the Fault
  DeviceBuffer arena_, scratch_, arrived_;
  std::vector<DeviceBuffer> constants_, forms_;
  std::vector<std::shared_ptr<DeviceState>> states_;
  std::vector<Held> held_states_;
  std::vector<std::vector<Held>> made_forms_;  ///< of each form, by its states
  bool checks_finite_ = false;
  std::vector<Launch> finite_checks_;
  std::vector<DeviceBuffer> kept_states_;  ///< what written states had before the last step
  bool has_kept_ = false;                  ///< whether they are of the last call
  std::unique_ptr<LayerLibrary> layers_;
  std::unique_ptr<ProductLibrary> products_;
  std::vector<std::optional<ChosenProduct>> chosen_products_;  ///< by launch of the step
  GraphExec step_;
};

}  // namespace graphc::core::cuda
