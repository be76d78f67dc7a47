// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/loop_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "codegen/cuda/scalar_text.h"
#include "ir/error.h"

namespace graphc::cuda {
namespace {

constexpr int kLoopThreads = 256;
/// Static shared memory of a block.
constexpr int64_t kSharedOfLoop = 48 << 10;
/// More blocks than any GPU holds at a time; how many it is, is known when the kernel is loaded.
constexpr int64_t kMostLoopBlocks = 4096;

constexpr std::string_view kMeet =
    R"(// All blocks of the grid wait for each other; what one wrote before, all read after.
__device__ __forceinline__ void meet(unsigned* arrived, unsigned wanted) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    unsigned polls = 0u;
    while (atomicAdd(arrived, 0u) < wanted) {
      polls = polls + 1u;
      if (polls == 4000000000u) __trap();
    }
    __threadfence();
  }
  __syncthreads();
}

)";

/// An address in the loop: where it is at step 0, how it moves, and where it is in the first
/// iteration if that is elsewhere.
struct MovingPlace {
  BufferPlace base;
  int64_t step = 0, slot = 0;  ///< bytes per step, and in odd iterations
  std::optional<BufferPlace> first;
};

MovingPlace moving_place(const Address& address, const LoopCall& loop, Position position,
                         int depth) {
  const Address* from = &address;
  position.resize(std::max(position.size(), size_t(depth) + 1));
  while (from->at_first && from->first_loop != depth &&
         position[size_t(from->first_loop)].iteration == 0)
    from = from->at_first.get();
  MovingPlace place;
  position[size_t(depth)] = {2, 0};  // an even iteration, not the first
  place.base = resolve(*from, position);
  for (const Address::Term& term : from->terms) {
    if (term.loop != depth) continue;
    place.step += term.step;
    place.slot += term.parity;
  }
  if (from->at_first && from->first_loop == depth) {
    position[size_t(depth)] = position_in(loop, 0);
    place.first = resolve(*from, position);
  }
  return place;
}

/// A nest of the body with its parameters, named apart from those of the others.
struct LoopNest {
  const NestCall* call = nullptr;
  const NestProgram* program = nullptr;
  std::vector<Parameter> parameters;
  Grid grid;
};

class LoopText {
 public:
  LoopText(const Plan& plan, const LoopCall& loop, const Position& position, int depth)
      : plan_(plan), loop_(loop), position_(position), depth_(depth) {}

  /// False for a loop that is launches.
  bool collect() {
    if (loop_.steps < 2) return false;
    int64_t shared = 0;
    for (const Record& record : loop_.body) {
      const auto* call = std::get_if<NestCall>(&record.call);
      if (call == nullptr) return false;
      const NestProgram& program = plan_.programs[size_t(call->program)];
      const Grid grid = nest_grid(program, *call);
      if (std::ranges::find(grid.blocks, 0u) != grid.blocks.end()) continue;
      if (grid.threads[0] * grid.threads[1] != kLoopThreads) return false;
      shared += internal::shared_bytes(program, form_of(*call));
      nests_.push_back({call, &program, parameters_of(plan_, *call, names_), grid});
    }
    return !nests_.empty() && shared <= kSharedOfLoop && arrivals_fit();
  }

  LoopKernel write(std::string_view name) {
    add_fixed("unsigned*", "arrived", {KernelArgument::Kind::arrived, 0, {}});
    add_number("steps", loop_.steps);
    TextWriter text(1);
    text.line("unsigned meetings = 0u;");
    text.open("for (long long iteration = 0; iteration < steps; ++iteration)");
    text.line("const long long step = {};", loop_.reverse ? "steps - 1 - iteration" : "iteration");
    for (size_t i = 0; i < nests_.size(); ++i) write_nest(text, i);
    text.close();
    LoopKernel kernel;
    kernel.kernel.name = name;
    kernel.kernel.text =
        helpers_of(text.text()) + std::string(kMeet) +
        fmt::format("// {}, all steps: the blocks meet after each nest\n", in_comment(loop_.name)) +
        fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1) {}({}) {{\n",
                    kLoopThreads, name, fmt::join(listed_, ",")) +
        text.text() + "}\n";
    kernel.arguments = std::move(arguments_);
    kernel.threads = kLoopThreads;
    kernel.most_blocks = most_blocks();
    return kernel;
  }

 private:
  /// Whether the word that meet() counts in has room for every block at every meeting.
  bool arrivals_fit() const {
    const int64_t of_a_step = int64_t(nests_.size()) * most_blocks();
    return loop_.steps <= std::numeric_limits<uint32_t>::max() / of_a_step;
  }

  void add_fixed(std::string_view type, const std::string& name, LoopArgument argument) {
    listed_.push_back(fmt::format("\n    {} {}", type, name));
    arguments_.push_back(argument);
  }
  void add_number(const std::string& name, int64_t number) {
    add_fixed("long long", name, {KernelArgument::Kind::number, number, {}});
  }
  void add_place(std::string_view type, const std::string& name, const BufferPlace& place) {
    add_fixed(type, name, {KernelArgument::Kind::address, 0, place});
  }

