// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/executable.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "codegen/step/run_table.h"
#include "codegen/targets/cuda/launches/device_figures.h"
#include "codegen/targets/cuda/launches/finite_checks.h"
#include "codegen/targets/cuda/loops/loop_kernel.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/error.h"
#include "runtime/clock.h"

namespace graphc::core::cuda {
namespace {

/// The largest buffers of a plan, for an error about memory.
std::string largest_buffers(const Plan& plan) {
  std::vector<const Buffer*> sorted;
  for (const Buffer& buffer : plan.buffers) sorted.push_back(&buffer);
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Buffer::bytes);
  if (sorted.size() > 5) sorted.resize(5);
  std::string text;
  for (const Buffer* buffer : sorted)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", buffer->name,
                        in_bytes(size_t(buffer->bytes)));
  return text;
}

/// Alignment of the values in a transfer: that of separate allocations.
constexpr size_t kTransferAlignment = 256;

/// Approximate time that a block waits for the others of its loop, at the GPU's nominal clock: a
/// poll of the arrival count goes to the second-level cache and back. It is far longer than any
/// stage of a loop, and short enough to report an error to the user in time.
constexpr int kPatience_s = 20;
constexpr int kCyclesOfPoll = 500;

unsigned patience_of(const DeviceProperties& properties) {
  const int64_t clock_khz = properties.clock_khz > 0 ? properties.clock_khz : 1500000;
  return unsigned(std::clamp<int64_t>(clock_khz * 1000 * kPatience_s / kCyclesOfPoll, 1, 1 << 30));
}

size_t aligned(size_t bytes) {
  return (bytes + kTransferAlignment - 1) / kTransferAlignment * kTransferAlignment;
}

}  // namespace

DeviceState::DeviceState(std::shared_ptr<const Stream> stream, size_t bytes, std::string name)
    : stream_(std::move(stream)),
      memory_(stream_->device(), bytes, "state " + name),
      name_(std::move(name)) {}

void DeviceState::bring(std::byte* home) const {
  const KeptContext context;
  stream_->device()->make_current();
  stream_->copy_to_host(home, address(), bytes(), name_);
  stream_->synchronize("a state");
}

GpuExecutable::GpuExecutable(Signature signature, Plan plan, DevicePtr device,
                             const CompileOptions& options, const CodeOptions& code,
                             CompileReport& report, Merging merging)
    : Executable(std::move(signature)), device_(std::move(device)), plan_(std::move(plan)) {
  noting_buffers([&] { prepare(options, code, report, merging); });
}

void GpuExecutable::prepare(const CompileOptions& options, const CodeOptions& code,
                            CompileReport& report, Merging merging) {
  stream_ = std::make_shared<Stream>(device_);
  host_copies_.emplace(threads_of(options));
  report.lap(&CompileReport::allocate_s);
  checks_finite_ = options.cuda.check_finite;
  Gpu gpu = gpu_of_device(*device_, code.architecture);
  for (bool is_placed = false; !is_placed;) {
    launches_ =
        make_launches(plan_, gpu, options.cuda.placement, merging, alternatives_of(options.cuda));
    if (checks_finite_) {
      std::vector<DType> types;
      for (const Argument& state : signature().states) types.push_back(state.type.dtype);
      finite_checks_ = finite_checks(plan_, types, launches_);
    }
    report.lap(&CompileReport::emit_s);
    kernels_ = load_kernels(device_, launches_.kernels, code, report);
    is_placed = !ask_for_clusters(*device_, launches_, kernels_, gpu);
  }
  allocate();
  connect(options.ranks);
  report.lap(&CompileReport::allocate_s);
  prepare_libraries(options, Choices(code.files), report);
  report.lap(&CompileReport::tune_s);
  branches_ = branches_of(launches_.step);
  step_ = captured(Copies::all);
  report.lap(&CompileReport::allocate_s);
}

void GpuExecutable::connect(const RankOptions& options) {
  const int found = options.engine == nullptr ? 1 : options.engine->count();
  if (launches_.ranks != 0 && launches_.ranks != found) {
    throw input_error({}, "graph @{} is that of one of {} ranks: found {}", plan_.name,
                      launches_.ranks, found);
  }
  if (launches_.ranks > 1) ranks_ = communicator_of(options.engine, device_);
}

