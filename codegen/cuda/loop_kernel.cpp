// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/loop_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "codegen/cuda/meeting_text.h"
#include "codegen/cuda/scalar_text.h"
#include "ir/error.h"

namespace graphc::cuda {
namespace {

constexpr unsigned kLoopThreads = 256;
/// Static shared memory of a block that streams.
constexpr int64_t kSharedOfLoop = 48 << 10;
/// More blocks than any GPU holds at a time; how many it is, is known when the kernel is loaded.
constexpr int64_t kMostLoopBlocks = 4096;

/// A nest of the body with its parameters, named apart from those of the others.
struct LoopNest {
  const NestCall* call = nullptr;
  const NestProgram* program = nullptr;
  std::vector<Parameter> parameters;
  Grid grid;  ///< as a launch of its own
};

class LoopText {
 public:
  LoopText(const Plan& plan, const LoopCall& loop, const Position& position, int depth)
      : plan_(plan), loop_(loop) {
    calls_ = {&plan, &loop, position, depth, {}};
  }

  /// False for a loop that is launches.
  bool collect(const Gpu& gpu, std::string_view placements) {
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
      calls_.nests.push_back(call);
    }
    if (nests_.empty()) return false;
    placement_ = place_loop(calls_, gpu, placements);
    return (!is_streamed() || shared <= kSharedOfLoop) && arrivals_fit();
  }

  LoopKernel write(std::string_view name) {
    TextWriter steps(1);
    if (placement_.meets_in_memory()) {
      add_fixed("unsigned*", "arrived", {KernelArgument::Kind::arrived, 0, {}});
      add_fixed("unsigned*", "stuck", {KernelArgument::Kind::stuck, 0, {}});
      add_fixed("unsigned", "loop_number", {KernelArgument::Kind::loop, 0, {}});
      add_fixed("unsigned", "patience", {KernelArgument::Kind::patience, 0, {}});
      steps.line("unsigned meetings = 0u;");
    }
    add_number("steps", loop_.steps);
    if (!is_streamed()) own_blocks();
    if (!is_streamed()) write_ranges();
    steps.open("for (long long iteration = 0; iteration < steps; ++iteration)");
    steps.line("const long long step = {};", loop_.reverse ? "steps - 1 - iteration" : "iteration");
    for (size_t i = 0; i < nests_.size(); ++i) write_nest(steps, i);
    steps.close();
    for (const HeldMatrix& matrix : placement_.held) write_hold(matrix);
    if (!placement_.held.empty()) before_.line("__syncthreads();");
    return finish(name, before_.text() + steps.text());
  }

 private:
  bool is_streamed() const { return placement_.placement == Placement::streamed; }
  bool is_in_clusters() const { return placement_.placement == Placement::cluster; }

  LoopKernel finish(std::string_view name, const std::string& text) {
    LoopKernel kernel;
    kernel.note = placement_.describe(calls_);
    kernel.kernel.name = name;
    kernel.kernel.text =
        helpers_of(text) +
        (placement_.meets_in_memory() ? std::string(internal::meeting_text()) : std::string()) +
        (is_in_clusters() ? std::string(internal::cluster_meeting_text()) : std::string()) +
        fmt::format("// {}, all steps. {}.\n", in_comment(loop_.name), comment()) +
        fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1) {}({}) {{\n",
                    kLoopThreads, name, fmt::join(listed_, ",")) +
        text + "}\n";
    kernel.arguments = std::move(arguments_);
    kernel.threads = kLoopThreads;
    kernel.blocks = is_streamed() ? most_blocks() : unsigned(placement_.blocks());
    kernel.placement = std::move(placement_);
    return kernel;
  }

  /// Without numbers: texts for other extents are the same.
  std::string_view comment() const {
    switch (placement_.placement) {
      case Placement::streamed:
        return "The blocks share out each nest, and meet after it";
      case Placement::grid:
        return "Each block owns columns of a group of rows; blocks of a group meet";
      case Placement::cluster:
        return "Each block owns columns of its cluster's rows; blocks of a cluster meet";
      case Placement::block:
        return "Each block owns rows, and meets no other";
    }
    return "";
  }

  /// Whether the word that meet() counts in has room for every block at every meeting.
  bool arrivals_fit() const {
    if (!placement_.meets_in_memory()) return true;
    const int64_t blocks = is_streamed() ? most_blocks() : placement_.column_groups;
    return loop_.steps <= std::numeric_limits<uint32_t>::max() / (int64_t(nests_.size()) * blocks);
  }

