// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cpu/code_of.h"

#include <algorithm>
#include <regex>
#include <set>
#include <utility>

#include "codegen/lower/lower.h"
#include "codegen/step/plan.h"
#include "codegen/targets/cpu/emit/emit_nest.h"
#include "codegen/targets/cpu/jit/code_module.h"
#include "codegen/targets/cpu/jit/jit.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/targets/cpu/target.h"

namespace graphc::core::cpu {

std::vector<Instruction> code_of(const GraphPtr& graph, const CpuFeatures& cpu,
                                 const CompileOptions& options) {
  CompileReport report;
  const Machine machine = machine_of(cpu, 1, factors_of(options.precision));
  const Plan plan = make_plan(*form_cpu_kernels(graph, options, report), machine);
  Jit jit(cpu);
  std::vector<Instruction> all;
  const auto add = [&](CodeModule&& module) {
    for (Instruction& each : disassemble(jit.compile(std::move(module))))
      all.push_back(std::move(each));
  };
  std::set<std::string> shared;
  for (const NestProgram& program : plan.programs) {
    CodeModule module(cpu, "nest");
    emit_nest(module, "nest", program);
    add(std::move(module));
    for (const SharedCode& code : shared_code_of(program)) {
      if (!shared.insert(code.symbol).second) continue;
      CodeModule called(cpu, code.symbol);
      code.emit(called);
      add(std::move(called));
    }
  }
  return all;
}

int64_t count_of(const std::vector<Instruction>& code, const std::string& pattern) {
  const std::regex wanted(pattern);
  return std::ranges::count_if(
      code, [&](const Instruction& each) { return std::regex_search(each.text, wanted); });
}

}  // namespace graphc::core::cpu
