// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "codegen/targets/cuda/loops/barrier_text.h"
#include "codegen/targets/cuda/loops/counted_row_text.h"
#include "codegen/targets/cuda/loops/counted_text.h"
#include "codegen/targets/cuda/loops/loop_contents.h"
#include "codegen/targets/cuda/loops/loop_groups.h"
#include "codegen/targets/cuda/loops/loop_parameters.h"
#include "codegen/targets/cuda/loops/owned_ranges.h"
#include "codegen/targets/cuda/text/scalar_text.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

constexpr unsigned kLoopThreads = 256;
/// Static shared memory of a block of a streamed loop.
constexpr int64_t kSharedOfLoop = 48 << 10;
/// More blocks than any GPU runs at a time; the actual number is known when the kernel is loaded.
constexpr int64_t kMostLoopBlocks = 4096;

class LoopText {
 public:
  LoopText(const Plan& plan, const LoopCall& loop, const Position& position, int depth)
      : plan_(plan), loop_(loop) {
    calls_ = {&plan, &loop, position, depth, {}};
  }

  /// Returns false for a loop that needs separate launches.
  bool collect(const Gpu& gpu, std::optional<Placement> wanted) {
    if (loop_.steps < 2) return false;
    int64_t shared = 0;
    std::vector<Grid> grids;
    for (const Record& record : loop_.body) {
      const auto* call = std::get_if<NestCall>(&record.call);
      if (call == nullptr) return false;
      const NestProgram& program = plan_.programs[size_t(call->program)];
      const Grid grid = nest_grid(program, *call);
      if (std::ranges::find(grid.blocks, 0u) != grid.blocks.end()) continue;
      if (grid.threads[0] * grid.threads[1] != kLoopThreads) return false;
      shared += internal::shared_bytes(program, streamed_form_of(*call));
      grids.push_back(grid);
      calls_.nests.push_back(call);
    }
    if (grids.empty()) return false;
    groups_ = groups_of(calls_);
    placement_ = place_loop(groups_ ? groups_->nests : calls_, gpu, wanted);
    if (groups_ && !is_streamed()) calls_ = groups_->nests;
    for (size_t i = 0; i < grids.size(); ++i) {
      const NestCall& call = *calls_.nests[i];
      nests_.push_back({&call, &calls_.program(i), parameters_of(plan_, call, names_), grids[i]});
    }
    return (!is_streamed() || shared <= kSharedOfLoop) && arrivals_fit();
  }

  LoopKernel write(std::string_view name) {
    TextWriter steps(1);
    if (placement_.has_memory_barrier()) {
      parameters_.add("unsigned*", "arrived", {KernelArgument::Kind::arrived, 0, {}});
      parameters_.add("unsigned*", "stuck", {KernelArgument::Kind::stuck, 0, {}});
      parameters_.add("unsigned", "loop_number", {KernelArgument::Kind::loop, 0, {}});
      parameters_.add("unsigned", "patience", {KernelArgument::Kind::patience, 0, {}});
      before_.line("unsigned barriers = 0u;");
    }
    add_number("steps", loop_.steps);
    if (!is_streamed()) own_blocks();
    if (!is_streamed())
      ranges_.emplace(
          calls_, placement_,
          [&](const std::string& what, int64_t number) { add_number(what, number); }, before_);
    for (const ExchangedOperand& operand : placement_.exchanged) add_exchange(operand);
    if (is_counted()) {
      if (placement_.counted->through_memory)
        parameters_.add("unsigned*", "exchange", {KernelArgument::Kind::scratch, 0, {}});
      internal::write_counted_beginning(before_, *placement_.counted, group_of_block());
      internal::write_held_registers(before_, *placement_.counted, calls_);
      internal::write_number_registers(before_, *placement_.counted);
    }
    steps.open("for (long long iteration = 0; iteration < steps; ++iteration)");
    steps.line("const long long step = {};", step_text_);
    for (size_t i = 0; i < nests_.size(); ++i) write_nest(steps, i);
    steps.lines(numbers_);
    steps.close();
    for (const ResidentMatrix& matrix : placement_.resident)
      add_number(placement_.nests[matrix.nest].form.resident_name(matrix.product) + "_at",
                 matrix.offset);
    if (!is_streamed())
      LoopContents(placement_, *ranges_, nests_, parameters_.bases()).write(before_);
    before_.lines(beginnings_.text());
    if (is_counted() && placement_.counted->through_memory) {
      if (placement_.counted->begins_with_zeros())
        before_.lines(meeting());
      else if (!placement_.counted->rows.exchanges.empty())
        before_.line("__syncthreads();");
    } else if (!placement_.exchanged.empty() || is_counted()) {
      before_.line("cluster_barrier();");
      // A block must not exit while others still write into its shared memory.
      if (placement_.stores_after_barriers()) steps.line("cluster_barrier();");
    } else if (!placement_.resident.empty()) {
      before_.line("__syncthreads();");
    }
    return finish(name, before_.text() + steps.text());
  }

