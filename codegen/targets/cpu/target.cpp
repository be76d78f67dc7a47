// SPDX-License-Identifier: Apache-2.0
// The CPU target: kernels through LLVM, a plan, and a team of threads that walks it.
#include "codegen/target.h"

#include <array>
#include <map>
#include <mutex>

#include "codegen/lower/lower.h"
#include "codegen/step/flop.h"
#include "codegen/targets/cpu/compiled_plan.h"
#include "codegen/targets/cpu/jit/jit.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/targets/cpu/support.h"
#include "codegen/targets/cpu/target.h"
#include "codegen/within_memory.h"
#include "ir/scan.h"
#include "runtime/cores.h"
#include "runtime/memory_size.h"

namespace graphc::core {
namespace {

/// One team for each number of threads, shared by all executables; sessions take turns. Ranks that
/// are threads of this process wait for each other in their steps: each has teams of its own.
std::shared_ptr<ThreadTeam> team_of(int threads, const Ranks* ranks) {
  static std::mutex mutex;
  static std::map<std::pair<int, const Ranks*>, std::weak_ptr<ThreadTeam>> teams;
  std::lock_guard lock(mutex);
  std::erase_if(teams, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<ThreadTeam>& known = teams[{threads, ranks}];
  if (std::shared_ptr<ThreadTeam> team = known.lock()) return team;
  auto team = std::make_shared<ThreadTeam>(threads);
  known = team;
  return team;
}

class CpuExecutable : public Executable {
 public:
  CpuExecutable(Signature signature, std::unique_ptr<cpu::CompiledPlan> program)
      : Executable(std::move(signature)), program_(std::move(program)) {}

  void begin_profile(Profiled what) override { program_->begin_profile(what); }
  RunProfile end_profile() override { return program_->end_profile(); }
  bool has_profile() const override { return true; }

 private:
  void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
               std::span<Tensor> outputs) override {
    inputs_.clear();
    outputs_.clear();
    // Emitted code only reads inputs.
    for (const Tensor& input : inputs) inputs_.push_back(const_cast<std::byte*>(input.address()));
    for (Tensor& output : outputs) outputs_.push_back(output.address());
    program_->run(inputs_, states, outputs_);
  }

  void prepare_states(std::span<StoredState* const> states) override { program_->prepare(states); }

  std::unique_ptr<cpu::CompiledPlan> program_;
  std::vector<void*> inputs_, outputs_;
};

std::unique_ptr<Executable> compile_cpu(const GraphPtr& graph, const CompileOptions& options,
                                        CompileReport& report) {
  const GraphPtr kernels = cpu::form_cpu_kernels(graph, options, report);
  // All threads compile, even for a plan that a single thread will run.
  const Ranks* const ranks = options.ranks.engine.get();
  const auto compilers = team_of(threads_of(options), ranks);
  auto program = std::make_unique<cpu::CompiledPlan>(
      *kernels, cpu::cpu_of(options), team_of(cpu::team_size(*kernels, options), ranks), *compilers,
      cpu::CodeOptions{factors_of(options.precision),
                       options.disk_cache ? file_cache_of_environment() : FileCache(),
                       options.cpu.arena, options.ranks.engine});
  report.lap(&CompileReport::allocate_s);
  const cpu::CompiledPlanTimes& times = program->times();
  const cpu::NestCodeTimes& nests = times.nests;
  report.plan_s += times.plan_s;
  report.emit_s += nests.emit_s;
  report.codegen_s += nests.codegen_s;
  report.link_s += nests.link_s;
  // The remaining time was spent on creating the threads and the arena.
  report.allocate_s -= times.plan_s + nests.emit_s + nests.codegen_s + nests.link_s;
  report.kernels += nests.kernels;
  report.cache_hits += nests.cache_hits;
  if (!nests.why_not_kept.empty())
    report.remarks.push_back({"cpu", "", {}, "kernels are not kept: " + nests.why_not_kept});
  report.peak_bytes = program->plan().arena_bytes;
  report.product_flop = product_flop(program->plan());
  return std::make_unique<CpuExecutable>(signature_of(*graph), std::move(program));
}

/// About ten microseconds of work on one core; waking a thread takes up to fifty.
constexpr double kWorkOfOneThread = 300e3;

/// The multiply-adds of a graph's products, plus the elements of all other results.
double work_of(const Graph& graph) {
  double work = 0;
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::input) || node.is(ops::constant)) continue;
    if (node.is(ops::scan)) {
      work += double(Scan(node).steps()) * work_of(Scan(node).body());
      continue;
    }
    for (const GraphPtr& region : node.regions) work += work_of(*region);
    if (!node.regions.empty()) continue;
    double each = 1;
    if (node.is(ops::matmul)) {
      const Shape& a = node.operands[0].shape();
      each = double(a[node.attributes.get_bool("transpose_a", false) ? -2 : -1]);
    }
    for (const Type& type : node.types) work += each * double(type.shape.elements());
  }
  return work;
}

std::vector<std::string> names_of_cpus() {
  std::vector<std::string> names;
  for (const cpu::CpuFeatures& cpu : cpu::cpus_of()) names.push_back(cpu.name);
  return names;
}

constexpr std::array<std::string_view, 7> kOptions{"threads",    "variant", "unroll", "remat",
                                                   "recurrence", "memory",  "cpu"};

}  // namespace

namespace cpu {

CpuFeatures cpu_of(const CompileOptions& options) {
  return options.architecture.empty() ? host_cpu() : cpu_named(options.architecture);
}

int team_size(const Graph& kernels, const CompileOptions& options) {
  if (options.threads > 0) return options.threads;
  return work_of(kernels) < kWorkOfOneThread ? 1 : default_thread_count();
}

GraphPtr form_cpu_kernels(const GraphPtr& graph, const CompileOptions& options,
                          CompileReport& report) {
  GraphPtr kernels = form_kernels_for(graph, options, report, targets::cpu.kernels);
  const StepMemory memory{options.memory > 0 ? options.memory : memory_size(), targets::cpu.kernels,
                          [&](const Graph& formed) {
                            const Machine machine =
                                machine_of(cpu_of(options), team_size(formed, options),
                                           factors_of(options.precision));
                            return make_plan(formed, machine).arena_bytes;
                          }};
  kernels = within_memory(graph, std::move(kernels), options, memory, report);
  check_supported(*kernels);
  return kernels;
}

}  // namespace cpu

constinit const Target targets::cpu{
    .name = "cpu",
    .summary = "machine code through LLVM, for this processor or a lesser one",
    .precisions = cpu::kPrecisions,
    .kernels = {.stores_bf16 = true, .keeps_rows_apart = true},
    .options = kOptions,
    .cpus = names_of_cpus,
    .unavailable = [] { return std::string(); },
    .compile = compile_cpu,
    .clear_code_cache = cpu::clear_code_cache,
    .objects_made = cpu::objects_linked,
    .check_options =
        [](const CompileOptions& options) {
          cpu::machine_of(cpu::cpu_of(options), 1, factors_of(options.precision));
        },
    .stages = cpu::kStages,
    .show = cpu::show,
};

}  // namespace graphc::core
