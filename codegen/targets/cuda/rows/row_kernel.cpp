// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "codegen/targets/cuda/rows/row_body.h"
#include "codegen/targets/cuda/rows/row_memory.h"
#include "codegen/targets/cuda/rows/row_parts.h"
#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda {
namespace {

constexpr int64_t kSharedOfRow = 48 << 10;
/// A row has fewer parts than a GPU multiprocessors.
constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max() >> 12;

class RowKernelText {
 public:
  RowKernelText(const LoopNests& nests, const RowLoop& loop, const Gpu& gpu,
                const RowThreads& threads)
      : nests_(nests),
        loop_(loop),
        gpu_(gpu),
        threads_(threads),
        rows_(threads_),
        memory_(nests, loop, threads_, rows_, names_) {}

  RowKernel write(std::string_view name) {
    begin();
    TextWriter steps(1);
    std::set<int> loaded;
    for (size_t n = 0; n < loop_.nests.size(); ++n) {
      load_late(steps, loop_.nests[n], loaded);
      write_nest(steps, n);
    }
    store_step(steps);
    hand_on(steps);
    TextWriter last(1);
    store_last(last);
    return {finish(name, before_.text() + loop_over(steps.text()) + last.text()),
            sum_of_shares(nests_, loop_, threads_, fmt::format("{}_shares", name)),
            bytes_of_shares(nests_, loop_, threads_)};
  }

  int64_t shared_bytes() const { return rows_.shared_bytes(); }

