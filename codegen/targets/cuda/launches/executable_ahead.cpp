// SPDX-License-Identifier: Apache-2.0
// Copies between callers' memory and pinned memory; steps whose inputs the host brings while the
// GPU works on the step before.
#include <utility>

#include "codegen/targets/cuda/launches/executable.h"
#include "ir/error.h"
#include "ir/mutant.h"
#include "runtime/clock.h"

namespace graphc::core::cuda {

void Transfer::take(HostCopies& copies, std::span<const Tensor> from) const {
  std::vector<HostCopy> list;
  for (size_t i = 0; i < from.size(); ++i) list.push_back(taking(i, from[i]));
  copies.run(list);
}

void Transfer::give(HostCopies& copies, std::span<Tensor> to) const {
  std::vector<HostCopy> list;
  for (size_t i = 0; i < to.size(); ++i)
    list.push_back({to[i].address(), at(i), size_t(to[i].type().bytes())});
  copies.run(list);
}

void GpuExecutable::execute_bring(std::span<const Tensor> inputs) {
  const KeptContext context;
  noting_buffers([&] {
    device_->make_current();
    if (!ahead_) {
      ahead_.emplace(Ahead{.copies = Stream(device_),
                           .inputs = buffer(int64_t(inputs_.bytes), "the inputs of the next step"),
                           .taken = Event(device_, Event::Timing::none)});
      ahead_->taken.record(*stream_);
    }
    await_inputs();
    inputs_.take(*host_copies_, inputs);
    if (!brought_) brought_.emplace(device_, Event::Timing::none);
    if (!mutated(Mutant::inputs_ahead_overwritten)) ahead_->copies.wait(ahead_->taken);
    ahead_->copies.copy_to_device(ahead_->inputs.address(), inputs_.host.data(), inputs_.bytes,
                                  "the inputs");
    brought_->record(ahead_->copies);
    ahead_->is_filled = true;
  });
}

void GpuExecutable::execute_launch(std::span<StoredState* const> states) {
  const double begun = steady_seconds();
  if (!ahead_ || !ahead_->is_filled)
    throw input_error({}, "graph '{}': launch() without inputs: wanted bring() before", plan_.name);
  const KeptContext context;
  noting_buffers([&] {
    device_->make_current();
    end_pending();
    has_kept_ = false;
    if (!ahead_->step) ahead_->step = captured(Copies::outputs);
    if (!mutated(Mutant::inputs_ahead_not_awaited)) stream_->wait(*brought_);
    stream_->copy(inputs_.device.address(), ahead_->inputs.address(), inputs_.bytes, "the inputs");
    ahead_->taken.record(*stream_);
    ahead_->is_filled = false;
    is_pending_ = true;
    launch_step(ahead_->step, states);
    set_enqueue_s(steady_seconds() - begun);
  });
}

void GpuExecutable::execute_finish(std::span<Tensor> outputs) {
  if (!std::exchange(is_pending_, false))
    throw input_error({}, "graph '{}': finish() without a run: wanted launch() before", plan_.name);
  const KeptContext context;
  noting_buffers([&] {
    device_->make_current();
    await_step();
    results_.give(*host_copies_, outputs);
  });
}

}  // namespace graphc::core::cuda
