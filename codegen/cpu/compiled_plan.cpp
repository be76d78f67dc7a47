// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/compiled_plan.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>

#include "codegen/cpu/emit_nest.h"
#include "codegen/cpu/jit.h"
#include "codegen/cpu/machine.h"
#include "codegen/cpu/walk.h"
#include "ir/error.h"
#include "ir/mutant.h"
#include "runtime/clock.h"

namespace graphc::cpu {
namespace {

constexpr const char* kSymbol = "nest";

/// Machine code of one CPU: lives as long as the programs that use it.
struct CodeCache {
  explicit CodeCache(const CpuFeatures& cpu) : jit(cpu) {}
  std::mutex mutex;
  Jit jit;
  std::map<std::string, NestFunction> functions;  // by key_of() their programs
};

std::string key_of(const NestProgram& program) {
  std::string text = program.text();
  if (mutated(Mutant::kernel_of_another_body)) std::ranges::sort(text);
  return text;
}

std::mutex caches_mutex;
std::map<std::string, std::shared_ptr<CodeCache>>& caches() {
  static std::map<std::string, std::shared_ptr<CodeCache>> all;
  return all;
}

std::shared_ptr<CodeCache> cache_for(const CpuFeatures& cpu) {
  std::lock_guard lock(caches_mutex);
  std::shared_ptr<CodeCache>& cache =
      caches()[fmt::format("{} {} {}", cpu.llvm_name, cpu.features, int(cpu.matrix_tiles))];
  if (!cache) cache = std::make_shared<CodeCache>(cpu);
  return cache;
}

}  // namespace

struct CompiledPlan::Code {
  std::shared_ptr<CodeCache> cache;
  std::unique_ptr<Walker> walker;
};

void clear_code_cache() {
  std::lock_guard lock(caches_mutex);
  caches().clear();
}

CompiledPlan::CompiledPlan(const Graph& kernels, const CpuFeatures& cpu,
                           std::shared_ptr<ThreadTeam> team, ThreadTeam& compilers, Factors factors)
    : team_(std::move(team)), lines_(lines_of(kernels)), code_(std::make_unique<Code>()) {
  double clock = steady_seconds();
  const auto lap = [&clock] {
    const double begun = clock;
    clock = steady_seconds();
    return clock - begun;
  };
  plan_ = make_plan(kernels, machine_of(cpu, team_->size(), factors));
  times_.plan_s = lap();

  code_->cache = cache_for(cpu);
  times_.link_s += lap();
  std::lock_guard lock(code_->cache->mutex);
  compile_missing(cpu, compilers);
  times_.link_s += lap() - times_.emit_s - times_.codegen_s;
  std::vector<CompiledNest> nests;
  for (const NestProgram& program : plan_.programs) {
    nests.push_back({code_->cache->functions.at(key_of(program)), is_by_matrix_tiles(program)});
  }
  arena_.reserve(std::max<int64_t>(plan_.arena_bytes, 1));
  bases_.resize(plan_.buffers.size(), nullptr);
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    Buffer& buffer = plan_.buffers[i];
    if (buffer.place == Place::arena)
      bases_[i] = reinterpret_cast<char*>(arena_.data()) + buffer.offset;
    if (buffer.place == Place::constant) bases_[i] = buffer.data.data();
  }
  code_->walker = std::make_unique<Walker>(plan_, std::move(nests), *team_, cpu.matrix_tiles);
}