void GpuExecutable::noting_buffers(const std::function<void()>& work) const {
  try {
    work();
  } catch (Error& error) {
    if (error.message().find("out of memory") != std::string::npos)
      error.note("the largest buffers of the plan: " + largest_buffers(plan_));
    throw;
  }
}

DeviceBuffer GpuExecutable::buffer(int64_t bytes, const std::string& what) const {
  return DeviceBuffer(device_, size_t(bytes), what);
}

void GpuExecutable::allocate() {
  device_->make_current();
  arena_ = buffer(plan_.arena_bytes, "the arena");
  scratch_ = buffer(launches_.scratch_bytes, "scratch");
  exchange_ = buffer(launches_.exchange_bytes, "what ranks exchange");
  arrived_ = buffer(int64_t{launches_.most_barrier_groups} * kBarrierWords * sizeof(unsigned),
                    "the blocks that wait");
  allocate_transfers();
  for (const Argument& state : signature().states)
    states_.push_back(
        std::make_shared<DeviceState>(stream_, size_t(state.type.bytes()), state.name));
  kept_states_.resize(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    const Argument& state = signature().states[i];
    if (checks_finite_ && state.written)
      kept_states_[i] = buffer(state.type.bytes(), "state " + state.name + " before a step");
  }
  constants_.resize(plan_.buffers.size());
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& constant = plan_.buffers[i];
    if (constant.place != Place::constant) continue;
    constants_[i] = buffer(constant.bytes, "constant " + constant.name);
    stream_->copy_to_device(constants_[i].address(), constant.data.data(), size_t(constant.bytes),
                            constant.name);
  }
  for (const PlanForm& form : plan_.forms) {
    const Buffer& planned = plan_.buffers[size_t(form.buffer)];
    forms_.push_back(buffer(planned.bytes, planned.name));
  }
  held_states_.resize(states_.size());
  for (const PlanForm& form : plan_.forms) made_forms_.emplace_back(form.states.size());
  stream_->synchronize("constants");
}

void GpuExecutable::allocate_transfers() {
  const auto add = [](Transfer& transfer, int64_t bytes) {
    transfer.offsets.push_back(transfer.bytes);
    transfer.bytes += aligned(size_t(bytes));
  };
  for (const Argument& input : signature().inputs) add(inputs_, input.type.bytes());
  for (const Argument& output : signature().outputs) add(results_, output.type.bytes());
  add(results_, sizeof(Fault));
  const auto allocated = [&](Transfer& transfer, const std::string& what) {
    transfer.device = buffer(int64_t(transfer.bytes), what);
    transfer.host = PinnedBuffer(device_, transfer.bytes, what + " on the host");
  };
  allocated(inputs_, "the inputs");
  allocated(results_, "the outputs");
  std::memset(results_.at(signature().outputs.size()), 0, sizeof(Fault));  // before the first step
  // Memory that no kernel writes: between outputs, and the fault of a step that cannot have one.
  for (size_t i = 0; i < results_.offsets.size(); ++i) {
    const bool last = i == signature().outputs.size();
    const size_t used = last ? 0 : size_t(signature().outputs[i].type.bytes());
    const size_t end = last ? results_.bytes : results_.offsets[i + 1];
    stream_->fill(results_.address(i) + used, 0, end - results_.offsets[i] - used, "the outputs");
  }
}

CUdeviceptr GpuExecutable::address_of(const LaunchValue& value) const {
  if (value.kind == KernelArgument::Kind::fault) return fault_address();
  if (value.kind == KernelArgument::Kind::stuck) return fault_address() + offsetof(Fault, stuck);
  if (value.kind == KernelArgument::Kind::not_finite)
    return fault_address() + offsetof(Fault, not_finite);
  if (value.kind == KernelArgument::Kind::scratch) return scratch_.address();
  if (value.kind == KernelArgument::Kind::arrived) return arrived_.address();
  if (value.kind == KernelArgument::Kind::exchanged)
    return exchange_.address() + uint64_t(value.number);
  const Buffer& buffer = plan_.buffers[size_t(value.place.buffer)];
  const size_t index = size_t(buffer.index), offset = size_t(value.place.offset);
  switch (buffer.place) {
    case Place::arena:
      return arena_.address() + size_t(buffer.offset) + offset;
    case Place::input:
      return inputs_.address(index) + offset;
    case Place::state:
      return states_[index]->address() + offset;
    case Place::output:
      return results_.address(index) + offset;
    case Place::constant:
      return constants_[size_t(value.place.buffer)].address() + offset;
    case Place::form:
      return forms_[index].address() + offset;
  }
  return 0;
}