  unsigned most_blocks() const {
    int64_t most = 1;
    for (const LoopNest& nest : nests_)
      most =
          std::max(most, int64_t{nest.grid.blocks[0]} * nest.grid.blocks[1] * nest.grid.blocks[2]);
    return unsigned(std::min(most, kMostLoopBlocks));
  }

  /// The nest's own grid, gone through by the blocks that there are.
  void write_nest(TextWriter& text, size_t i) {
    const LoopNest& nest = nests_[i];
    text.line("// {}", in_comment(nest.call->name));
    text.open_block();
    for (const Parameter& parameter : nest.parameters) bind(text, parameter, i);
    constexpr const char* kAxes[] = {"x", "y", "z"};
    for (int axis = 0; axis < 3; ++axis) {
      const std::string name = fmt::format("blocks_{}_of_{}", kAxes[axis], i);
      add_number(name, nest.grid.blocks[size_t(axis)]);
      text.line("const long long blocks_{} = {};", kAxes[axis], name);
    }
    text.line("const int threads_x = {}, threads_y = {};", nest.grid.threads[0],
              nest.grid.threads[1]);
    text.line("const int thread_x = threadIdx.x % {0}, thread_y = threadIdx.x / {0};",
              nest.grid.threads[0]);
    text.open(
        "for (long long block = blockIdx.x; block < blocks_x * blocks_y * blocks_z; block += "
        "gridDim.x)");
    text.line("const long long block_x = block % blocks_x, block_y = block / blocks_x % blocks_y;");
    text.line("const long long block_z = block / blocks_x / blocks_y;");
    text.lines(
        renamed(internal::nest_body_text(*nest.program, nest.parameters, form_of(*nest.call))));
    text.close();
    text.close();
    text.line("meetings = meetings + 1u;");
    text.line("meet(arrived, meetings * gridDim.x);");
  }

  /// Brings a parameter of the nest into scope as it is in this step.
  void bind(TextWriter& text, const Parameter& parameter, size_t i) {
    const Address* address = address_for(parameter, plan_, *nests_[i].call);
    if (address != nullptr) return bind_address(text, parameter, *address, dtype_of(parameter, i));
    const int64_t number = number_for(parameter, plan_, *nests_[i].call);
    const bool own = parameter.kind == ParameterKind::rows ||
                     parameter.kind == ParameterKind::columns ||
                     parameter.kind == ParameterKind::extent;
    if (!own)
      return add_fixed(parameter.type, parameter.name, {KernelArgument::Kind::number, number, {}});
    const std::string name = fmt::format("{}_of_{}", parameter.name, i);
    add_number(name, number);
    text.line("const long long {} = {};", parameter.name, name);
  }

  void bind_address(TextWriter& text, const Parameter& parameter, const Address& address,
                    DType dtype) {
    const MovingPlace place = moving_place(address, loop_, position_, depth_);
    const std::string& name = parameter.name;
    const std::string base = names_.make(name + "_base");
    add_place(parameter.type, base, place.base);
    std::string here = base;
    if (place.step != 0) {
      const std::string step = names_.make(name + "_step");
      add_number(step, place.step / size_of(dtype));
      here += " + step * " + step;
    }
    if (place.slot != 0) {
      const std::string slot = names_.make(name + "_slot");
      add_number(slot, place.slot / size_of(dtype));
      here += " + iteration % 2 * " + slot;
    }
    if (place.first) {
      const std::string first = names_.make(name + "_first");
      add_place(parameter.type, first, *place.first);
      here = fmt::format("iteration == 0 ? {} : {}", first, here);
    }
    text.line("{} {} = {};", parameter.type, name, here);
  }

  DType dtype_of(const Parameter& parameter, size_t i) const {
    const NestProgram& program = *nests_[i].program;
    const size_t index = size_t(parameter.index);
    if (parameter.kind == ParameterKind::left) return program.products[index].left;
    if (parameter.kind == ParameterKind::right) return program.products[index].right;
    return program.operands[index].dtype;
  }

  /// A nest's text with its own grid in the place of the launch's.
  static std::string renamed(std::string text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kGrid{
        {{"threadIdx.", "thread_"},
         {"blockIdx.", "block_"},
         {"blockDim.", "threads_"},
         {"gridDim.", "blocks_"}}};
    for (const auto& [from, to] : kGrid) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
        text.replace(at, from.size(), to);
    }
    return text;
  }

  const Plan& plan_;
  const LoopCall& loop_;
  const Position& position_;
  const int depth_;
  Names names_;
  std::vector<LoopNest> nests_;
  std::vector<std::string> listed_;
  std::vector<LoopArgument> arguments_;
};

}  // namespace

std::optional<LoopKernel> loop_kernel(const Plan& plan, const LoopCall& loop,
                                      const Position& position, int depth, std::string_view name) {
  LoopText text(plan, loop, position, depth);
  if (!text.collect()) return std::nullopt;
  LoopKernel kernel = text.write(name);
  if (kernel.arguments.size() * sizeof(int64_t) > kMostParameterBytes) return std::nullopt;
  return kernel;
}

}  // namespace graphc::cuda
