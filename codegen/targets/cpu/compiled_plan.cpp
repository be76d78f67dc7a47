// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/compiled_plan.h"

#include <algorithm>

#include "codegen/lower/lower.h"
#include "codegen/targets/cpu/emit/emit_nest.h"
#include "codegen/targets/cpu/jit/jit.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/walk/walker.h"
#include "ir/error.h"
#include "ir/mutant.h"
#include "runtime/clock.h"

namespace graphc::core::cpu {

struct CompiledPlan::Code {
  std::shared_ptr<NestCode> nests;  ///< the walker calls its functions
  std::unique_ptr<Walker> walker;
};

CompiledPlan::CompiledPlan(const Graph& kernels, const CpuFeatures& cpu,
                           std::shared_ptr<ThreadTeam> team, ThreadTeam& compilers,
                           const CodeOptions& options)
    : team_(std::move(team)),
      arena_(options.arena ? options.arena : std::make_shared<Arena>()),
      lines_(lines_of(kernels)),
      code_(std::make_unique<Code>()) {
  const double begun = steady_seconds();
  Machine machine = machine_of(cpu, team_->size(), options.factors);
  if (options.ranks != nullptr && options.ranks->bucket_bytes() > 0)
    machine.bucket_bytes = options.ranks->bucket_bytes();
  plan_ = make_plan(kernels, machine);
  times_.plan_s = steady_seconds() - begun;
  code_->nests = nest_code_for(cpu);
  const std::vector<NestFunction> functions =
      code_->nests->functions_of(plan_, compilers, options.files, times_.nests);
  std::vector<CompiledNest> nests;
  for (size_t i = 0; i < functions.size(); ++i)
    nests.push_back({functions[i], plan_.programs[i].tile.matrix_tiles});
  arena_->reserve(std::max<int64_t>(plan_.arena_bytes, 1));
  bases_.resize(plan_.buffers.size(), nullptr);
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    Buffer& buffer = plan_.buffers[i];
    if (buffer.place == Place::constant) bases_[i] = buffer.data.data();
  }
  place_in_arena();
  code_->walker = std::make_unique<Walker>(plan_, std::move(nests), *team_, cpu.matrix_tiles,
                                           panel_group_bytes(), options.ranks);
}

CompiledPlan::~CompiledPlan() = default;

/// Updates buffer addresses if another plan has made a shared arena grow and move.
void CompiledPlan::place_in_arena() {
  if (placed_in_ == arena_->data()) return;
  placed_in_ = arena_->data();
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.place == Place::arena)
      bases_[i] = reinterpret_cast<char*>(arena_->data()) + buffer.offset;
  }
}

void CompiledPlan::place_states(std::span<StoredState* const> states) {
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.place == Place::state)
      bases_[i] = reinterpret_cast<char*>(states[size_t(buffer.index)]->home().address());
  }
}

void CompiledPlan::prepare(std::span<StoredState* const> states) {
  place_in_arena();
  place_states(states);
  refresh_forms(states);
  // Touch every page now; otherwise the first run would wait for each of them.
  std::fill_n(arena_->data(), size_t(plan_.arena_bytes), std::byte{0});
}

void CompiledPlan::run(const std::vector<void*>& inputs, std::span<StoredState* const> states,
                       const std::vector<void*>& outputs) {
  place_in_arena();
  place_states(states);
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    const size_t index = size_t(buffer.index);
    switch (buffer.place) {
      case Place::input:
        bases_[i] = static_cast<char*>(inputs.at(index));
        break;
      case Place::output:
        bases_[i] = static_cast<char*>(outputs.at(index));
        break;
      case Place::state:
      case Place::arena:
      case Place::constant:
      case Place::form:
        break;
    }
  }
  refresh_forms(states);
  code_->walker->run(bases_);
}

void CompiledPlan::begin_profile(Profiled what) {
  code_->walker->measure(&profile_.emplace(what == Profiled::spans ? plan_.workers : 0));
}

RunProfile CompiledPlan::end_profile() {
  code_->walker->measure(nullptr);
  RunProfile measured;
  if (profile_) measured = profile_->result(plan_, lines_);
  profile_.reset();
  return measured;
}

void CompiledPlan::refresh_forms(std::span<StoredState* const> states) {
  forms_.resize(plan_.forms.size());
  std::vector<size_t> stale;
  for (size_t i = 0; i < forms_.size(); ++i) {
    const PlanForm& form = plan_.forms[i];
    StoredState& state = *states[size_t(form.states[0])];
    const int64_t bytes = plan_.buffers[size_t(form.buffer)].bytes;
    if (forms_[i].state != &state) forms_[i] = {&state, state.form(form.key(), bytes)};
    const DerivedForm& held = *forms_[i].form;
    bases_[size_t(form.buffer)] = reinterpret_cast<char*>(held.data());
    const bool trusted = mutated(Mutant::stale_form_read) && held.made_from != 0;
    if (held.is_stale(state) && !trusted) stale.push_back(i);
  }
  if (stale.empty()) return;
  code_->walker->make_forms(bases_, stale);
  for (size_t i : stale) forms_[i].form->made_from = forms_[i].state->version();
}

std::string describe_tile(const NestProgram& program) {
  const TileShape& shape = program.tile;
  int parts = 1;
  for (const NestProduct& product : program.products) parts = std::max(parts, product.parts);
  switch (program.kind) {
    case NestKind::tiles:
      return fmt::format("tiles of {} rows x {} columns{}", shape.rows, shape.width(),
                         parts > 1 ? fmt::format(" x {} parts", parts) : "");
    case NestKind::row_wise:
      return fmt::format("row by row, {} columns at once", shape.width());
    case NestKind::column_wise:
      return fmt::format("{} columns at once, over the rows", shape.width());
  }
  return {};
}

namespace {

/// The nest's number, tile and program, and its first caller, as comment lines.
std::string heading(const Plan& plan, size_t index, std::string_view comment) {
  const NestProgram& program = plan.programs[index];
  std::string text = fmt::format("{}nest {}, {}\n", comment, index, describe_tile(program));
  const std::string lines = program.text();
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin);
    text += fmt::format("{}{}\n", comment, lines.substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::string code_text(const Plan& plan, const CpuFeatures& cpu, CodeText stage) {
  const Jit jit(cpu);
  const std::string_view comment = stage == CodeText::llvm ? "; " : "# ";
  std::string text;
  std::vector<SharedCode> shared;
  for (size_t i = 0; i < plan.programs.size(); ++i) {
    CodeModule module(cpu, "nest");
    emit_nest(module, fmt::format("nest_{}", i), plan.programs[i]);
    text += heading(plan, i, comment);
    text += stage == CodeText::llvm ? module.ir_text() : jit.assembly(module);
    for (SharedCode& code : shared_code_of(plan.programs[i])) {
      if (std::ranges::count(shared, code.symbol, &SharedCode::symbol) == 0)
        shared.push_back(std::move(code));
    }
  }
  for (const SharedCode& code : shared) {
    CodeModule module(cpu, code.symbol);
    code.emit(module);
    text += fmt::format("{}{}, which nests call\n", comment, code.symbol);
    text += stage == CodeText::llvm ? module.ir_text() : jit.assembly(module);
  }
  return text;
}

}  // namespace graphc::core::cpu
