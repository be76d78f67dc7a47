// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "codegen/lower/lower.h"
#include "codegen/machine.h"
#include "tests/codegen/interpreter/interpreter.h"

namespace graphc::core::testing {
namespace {

class InterpretedPlan : public Executable {
 public:
  InterpretedPlan(Signature signature, Plan plan, Machine machine)
      : Executable(std::move(signature)),
        plan_(std::move(plan)),
        machine_(std::move(machine)),
        arena_(size_t(plan_.arena_bytes)),
        workers_(size_t(machine_.workers)) {
    std::iota(workers_.begin(), workers_.end(), 0);
  }

 private:
  void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
               std::span<Tensor> outputs) override {
    // Nothing may be found of the call before, and no order of the workers relied upon.
    std::ranges::fill(arena_, kNobodyWroteThis);
    std::ranges::reverse(workers_);
    std::vector<char*> bases;
    std::vector<std::vector<char>> forms(plan_.forms.size());
    for (Buffer& buffer : plan_.buffers) {
      const size_t i = size_t(buffer.index);
      switch (buffer.place) {
        case Place::arena:
          bases.push_back(arena_.data() + buffer.offset);
          break;
        case Place::input:
          bases.push_back(address_of(inputs[i]));
          break;
        case Place::state:
          bases.push_back(address_of(states[i]->home()));
          break;
        case Place::output:
          bases.push_back(address_of(outputs[i]));
          break;
        case Place::constant:
          bases.push_back(buffer.data.data());
          break;
        case Place::form:
          forms[i].assign(size_t(buffer.bytes), kNobodyWroteThis);
          bases.push_back(forms[i].data());
          break;
      }
    }
    interpret(plan_, machine_, workers_, bases);
  }

  static char* address_of(const Tensor& tensor) {
    return reinterpret_cast<char*>(const_cast<std::byte*>(tensor.address()));
  }

  static constexpr char kNobodyWroteThis = char(0xd1);

  Plan plan_;
  const Machine machine_;
  std::vector<char> arena_;
  std::vector<int> workers_;
};

/// Two workers unless told otherwise, so that shares differ from the whole.
Machine machine_of(const CompileOptions& options) {
  return interpreted_machine(options.threads > 0 ? options.threads : 2);
}

std::unique_ptr<Executable> compile_to_interpret(const GraphPtr& graph,
                                                 const CompileOptions& options,
                                                 CompileReport& report) {
  const GraphPtr kernels = form_kernels_for(graph, options, report);
  const Machine machine = machine_of(options);
  Plan plan = make_plan(*kernels, machine);
  report.lap(&CompileReport::plan_s);
  report.peak_bytes = plan.arena_bytes;
  return std::make_unique<InterpretedPlan>(signature_of(*graph), std::move(plan), machine);
}

std::string show_plan(const GraphPtr& graph, const CompileOptions& options, std::string_view) {
  CompileReport report;
  return print(make_plan(*form_kernels_for(graph, options, report), machine_of(options)));
}

TileShape tile_of(const Machine& machine, const NestProgram& program) {
  return {.lanes = machine.lanes, .vectors = program.kind == NestKind::row_wise ? 1 : 3, .rows = 2};
}

constexpr std::array kPrecisions{Precision::f32};
constexpr std::array<std::string_view, 5> kOptions{"threads", "variant", "unroll", "remat",
                                                   "recurrence"};
constexpr std::array<std::string_view, 1> kStages{"plan"};

}  // namespace

Machine interpreted_machine(int workers) {
  Machine machine;
  machine.target = "the plan interpreter";
  machine.lanes = 5;
  machine.tile_of = tile_of;
  machine.workers = workers;
  machine.block_bytes = 256;
  machine.products = {{DType::f32, DType::f32, DType::f32, 2},
                      {DType::f64, DType::f64, DType::f64, 1}};
  return machine;
}

constinit const Target plan_interpreter{
    .name = "plan-interpreter",
    .summary = "plans for a machine unlike any other, interpreted",
    .precisions = kPrecisions,
    .options = kOptions,
    .unavailable = [] { return std::string(); },
    .compile = compile_to_interpret,
    .stages = kStages,
    .show = show_plan,
};

}  // namespace graphc::core::testing