 private:
  bool is_streamed() const { return placement_.placement == Placement::streamed; }
  bool is_in_clusters() const { return placement_.placement == Placement::cluster; }
  bool is_counted() const { return placement_.counted != nullptr; }
  bool has_groups() const { return placement_.groups > 1; }

  LoopKernel finish(std::string_view name, const std::string& text) {
    LoopKernel kernel;
    kernel.note = placement_.describe(calls_);
    kernel.kernel.name = name;
    kernel.kernel.text =
        helpers_of(text) +
        (placement_.has_memory_barrier() ? std::string(internal::barrier_text()) : std::string()) +
        (is_in_clusters() ? std::string(internal::cluster_barrier_text()) : std::string()) +
        (placement_.exchanged.empty()
             ? std::string()
             : internal::store_to_all_text(placement_.cluster(),
                                           register_type_text(placement_.dtype))) +
        (is_counted() ? internal::counted_functions(*placement_.counted) : std::string()) +
        fmt::format("// {}, all steps. {}.\n", in_comment(loop_.name), placement_.comment()) +
        fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1) {}({}) {{\n",
                    kLoopThreads, name, fmt::join(parameters_.listed(), ",")) +
        text + "}\n";
    kernel.arguments = parameters_.take_arguments();
    kernel.threads = kLoopThreads;
    kernel.blocks = is_streamed() ? most_blocks() : unsigned(placement_.blocks());
    kernel.placement = std::move(placement_);
    return kernel;
  }

  /// Whether the word in which block_barrier() counts can hold the arrivals of all blocks at all
  /// barriers.
  bool arrivals_fit() const {
    if (!placement_.has_memory_barrier()) return true;
    const int64_t blocks = is_streamed() ? most_blocks() : placement_.column_groups;
    // One may be before the first step.
    const int64_t barriers =
        is_counted() ? placement_.counted->meetings() + 1 : int64_t(nests_.size());
    return loop_.steps < std::numeric_limits<uint32_t>::max() / (barriers * blocks);
  }

  void add_number(const std::string& name, int64_t number) { parameters_.add_number(name, number); }

  unsigned most_blocks() const {
    int64_t most = 1;
    for (const LoopNest& nest : nests_)
      most =
          std::max(most, int64_t{nest.grid.blocks[0]} * nest.grid.blocks[1] * nest.grid.blocks[2]);
    return unsigned(std::min(most, kMostLoopBlocks));
  }

  /// Before the steps: computes the block's position and declares its shared memory.
  void own_blocks() {
    add_number("column_groups", placement_.column_groups);
    if (has_groups()) {
      add_number("row_groups", placement_.row_groups);
      before_.line("const unsigned block_group = blockIdx.x / (unsigned)column_groups;");
      before_.line("const long long matrix_group = block_group / (unsigned)row_groups;");
      before_.line("const long long row_group = block_group % (unsigned)row_groups;");
    } else {
      before_.line("const long long row_group = blockIdx.x / (unsigned)column_groups;");
    }
    before_.line("const long long column_group = blockIdx.x % (unsigned)column_groups;");
    if (placement_.shared_bytes == 0) return;
    const bool has_staging =
        !is_counted() && placement_.staging * size_of(placement_.dtype) < placement_.shared_bytes;
    if (has_staging) add_number("staging", placement_.staging);
    before_.line("extern __shared__ {}{} shared[];", is_counted() ? "__align__(16) " : "",
                 register_type_text(placement_.dtype));
  }