uint64_t GpuExecutable::bits_of(const LaunchValue& value) const {
  if (value.kind == KernelArgument::Kind::number) return uint64_t(value.number);
  if (value.kind == KernelArgument::Kind::patience) return patience_of(device_->properties());
  return address_of(value);
}

void GpuExecutable::launch(const Launch& launch, const Stream& stream) const {
  std::vector<uint64_t> values;
  for (const LaunchValue& value : launch.arguments) values.push_back(bits_of(value));
  if (launch.layer != nullptr)
    return layers_->enqueue(*launch.layer, {values.begin(), values.end()}, stream);
  if (launch.exchange != nullptr) {
    const size_t bytes = size_t(launch.exchange->bytes);
    return launch.exchange->kind == DeviceExchange::Kind::all_gather
               ? ranks_->all_gather(values[0], values[1], bytes, stream)
               : ranks_->all_to_all(values[0], values[1], bytes, stream);
  }
  std::vector<void*> parameters;
  for (uint64_t& value : values) parameters.push_back(&value);
  LaunchShape shape;
  shape.grid = launch.grid.blocks;
  shape.block = launch.grid.threads;
  const Kernel& kernel = kernels_[size_t(launch.kernel)]->kernel;
  shape.dynamic_shared = launch.shared_bytes;
  if (shape.dynamic_shared > 0) kernel.allow_dynamic_shared(shape.dynamic_shared);
  if (launch.barrier_groups > 0) {
    const int resident = kernel.resident_blocks(int(shape.block[0]), shape.dynamic_shared) *
                         device_->properties().multiprocessors;
    if (launch.any_blocks) shape.grid[0] = std::min(shape.grid[0], unsigned(std::max(resident, 1)));
    GRAPHC_CHECK(int64_t{shape.grid[0]} <= std::max(resident, 1),
                 "{}: {} blocks that wait for each other on a GPU that holds {}", kernel.name(),
                 shape.grid[0], resident);
    shape.cooperative = true;
    stream.fill(arrived_.address(), 0,
                size_t{launch.barrier_groups} * kBarrierWords * sizeof(unsigned),
                "the blocks that wait");
  }
  if (launch.cluster > 1) {
    shape.cluster = launch.cluster;
    check_cluster(kernel, shape);
  }
  stream.launch(kernel, shape, parameters.data());
  if (launch.rest) this->launch(*launch.rest, stream);
}

void GpuExecutable::check_cluster(const Kernel& kernel, const LaunchShape& shape) const {
  if (shape.cluster > kPortableCluster) kernel.allow_large_clusters();
  if (kernel.resident_clusters(shape.cluster, shape.block[0], shape.dynamic_shared) > 0) return;
  throw resource_error(
      "{}: the {} holds no cluster of {} blocks with {} of shared memory each: --placement=grid "
      "needs none",
      kernel.name(), device_->properties().name, shape.cluster, in_bytes(shape.dynamic_shared));
}

GraphExec GpuExecutable::captured(Copies copies) const {
  const BranchStreams streams(branches_, *stream_);
  return stream_->capture([&] {
    if (copies == Copies::all)
      stream_->copy_to_device(inputs_.device.address(), inputs_.host.data(), inputs_.bytes,
                              "the inputs");
    // Where nobody waits for a step, a loop that was stuck stays so until somebody hears of it.
    const bool is_awaited = copies != Copies::fault || judges_data();
    if (is_awaited && (judges_data() || !launches_.loops.empty()))
      stream_->fill(fault_address(), 0, sizeof(Fault), "the fault");
    for (size_t i = 0; i < kept_states_.size(); ++i)
      stream_->copy(kept_states_[i].address(), states_[i]->address(), kept_states_[i].bytes(),
                    states_[i]->name());
    streams.run([&](size_t i, const Stream& stream) {
      const std::optional<ChosenProduct>& chosen = chosen_products_[i];
      chosen ? enqueue(launches_.step[i], *chosen, stream) : launch(launches_.step[i], stream);
    });
    for (const Launch& check : finite_checks_) launch(check, *stream_);
    const size_t from = copies == Copies::fault ? results_.offsets.back() : 0;
    stream_->copy_to_host(static_cast<std::byte*>(results_.host.data()) + from,
                          results_.device.address() + from, results_.bytes - from, "the outputs");
  });
}

