// SPDX-License-Identifier: Apache-2.0
// Steps whose inputs and results are in the memory of the GPU, in the order of a caller's stream.
#include <algorithm>
#include <utility>

#include "codegen/targets/cuda/launches/executable.h"
#include "ir/error.h"
#include "ir/mutant.h"
#include "runtime/clock.h"
#include "runtime/cuda/device_tensors.h"

namespace graphc::core::cuda {

GpuExecutable::~GpuExecutable() {
  // The memory of a step must outlive it.
  try {
    synchronize();
  } catch (const Error&) {
    // Nobody is left to hear of it.
  }
}

DeviceTensor GpuExecutable::new_device_tensor(const Type& type) const {
  return cuda::new_device_tensor(device_, type);
}

void GpuExecutable::synchronize() {
  if (!is_pending_) return;
  const KeptContext context;
  device_->make_current();
  end_pending();
}

void GpuExecutable::end_pending() {
  if (!std::exchange(is_pending_, false)) return;
  stream_->synchronize("a step");
  throw_fault();
}

bool GpuExecutable::is_captured(DeviceStream stream) const {
  const KeptContext context;
  return Stream::borrowed(device_, stream).is_captured();
}

/// Each stream comes after the work of the other, for which nobody may have waited.
void GpuExecutable::copy_between_streams(const DeviceState& from, const DeviceState& to) const {
  const Event written(device_, Event::Timing::none), read(device_, Event::Timing::none);
  written.record(from.stream());
  const bool orders = !mutated(Mutant::states_not_awaited);
  if (orders) stream_->wait(written);
  stream_->copy(to.address(), from.address(), to.bytes(), to.name());
  read.record(*stream_);
  if (orders) from.stream().wait(read);
}

void GpuExecutable::bring_input(size_t i, const AnyTensor& input) {
  const size_t bytes = size_t(type_of(input).bytes());
  const std::string& name = signature().inputs[i].name;
  if (const auto* const there = std::get_if<DeviceTensor>(&input))
    return stream_->copy(inputs_.address(i), there->address(), bytes, name);
  // Pinned: the copy to the device is done when the caller's memory may have changed.
  const HostCopy taken = inputs_.taking(i, std::get<Tensor>(input));
  host_copies_->run({&taken, 1});
  stream_->copy_to_device(inputs_.address(i), inputs_.at(i), bytes, name);
}

void GpuExecutable::bring_inputs(std::span<const AnyTensor> inputs) {
  const bool from_host = std::ranges::any_of(
      inputs, [](const AnyTensor& input) { return std::holds_alternative<Tensor>(input); });
  // Until then the pinned memory belongs to the call before.
  if (from_host) await_inputs();
  for (size_t i = 0; i < inputs.size(); ++i) bring_input(i, inputs[i]);
  if (!from_host) return;
  if (!brought_) brought_.emplace(device_, Event::Timing::none);
  brought_->record(*stream_);
}

void GpuExecutable::enqueue_step(std::span<const AnyTensor> inputs,
                                 std::span<StoredState* const> states,
                                 std::span<const DeviceTensor> outputs) {
  bring_inputs(inputs);
  launch_step(device_step_, states);
  for (size_t i = 0; i < outputs.size(); ++i)
    stream_->copy(outputs[i].address(), results_.address(i), size_t(outputs[i].type().bytes()),
                  signature().outputs[i].name);
}

void GpuExecutable::execute_on_device(std::span<const AnyTensor> inputs,
                                      std::span<StoredState* const> states,
                                      std::span<const DeviceTensor> outputs, DeviceStream stream) {
  const double begun = steady_seconds();
  const KeptContext context;
  noting_buffers([&] {
    device_->make_current();
    const Stream callers = Stream::borrowed(device_, stream);
    if (is_pending_ && fault().stuck != 0) end_pending();
    has_kept_ = false;
    if (!device_step_) device_step_ = captured(Copies::fault);
    const Event before(device_, Event::Timing::none), after(device_, Event::Timing::none);
    before.record(callers);
    if (!mutated(Mutant::callers_work_not_awaited)) stream_->wait(before);
    is_pending_ = true;
    try {
      enqueue_step(inputs, states, outputs);
      after.record(*stream_);
      if (!mutated(Mutant::run_not_awaited_by_caller)) callers.wait(after);
    } catch (...) {
      // What was enqueued accesses the caller's memory, and `callers` does not wait for it.
      is_pending_ = false;
      stream_->synchronize("a step that failed");
      throw;
    }
    set_enqueue_s(steady_seconds() - begun);
    if (!judges_data() && ranks_ == nullptr) return;
    is_pending_ = false;
    await_step();
  });
}

}  // namespace graphc::core::cuda