  std::string name_of(const Exchange& exchange) const {
    return placement_.nests[exchange.nest].form.exchanged_name(exchange.product);
  }

  /// Declares the place of a left operand in shared memory, and the stores that go there.
  void add_exchange(const ExchangedOperand& operand) {
    const Exchange& exchange = operand.exchange;
    const LoopNest& nest = nests_[exchange.nest];
    const std::string name = name_of(exchange);
    add_number(name + "_at", operand.offset);
    add_number(name + "_size", operand.elements);
    std::string terms;
    for (const Parameter& parameter : nest.parameters) {
      if (parameter.kind == ParameterKind::k && parameter.index == int(exchange.product))
        terms = parameter.name;
    }
    HandedOn form =
        internal::exchanged_form(*nest.program, placement_.nests[exchange.nest].form, terms);
    form.blocks = placement_.cluster();
    for (const HandedStore& store : exchange.stores) {
      form.to = "handed_" + name;
      form.operand = store.operand;
      form.first_term = store.first_term;
      placement_.nests[store.nest].form.handed_on.push_back(form);
    }
  }

  /// Brings the exchanged operands that a nest reads and writes into scope.
  void bind_exchanges(TextWriter& text, size_t i) const {
    const auto bind_one = [&](std::string_view what, const std::string& name, bool other) {
      text.line("{0}* {1}{2} = &shared[{2}_at + {3} % 2 * {2}_size];",
                register_type_text(placement_.dtype), what, name,
                other ? "(iteration + 1)" : "iteration");
    };
    for (const auto& [exchange, offset, elements] : placement_.exchanged) {
      if (exchange.nest == i) bind_one("", name_of(exchange), false);
      if (std::ranges::find(exchange.stores, i, &HandedStore::nest) != exchange.stores.end())
        bind_one("handed_", name_of(exchange), exchange.next_step);
    }
  }

  void write_nest(TextWriter& text, size_t i) {
    const LoopNest& nest = nests_[i];
    if (is_counted() && placement_.counted->rows.is_done[i]) return;
    if (is_counted() && placement_.counted->rows.is_of_rows[i]) return write_row_nest(i);
    text.line("// {}", in_comment(nest.call->name));
    text.open_block();
    if (is_counted()) {
      write_counted(text, i);
      // A nest whose end is in the next one is closed behind it.
      ++open_nests_;
      if (placement_.counted->postpones[i]) return;
      for (; open_nests_ > 0; --open_nests_) text.close();
      return;
    }
    for (const Parameter& parameter : nest.parameters) parameters_.bind(text, parameter, i);
    if (is_streamed()) {
      share_out(text, i);
    } else {
      ranges_->bring(text, i);
      if (placement_.nests[i].owner == Owner::outer)
        text.line("const long long block_z = column_group, blocks_z = column_groups;");
      bind_exchanges(text, i);
      set_threads(text, placement_.threads_of(i, *nest.program, nest.grid, kLoopThreads));
      write_body(text, nest, placement_.nests[i].form);
    }
    text.close();
    write_end(text, i);
  }

  void write_counted(TextWriter& text, size_t i) {
    const LoopNest& nest = nests_[i];
    const CountedLoop& loop = *placement_.counted;
    TextWriter places(1), bound(1);
    places.line("const long long step = {};", step_text_);
    for (const Parameter& parameter : nest.parameters) parameters_.bind(bound, parameter, i);
    places.lines(bound.text());
    const internal::CountedNestParts parts =
        internal::counted_nest_parts(loop, i, *nest.program, nest.parameters, places.text(),
                                     meeting(), postponed_, std::exchange(numbers_, {}));
    text.lines(needed_lines(bound.text(), parts.body + parts.stores));
    ranges_->bring(text, i);
    text.lines(parts.body);
    if (!parts.numbers.empty()) add_numbers(i, bound.text(), parts.numbers);
    postponed_ = parts.stores + parts.ahead;
    if (!loop.postpones[i]) text.lines(std::exchange(postponed_, {}));
    if (!internal::has_beginning(loop, i)) return;
    beginnings_.open_block();
    ranges_->bring(beginnings_, i);
    beginnings_.lines(
        internal::counted_nest_beginning(loop, i, *nest.program, nest.parameters, places.text()));
    beginnings_.close();
  }

