// SPDX-License-Identifier: Apache-2.0
// A graph compiled for the CPU target, to be run on literals.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile.h"
#include "codegen/target.h"
#include "ir/literal.h"
#include "ir/text.h"

namespace graphc::core::testing {

class Compiled {
 public:
  /// For a graph without states. `cpu` is CompileOptions::architecture.
  Compiled(const GraphPtr& graph, int threads, const std::string& cpu = "",
           std::shared_ptr<Arena> arena = nullptr) {
    CompileReport report;
    executable_ =
        compile(graph, targets::cpu,
                {.architecture = cpu, .threads = threads, .cpu = {.arena = arena}}, report);
  }
  Compiled(std::string_view text, int threads, const std::string& cpu = "")
      : Compiled(parse_graph(text), threads, cpu) {}

  std::vector<Literal> run(const std::vector<Literal>& given) {
    std::vector<Tensor> inputs(given.begin(), given.end()), outputs;
    for (const Argument& output : executable_->signature().outputs)
      outputs.emplace_back(output.type);
    executable_->run(inputs, outputs);
    std::vector<Literal> results;
    for (const Tensor& output : outputs) results.push_back(output.copy());
    return results;
  }

 private:
  std::unique_ptr<Executable> executable_;
};

}  // namespace graphc::core::testing