void CompiledPlan::compile_missing(const CpuFeatures& cpu, ThreadTeam& compilers) {
  std::vector<const NestProgram*> missing;
  for (const NestProgram& program : plan_.programs) {
    if (!code_->cache->functions.contains(key_of(program))) missing.push_back(&program);
  }
  times_.kernels = int64_t(missing.size());
  times_.cache_hits = int64_t(plan_.programs.size() - missing.size());
  if (missing.empty()) return;
  std::vector<ObjectCode> objects(missing.size());
  std::vector<double> emit_s(size_t(compilers.size()), 0), codegen_s = emit_s;
  std::atomic<size_t> next{0};
  const double begun = steady_seconds();
  compilers.run([&](int thread) {
    for (size_t i = next++; i < missing.size(); i = next++) {
      const double start = steady_seconds();
      CodeModule module(cpu, kSymbol);
      emit_nest(module, kSymbol, *missing[i], tile_of(*missing[i], cpu));
      const double emitted = steady_seconds();
      objects[i] = code_->cache->jit.compile(std::move(module));
      emit_s[size_t(thread)] += emitted - start;
      codegen_s[size_t(thread)] += steady_seconds() - emitted;
    }
  });
  // The threads' intervals overlap: the one interval of wall-clock time is shared out as they are.
  const double wall = steady_seconds() - begun;
  const double emit = std::accumulate(emit_s.begin(), emit_s.end(), 0.0);
  const double codegen = std::accumulate(codegen_s.begin(), codegen_s.end(), 0.0);
  times_.emit_s = wall * emit / (emit + codegen);
  times_.codegen_s = wall - times_.emit_s;
  const std::vector<std::string> callers = callers_of(plan_);
  for (size_t i = 0; i < missing.size(); ++i) {
    const std::string shown =
        "graphc " + plan_.name + " " + callers[size_t(missing[i] - plan_.programs.data())];
    code_->cache->functions[key_of(*missing[i])] =
        reinterpret_cast<NestFunction>(code_->cache->jit.link(objects[i], kSymbol, shown));
  }
}

CompiledPlan::~CompiledPlan() = default;

void CompiledPlan::run(const std::vector<void*>& inputs, std::span<StoredState* const> states,
                       const std::vector<void*>& outputs) {
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
        bases_[i] = reinterpret_cast<char*>(states[index]->home().address());
        break;
      case Place::arena:
      case Place::constant:
      case Place::form:
        break;
    }
  }
  refresh_forms(states);
  code_->walker->run(bases_);
}

void CompiledPlan::begin_profile() { code_->walker->measure(&profile_.emplace()); }

std::vector<KernelTime> CompiledPlan::end_profile() {
  code_->walker->measure(nullptr);
  std::vector<KernelTime> times;
  if (profile_) times = profile_->times(plan_, lines_);
  profile_.reset();
  return times;
}

void CompiledPlan::refresh_forms(std::span<StoredState* const> states) {
  forms_.resize(plan_.forms.size());
  std::vector<size_t> stale;
  for (size_t i = 0; i < forms_.size(); ++i) {
    const PlanForm& form = plan_.forms[i];
    StoredState& state = *states[size_t(form.state(plan_.buffers))];
    if (forms_[i].state != &state) forms_[i] = {&state, state.form(form.key(), form.bytes())};
    const DerivedForm& held = *forms_[i].form;
    bases_[size_t(form.make.to.buffer)] = reinterpret_cast<char*>(held.data());
    const bool trusted = mutated(Mutant::stale_form_read) && held.made_from != 0;
    if (held.is_stale(state) && !trusted) stale.push_back(i);
  }
  if (stale.empty()) return;
  code_->walker->make_forms(bases_, stale);
  for (size_t i : stale) forms_[i].form->made_from = forms_[i].state->version();
}

std::string describe_tile(const NestProgram& program, const CpuFeatures& cpu) {
  const TileShape shape = tile_of(program, cpu);
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

/// The nest's number, tile and program, and who calls it, as comment lines.
std::string heading(const Plan& plan, size_t index, const CpuFeatures& cpu,
                    std::string_view comment) {
  const NestProgram& program = plan.programs[index];
  std::string text = fmt::format("{}nest {}, {}\n", comment, index, describe_tile(program, cpu));
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
  std::string text;
  for (size_t i = 0; i < plan.programs.size(); ++i) {
    CodeModule module(cpu, kSymbol);
    emit_nest(module, fmt::format("nest_{}", i), plan.programs[i], tile_of(plan.programs[i], cpu));
    text += heading(plan, i, cpu, stage == CodeText::llvm ? "; " : "# ");
    text += stage == CodeText::llvm ? module.ir_text() : jit.assembly(module);
  }
  return text;
}

}  // namespace graphc::cpu