void GpuExecutable::copy_state_to_device(size_t i, const StoredState& state) {
  const Held now{&state, state.version()};
  DeviceState& here = *states_[i];
  // This buffer may hold the newest content of another state; that state shares it, so it still
  // exists.
  const StoredState* before = held_states_[i].state;
  if (before != &state && states_[i].use_count() > 1) before->home();
  // The content may still be where this executable left it or copied it.
  if (state.away() != &here && held_states_[i] != now) {
    const auto* there = dynamic_cast<const DeviceState*>(state.away());
    if (there != nullptr && there->stream().device()->ordinal() == device_->ordinal()) {
      copy_between_streams(*there, here);
    } else {
      stream_->copy_to_device(here.address(), state.home().address(), here.bytes(), here.name());
    }
  }
  held_states_[i] = now;
}

void GpuExecutable::make_stale_forms(std::span<StoredState* const> states) {
  for (size_t i = 0; i < forms_.size(); ++i) {
    const auto now = [&](size_t of) {
      const StoredState& state = *states[size_t(plan_.forms[i].states[of])];
      return Held{&state, state.version()};
    };
    std::vector<Held>& made = made_forms_[i];
    bool is_stale = false;
    for (size_t of = 0; of < made.size(); ++of) is_stale |= made[of] != now(of);
    if (!is_stale) continue;
    for (const Launch& each : launches_.forms[i]) launch(each, *stream_);
    // Only now: after an error the forms are built again.
    for (size_t of = 0; of < made.size(); ++of) made[of] = now(of);
  }
}

void GpuExecutable::execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
                            std::span<Tensor> outputs) {
  const KeptContext context;
  noting_buffers([&] { step(inputs, states, outputs); });
}

void GpuExecutable::step(std::span<const Tensor> inputs, std::span<StoredState* const> states,
                         std::span<Tensor> outputs) {
  const double begun = steady_seconds();
  device_->make_current();
  end_pending();
  await_inputs();
  has_kept_ = false;
  inputs_.take(*host_copies_, inputs);
  launch_step(step_, states);
  set_enqueue_s(steady_seconds() - begun);
  await_step();
  results_.give(*host_copies_, outputs);
}

void GpuExecutable::await_step() {
  stream_->synchronize("a step");
  if (ranks_ != nullptr) ranks_->check_failures();
  has_kept_ = checks_finite_;
  throw_fault();
}

void GpuExecutable::launch_step(const GraphExec& step, std::span<StoredState* const> states) {
  for (size_t i = 0; i < states_.size(); ++i) copy_state_to_device(i, *states[i]);
  make_stale_forms(states);
  step.launch(*stream_);
  for (size_t i = 0; i < states_.size(); ++i) {
    if (signature().states[i].written) states[i]->leave(states_[i]);
  }
}

void GpuExecutable::restore(std::span<StoredState* const> states) {
  if (!has_kept_) return;
  const KeptContext context;
  device_->make_current();
  noting_buffers([&] {
    for (size_t i = 0; i < states_.size(); ++i) {
      if (!signature().states[i].written) continue;
      stream_->copy(states_[i]->address(), kept_states_[i].address(), kept_states_[i].bytes(),
                    states_[i]->name());
      states[i]->leave(states_[i]);
      states[i]->written();
      held_states_[i] = {states[i], states[i]->version()};
    }
    stream_->synchronize("states that are put back");
  });
  has_kept_ = false;
}

Fault GpuExecutable::fault() const {
  Fault found;
  std::memcpy(&found, results_.at(signature().outputs.size()), sizeof found);
  return found;
}

void GpuExecutable::throw_fault() const {
  const Fault fault = this->fault();
  if (fault.stuck != 0) {
    stream_->fill(fault_address(), 0, sizeof(Fault), "the fault");
    const LoopCall& loop = *launches_.loops[size_t(fault.stuck - 1)];
    throw Error(
        ErrorKind::resource, loop.where,
        fmt::format("%{}: blocks of the loop waited {} seconds for others on the {}, in vain",
                    loop.name, kPatience_s, device_->properties().name));
  }
  if (fault.record == 0) return;
  throw index_error(*launches_.tables[size_t(fault.record - 1)], fault.index, fault.position);
}

}  // namespace graphc::core::cuda