  /// A nest with one column sets numbers of rows for the nest that comes next.
  void write_row_nest(size_t i) {
    const LoopNest& nest = nests_[i];
    TextWriter bound(1);
    for (const Parameter& parameter : nest.parameters) parameters_.bind(bound, parameter, i);
    add_numbers(i, bound.text(),
                internal::row_nest_text(*placement_.counted, i, *nest.program, nest.parameters));
  }

  /// Leaves text that sets numbers of rows for the nest that comes next. `bound` brings parameters
  /// into scope.
  void add_numbers(size_t i, const std::string& bound, const std::string& numbers) {
    TextWriter text(1);
    text.open_block();
    text.lines(needed_lines(bound, numbers));
    ranges_->bring(text, i);
    text.lines(numbers);
    text.close();
    numbers_ += text.text();
  }

  /// Writes the end of a nest: a barrier of all blocks, or of the threads of a block.
  void write_end(TextWriter& text, size_t i) {
    if (!placement_.barrier_after[i]) return text.line("__syncthreads();");
    if (is_in_clusters()) return text.line("cluster_barrier();");
    text.lines(meeting());
  }

  /// The number of the group of blocks that share out rows.
  std::string_view group_of_block() const {
    return has_groups() ? "(matrix_group * row_groups + row_group)" : "row_group";
  }

  /// A barrier of all blocks of a group, or of a streamed loop.
  std::string meeting() const {
    const std::string who =
        is_streamed() ? "arrived, barriers * gridDim.x"
                      : fmt::format("arrived + {} * {}, barriers * (unsigned)column_groups",
                                    group_of_block(), kBarrierWords);
    TextWriter text(1);
    text.line("barriers = barriers + 1u;");
    text.line("if (!block_barrier({}, stuck, loop_number, patience)) return;", who);
    return text.text();
  }

  static void write_body(TextWriter& text, const LoopNest& nest, const NestForm& form) {
    NestGrid grid(NestGrid::Of::nest);
    text.lines(internal::nest_body_text(*nest.program, nest.parameters, form, grid));
  }

  static void set_threads(TextWriter& text, std::pair<unsigned, unsigned> threads) {
    text.line("const int threads_x = {}, threads_y = {};", threads.first, threads.second);
    text.line("const int thread_x = threadIdx.x % {0}, thread_y = threadIdx.x / {0};",
              threads.first);
  }

  /// Divides the nest's own grid among the existing blocks.
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
    write_body(text, nest, streamed_form_of(*nest.call));
    text.close();
  }

  const Plan& plan_;
  const LoopCall& loop_;
  const char* const step_text_ = loop_.reverse ? "steps - 1 - iteration" : "iteration";
  LoopNests calls_;
  std::optional<LoopGroups> groups_;
  LoopPlacement placement_;
  Names names_;
  std::vector<LoopNest> nests_;
  std::optional<OwnedRanges> ranges_;
  std::string numbers_;       ///< sets numbers of rows for the next nest of a counted loop
  std::string postponed_;     ///< of the nest before, in a counted loop
  int open_nests_ = 0;        ///< nests before whose text is not closed yet
  TextWriter before_{1};      ///< code before the steps
  TextWriter beginnings_{1};  ///< of it, what fills registers of counted loops
  LoopParameters parameters_{calls_, placement_, names_, before_};
};

}  // namespace

std::optional<LoopKernel> loop_kernel(const Plan& plan, const LoopCall& loop,
                                      const Position& position, int depth, std::string_view name,
                                      const Gpu& gpu, std::optional<Placement> wanted) {
  LoopText text(plan, loop, position, depth);
  if (!text.collect(gpu, wanted)) return std::nullopt;
  LoopKernel kernel = text.write(name);
  if (kernel.arguments.size() * sizeof(int64_t) > kMostParameterBytes) return std::nullopt;
  return kernel;
}

}  // namespace graphc::core::cuda