  void add_fixed(std::string_view type, const std::string& name, LaunchValue argument) {
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

  /// Before the steps: which block this is, and its shared memory.
  void own_blocks() {
    add_number("column_groups", placement_.column_groups);
    before_.line("const long long row_group = blockIdx.x / column_groups;");
    before_.line("const long long column_group = blockIdx.x % column_groups;");
    if (placement_.shared_bytes == 0) return;
    add_number("staging", placement_.staging);
    before_.line("extern __shared__ {} shared[];", register_type_text(placement_.dtype));
  }

  /// Fills the shared memory that has a matrix for all steps.
  void write_hold(const HeldMatrix& matrix) {
    const LoopNest& nest = nests_[matrix.nest];
    const NestForm& form = placement_.nests[matrix.nest].form;
    const std::string& held = form.held[matrix.product];
    add_number(held + "_at", matrix.offset);
    before_.line("{0}* {1} = &shared[{1}_at];", register_type_text(placement_.dtype), held);
    before_.open_block();
    own_range(before_, matrix.nest);
    for (const Parameter& parameter : nest.parameters) {
      if (parameter.kind == ParameterKind::right && parameter.index == int(matrix.product))
        before_.line("{} {} = {};", parameter.type, parameter.name, bases_.at(parameter.name));
    }
    before_.lines(internal::hold_text(*nest.program, nest.parameters, form, int(matrix.product)));
    before_.close();
  }

  /// What of a nest a block does is known before the steps, and is the same for nests that are
  /// shared out alike: registers for each nest of a long body would not be enough.
  void write_ranges() {
    for (size_t i = 0; i < nests_.size(); ++i) {
      const NestCall& call = *nests_[i].call;
      const NestShare& share = placement_.nests[i];
      const auto key = std::tuple(call.rows, call.unit, share.owner, share.columns_of_block);
      const auto [found, is_new] = ranges_.emplace(key, int(ranges_.size()));
      range_of_.push_back(found->second);
      if (is_new) write_range(call, share, found->second);
    }
  }

  void write_range(const NestCall& call, const NestShare& share, int range) {
    const int64_t rows = placement_.rows_of_block(call.rows);
    add_number(fmt::format("rows_of_{}", range), call.rows);
    add_number(fmt::format("columns_of_{}", range), call.unit);
    add_number(fmt::format("rows_owned_{}", range), rows);
    const std::string first = fmt::format("row_group * rows_owned_{}", range);
    const auto owned = [&](std::string_view what) { return fmt::format("{}_{}", what, range); };
    if (share.owner == Owner::element) {
      add_number(owned("columns_owned"), share.columns_of_block);
      write_bounds("row", range, first, owned("rows_owned"), owned("rows_of"));
      return write_bounds("column", range, "column_group * " + owned("columns_owned"),
                          owned("columns_owned"), owned("columns_of"));
    }
    add_number(owned("rows_each"),
               (rows + placement_.column_groups - 1) / placement_.column_groups);
    write_bounds("group", range, first, owned("rows_owned"), owned("rows_of"));
    write_bounds("row", range, owned("group_begin") + " + column_group * " + owned("rows_each"),
                 owned("rows_each"), owned("group_end"));
    before_.line("const long long column_begin_{0} = 0, column_end_{0} = columns_of_{0};", range);
  }

  /// const long long WHAT_begin_N = begin, WHAT_end_N = at most so many more.
  void write_bounds(std::string_view what, int range, const std::string& begin,
                    const std::string& count, const std::string& limit) {
    const std::string first = fmt::format("{}_begin_{}", what, range);
    before_.line("const long long {} = {};", first, begin);
    before_.line("const long long {}_end_{} = {} + {} < {} ? {} + {} : {};", what, range, first,
                 count, limit, first, count, limit);
  }

  /// Brings what of the nest the block does into scope.
  void own_range(TextWriter& text, size_t i) const {
    const int range = range_of_[i];
    text.line("const long long rows = rows_of_{0}, columns = columns_of_{0};", range);
    for (const char* what : {"row", "column"})
      text.line("const long long {0}_begin = {0}_begin_{1}, {0}_end = {0}_end_{1};", what, range);
  }

  void write_nest(TextWriter& text, size_t i) {
    const LoopNest& nest = nests_[i];
    text.line("// {}", in_comment(nest.call->name));
    text.open_block();
    for (const Parameter& parameter : nest.parameters) bind(text, parameter, i);
    if (is_streamed()) {
      share_out(text, i);
    } else {
      own_range(text, i);
      set_threads(text, threads_of(i));
      text.lines(renamed(
          internal::nest_body_text(*nest.program, nest.parameters, placement_.nests[i].form)));
    }
    text.close();
    write_end(text, i);
  }

  /// What comes after a nest: all blocks meet, or the threads of a block.
  void write_end(TextWriter& text, size_t i) {
    if (!placement_.meets_after[i]) return text.line("__syncthreads();");
    if (is_in_clusters()) return text.line("meet_in_cluster();");
    text.line("meetings = meetings + 1u;");
    const std::string who =
        is_streamed() ? "arrived, meetings * gridDim.x"
                      : fmt::format("arrived + row_group * {}, meetings * (unsigned)column_groups",
                                    kMeetingWords);
    text.line("if (!meet({}, stuck, loop_number, patience)) return;", who);
  }

  std::pair<unsigned, unsigned> threads_of(size_t i) const {
    const LoopNest& nest = nests_[i];
    const NestShare& share = placement_.nests[i];
    if (nest.program->kind == NestKind::tiles) {
      const ProductTile tile = product_tile(*nest.program, share.form);
      return {unsigned(tile.across), unsigned(tile.down)};
    }
    if (share.owner == Owner::row || nest.program->kind == NestKind::column_wise)
      return {nest.grid.threads[0], nest.grid.threads[1]};
    unsigned across = 1;
    while (across < kLoopThreads && across < share.columns_of_block) across *= 2;
    return {across, kLoopThreads / across};
  }

  static void set_threads(TextWriter& text, std::pair<unsigned, unsigned> threads) {
    text.line("const int threads_x = {}, threads_y = {};", threads.first, threads.second);
    text.line("const int thread_x = threadIdx.x % {0}, thread_y = threadIdx.x / {0};",
              threads.first);
  }

  /// The nest's own grid, gone through by the blocks that there are.
  void share_out(TextWriter& text, size_t i) {
    const LoopNest& nest = nests_[i];
    text.line("const long long rows = rows_of_{0}, columns = columns_of_{0};", i);
    constexpr const char* kAxes[] = {"x", "y", "z"};
    for (int axis = 0; axis < 3; ++axis) {
      const std::string name = fmt::format("blocks_{}_of_{}", kAxes[axis], i);
      add_number(name, nest.grid.blocks[size_t(axis)]);
      text.line("const long long blocks_{} = {};", kAxes[axis], name);
    }
    set_threads(text, {nest.grid.threads[0], nest.grid.threads[1]});
    text.open(
        "for (long long block = blockIdx.x; block < blocks_x * blocks_y * blocks_z; block += "
        "gridDim.x)");
    text.line("const long long block_x = block % blocks_x, block_y = block / blocks_x % blocks_y;");
    text.line("const long long block_z = block / blocks_x / blocks_y;");
    text.lines(
        renamed(internal::nest_body_text(*nest.program, nest.parameters, form_of(*nest.call))));
    text.close();
  }

  /// Brings a parameter of the nest into scope as it is in this step.
  void bind(TextWriter& text, const Parameter& parameter, size_t i) {
    const Address* address = address_for(parameter, plan_, *nests_[i].call);
    if (address != nullptr) return bind_address(text, parameter, *address, i);
    const int64_t number = number_for(parameter, plan_, *nests_[i].call);
    switch (parameter.kind) {
      case ParameterKind::rows:
      case ParameterKind::columns:
        if (!is_streamed()) return;
        return add_number(fmt::format("{}_of_{}", parameter.name, i), number);
      case ParameterKind::extent: {
        const std::string name = fmt::format("{}_of_{}", parameter.name, i);
        add_number(name, number);
        return text.line("const long long {} = {};", parameter.name, name);
      }
      default:
        add_fixed(parameter.type, parameter.name, {KernelArgument::Kind::number, number, {}});
    }
  }

  /// Whether it is a matrix that steps find in shared memory.
  bool is_held(const Parameter& parameter, size_t i) const {
    return !is_streamed() && parameter.kind == ParameterKind::right &&
           !placement_.nests[i].form.held[size_t(parameter.index)].empty();
  }

  void bind_address(TextWriter& text, const Parameter& parameter, const Address& address,
                    size_t i) {
    const DType dtype = dtype_of(parameter, i);
    const MovingPlace place = moving_place(address, calls_);
    const std::string& name = parameter.name;
    const std::string base = names_.make(name + "_base");
    bases_[name] = base;
    add_place(parameter.type, base, place.base);
    if (is_held(parameter, i)) return;
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
  LoopNests calls_;
  LoopPlacement placement_;
  Names names_;
  std::vector<LoopNest> nests_;
  std::map<std::string, std::string> bases_;  ///< of pointers, the parameters they come from
  /// Of owned nests: which are shared out alike, by number, and the number of each nest.
  std::map<std::tuple<int64_t, int64_t, Owner, int64_t>, int> ranges_;
  std::vector<int> range_of_;
  TextWriter before_{1};  ///< what comes before the steps
  std::vector<std::string> listed_;
  std::vector<LaunchValue> arguments_;
};

}  // namespace

std::optional<LoopKernel> loop_kernel(const Plan& plan, const LoopCall& loop,
                                      const Position& position, int depth, std::string_view name,
                                      const Gpu& gpu, std::string_view placements) {
  LoopText text(plan, loop, position, depth);
  if (!text.collect(gpu, placements)) return std::nullopt;
  LoopKernel kernel = text.write(name);
  if (kernel.arguments.size() * sizeof(int64_t) > kMostParameterBytes) return std::nullopt;
  return kernel;
}

}  // namespace graphc::cuda