 private:
  /// Before the steps: where the thread is, its values, and what it loads before the first one.
  void begin() {
    parameters_.add_number("steps", nests_.loop->steps);
    if (threads_.parts() == 1) {
      before_.line("const long long row = blockIdx.x;");
    } else {
      before_.line("const long long row = blockIdx.x / {0}, part = blockIdx.x % {0};",
                   threads_.parts());
    }
    before_.line("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
    const int lanes = threads_.columns.lanes, warps = threads_.columns.warps;
    before_.line("const int lane_of_rows = lane / {}, lane_of_columns = lane % {};", lanes, lanes);
    before_.line("const int warp_of_rows = warp / {}, warp_of_columns = warp % {};", warps, warps);
    before_.line("const int first_row = {};", first_of(threads_.rows, "rows"));
    before_.line("const int first_column = {};", first_of(threads_.columns, "columns"));
    for (size_t v = 0; v < loop_.values.size(); ++v) {
      memory_.declare(before_, v, parameters_);
      if (loop_.values[v].is_stored && threads_.division.in_shares(v))
        memory_.declare_shares(before_, v, shares_of(nests_, loop_, threads_, v), parameters_);
    }
    for (size_t v = 0; v < loop_.values.size(); ++v) memory_.load_before(before_, v);
    if (writes_what_it_finds())
      before_.line("__syncthreads();  // the steps write what the first one finds");
  }

  /// The loop over steps. Each phase has a text of its own: first for as many steps at a time as
  /// there are phases, without a condition, since where ways meet all that is carried would be
  /// copied; then for those that are left, for which everything is loaded.
  std::string loop_over(const std::string& step) const {
    TextWriter text(1);
    const int phases = memory_.phases();
    const auto write_phases = [&](int count) {
      text.line("#pragma unroll");
      text.open("for (int phase = 0; phase < {}; ++phase)", count);
      text.line("const long long iteration = first + phase;");
    };
    text.line("long long first = 0;");
    text.open("while (first + {} <= steps)", phases);
    write_phases(phases);
    TextWriter loads(1);
    load_step(loads);
    text.lines(loads.text());
    text.lines(step);
    text.close();
    text.line("first = first + {};", phases);
    text.close();
    if (phases == 1) return text.text();
    write_phases(phases - 1);
    text.open("if (iteration < steps)");
    text.lines(step);
    text.close();
    text.close();
    return text.text();
  }

  /// Whether a thread may store what others load before the steps.
  bool writes_what_it_finds() const {
    for (const RowValue& found : loop_.values) {
      if (found.origin != Origin::carried || found.spread == Spread::matrix) continue;
      const MovingPlace& place = found.place.place;
      const int buffer = place.first ? place.first->buffer : place.base.buffer;
      for (size_t v = 0; v < loop_.values.size(); ++v) {
        if (loop_.values[v].is_stored && !threads_.division.in_shares(v) &&
            loop_.values[v].place.place.base.buffer == buffer)
          return true;
      }
    }
    return false;
  }

  /// A thread's position along an axis.
  static std::string first_of(const ThreadAxis& axis, std::string_view what) {
    if (axis.warps == 1) return fmt::format("lane_of_{}", what);
    if (axis.lanes == 1) return fmt::format("warp_of_{}", what);
    return fmt::format("warp_of_{0} * {1} + lane_of_{0}", what, axis.lanes);
  }

  /// One value becomes another.
  void copy(TextWriter& text, const std::string& from, const std::string& to, Spread spread) const {
    const int scopes = rows_.open(text, spread);
    text.line("{} = {};", RowText::element(to, spread), RowText::element(from, spread));
    RowText::close(text, scopes);
  }

  /// At the beginning of a step: what a later step needs is loaded.
  void load_step(TextWriter& text) const {
    // A factor takes one instruction, a choice between two numbers of 64 bits two.
    if (memory_.phases() > 1)
      text.line("const int more = renewed(iteration + {} < steps ? 1 : 0);", memory_.phases());
    for (size_t v = 0; v < loop_.values.size(); ++v) {
      if (memory_.ahead(v) > 0) memory_.load(text, v);
    }
  }

  /// Before a nest: the matrices that it is the first to read, where they are not loaded ahead.
  void load_late(TextWriter& text, const RowNest& nest, std::set<int>& loaded) const {
    for (const RowNest::Operand& operand : nest.operands) {
      if (operand.value < 0) continue;
      const auto v = size_t(operand.value);
      if (loop_.values[v].origin == Origin::memory && memory_.ahead(v) == 0 &&
          loaded.insert(operand.value).second)
        memory_.load(text, v);
    }
  }

  void store_step(TextWriter& text) const {
    bool overwrites = false;
    for (const RowValue& value : loop_.values)
      overwrites |= value.is_overwritten && value.spread != Spread::matrix;
    if (overwrites) text.line("__syncthreads();  // others load a vector that is overwritten");
    for (size_t v = 0; v < loop_.values.size(); ++v) {
      const RowValue& value = loop_.values[v];
      if (value.is_stored && !value.place.is_of_last())
        memory_.store(text, v, RowMemory::After::current);
    }
  }

  /// What a step leaves becomes what the next one finds.
  void hand_on(TextWriter& text) const {
    for (size_t v = 0; v < loop_.values.size(); ++v) {
      const RowValue& value = loop_.values[v];
      if (value.origin == Origin::carried && value.left_by >= 0)
        copy(text, memory_.name(size_t(value.left_by)), memory_.name(v), value.spread);
    }
  }

  void store_last(TextWriter& text) const {
    for (size_t v = 0; v < loop_.values.size(); ++v) {
      const RowValue& value = loop_.values[v];
      if (value.is_stored && value.place.is_of_last())
        memory_.store(text, v, RowMemory::After::last);
    }
  }

  void write_nest(TextWriter& text, size_t n) {
    const RowNest& nest = loop_.nests[n];
    text.line("// {}", in_comment(nest.call->name));
    text.open_block();
    RowBody body(*nests_.plan, nest, rows_, names_);
    if (threads_.parts() > 1)
      body.set_shares(threads_.division.operands[n],
                      threads_.rows.parts > 1 ? nest.over_rows : nest.over_columns);
    for (size_t i = 0; i < nest.operands.size(); ++i) {
      const RowNest::Operand& operand = nest.operands[i];
      if (operand.value < 0) {
        body.bind_number(i, number_of(nest, i));
        continue;
      }
      const RowValue& value = loop_.values[size_t(operand.value)];
      std::string name = memory_.name(size_t(operand.value));
      if (operand.spread != value.spread) {
        const std::string turned = names_.make(name.substr(0, name.find('[')) + "_turned");
        rows_.turn(text, name, turned, operand.spread, value.place.dtype);
        name = turned;
      }
      body.bind(i, name, operand.spread);
      const auto v = size_t(operand.value);
      if (!memory_.share_name(v).empty())
        body.bind_apart(i, memory_.share_name(v), memory_.whole_name(v));
    }
    body.write(text);
    text.close();
  }

  /// The parameter for a literal, or for the first number of an index.
  std::string number_of(const RowNest& nest, size_t i) {
    const NestProgram& program = nests_.plan->programs[size_t(nest.call->program)];
    const NestOperand& form = program.operands[i];
    const bool is_index = form.kind == OperandKind::iota;
    const std::string name = names_.make(is_index ? "index" : "number");
    const ParameterKind kind = is_index ? ParameterKind::base : ParameterKind::literal;
    parameters_.add_number(name, number_for({kind, int(i), 0, {}, name}, *nests_.plan, *nest.call),
                           is_index ? "long long" : stored_type_text(form.dtype));
    return name;
  }

  LoopKernel finish(std::string_view name, const std::string& text) {
    LoopKernel kernel;
    kernel.kernel.name = name;
    kernel.kernel.text =
        helpers_of(text) +
        fmt::format(
            "// {}, all steps. A block takes a row, or a part of it, through them; of what "
            "the rows carry, a block has {} x {}.\n",
            in_comment(nests_.loop->name), threads_.rows.extent, threads_.columns.extent) +
        fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1) {}({}) {{\n",
                    threads_.count(), name, fmt::join(parameters_.listed, ",")) +
        rows_.declarations() + text + "}\n";
    kernel.arguments = std::move(parameters_.arguments);
    kernel.threads = unsigned(threads_.count());
    kernel.blocks = unsigned(loop_.loop_rows * threads_.parts());
    LoopPlacement& placement = kernel.placement;
    placement.placement = Placement::rows;
    placement.row_groups = loop_.loop_rows;
    placement.column_groups = threads_.parts();
    placement.barrier_after.assign(nests_.nests.size(), false);
    placement.matrix = {threads_.rows.extent, threads_.columns.extent};
    const RowStep step = row_step(*nests_.plan, loop_, threads_, gpu_);
    placement.step_us = step.us;
    placement.step_bytes = step.bytes;
    kernel.note = placement.describe(nests_);
    return kernel;
  }

  const LoopNests& nests_;
  const RowLoop& loop_;
  const Gpu& gpu_;
  const RowThreads& threads_;
  RowText rows_;
  Names names_;
  RowMemory memory_;
  RowParameters parameters_;
  TextWriter before_{1};  ///< code before the steps
};

}  // namespace

RowKernelPlan row_kernel(const LoopNests& nests, std::pair<int, int> phases, std::string_view name,
                         const Gpu& gpu) {
  const RowPlan plan = row_loop(nests, phases);
  if (!plan.loop) return {{}, plan.reason};
  if (nests.loop->steps < 2) return {{}, fmt::format("it has {} steps", nests.loop->steps)};
  if (plan.loop->loop_rows > kMostRows)
    return {{}, fmt::format("it has {} rows", plan.loop->loop_rows)};
  const RowThreads threads = row_threads(*nests.plan, *plan.loop, gpu);
  if (threads.elements(Spread::matrix) > kMostElements)
    return {{},
            fmt::format("a thread would have {} elements of a matrix of {} x {}",
                        threads.elements(Spread::matrix), plan.loop->rows, plan.loop->columns)};
  RowKernelText kernel(nests, *plan.loop, gpu, threads);
  RowKernel written = kernel.write(name);
  if (kernel.shared_bytes() > kSharedOfRow)
    return {
        {},
        fmt::format("its threads would meet in {} bytes of shared memory", kernel.shared_bytes())};
  const size_t parameters =
      std::max(written.loop.arguments.size(), written.sums ? written.sums->arguments.size() : 0);
  if (parameters * sizeof(int64_t) > kMostParameterBytes)
    return {{}, fmt::format("its kernel would have {} parameters", parameters)};
  return {std::move(written), {}};
}

}  // namespace graphc::core::cuda
