// SPDX-License-Identifier: Apache-2.0
// The stages of the CPU target as readable text: kernels, plan, LLVM IR, assembly.
#include <algorithm>

#include "codegen/lower/lower.h"
#include "codegen/step/serialize.h"
#include "codegen/targets/cpu/compiled_plan.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/targets/cpu/target.h"
#include "ir/cases.h"
#include "ir/scan.h"
#include "ir/text.h"
#include "passes/kernels/kernel.h"

namespace graphc::core::cpu {
namespace {

std::string show_plan(const Plan& plan) {
  int64_t bytes[6] = {plan.arena_bytes, 0, 0, 0, 0, 0};
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.place != Place::arena) bytes[size_t(buffer.place)] += buffer.bytes;
  }
  return print(plan) +
         fmt::format(
             "peak: arena {} bytes, inputs {}, states {}, outputs {}, constants {}, forms {}\n",
             bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
}

const char* kind_name(RowKind kind) {
  switch (kind) {
    case RowKind::full:
      return "rows and columns";
    case RowKind::row:
      return "one a row";
    case RowKind::column:
      return "one a column";
    case RowKind::scalar:
      return "one";
  }
  return "";
}

/// The lines of what a kernel computes, each with its place in the row model, if there is one.
std::string body_text(const Kernel& kernel, const std::string& indent) {
  const Graph& body = kernel.step();
  const std::optional<RowModel>& rows = kernel.rows();
  std::string text;
  if (rows) text += fmt::format("{}{} rows, stages 0..{}\n", indent, rows->rows(), rows->stages);
  for (const Node& node : body.nodes()) {
    if (node.is(ops::input)) continue;
    text += indent + print(node);
    if (rows && node.results() > 0) {
      const graphc::core::Value value = node.result();
      text +=
          fmt::format("  # stage {}, {}", rows->stage_of(value), kind_name(rows->kind_of(value)));
      if (const int parts = rows->parts_of(value); parts > 1)
        text += fmt::format(", {} parts of {}", parts, rows->unit_of(value));
    }
    text += "\n";
  }
  return text + fmt::format("{}return {}\n", indent, [&] {
           std::vector<std::string> names;
           for (graphc::core::Value result : body.results()) names.push_back("%" + result.name());
           return fmt::format("{}", fmt::join(names, ", "));
         }());
}

class KernelText {
 public:
  KernelText(const Plan& plan, const CpuFeatures& cpu) : plan_(plan), cpu_(cpu) {}

  /// The kernels of a graph, and those inside its loops.
  void add(const Graph& graph, const std::string& indent) {
    for (const Node& node : graph.nodes()) {
      if (node.is(ops::kernel)) add_kernel(node, indent);
      if (!node.is(ops::scan)) continue;
      const Scan scan(node);
      text_ += fmt::format("{}loop %{}: {} steps\n", indent, name_of_node(node), scan.steps());
      add(scan.body(), indent + "  ");
    }
  }

  std::string text() const {
    std::string out = text_;
    for (size_t i = 0; i < plan_.programs.size(); ++i)
      out += fmt::format("nest {}, {}: {}", i, tile_text(i), plan_.programs[i].text());
    return out;
  }

 private:
  static std::string name_of_node(const Node& node) {
    return node.names.empty() ? "" : node.names[0];
  }

  void add_kernel(const Node& node, const std::string& indent) {
    std::vector<std::string> types;
    for (const Type& type : node.types) types.push_back(to_string(type));
    const Kernel kernel(node);
    text_ += fmt::format("{}kernel %{}: {}, family {}\n", indent, name_of_node(node),
                         fmt::join(types, ", "), name_of(kernel.family()));
    if (kernel.family() == Family::recurrent) {
      const Scan scan(kernel.first());
      text_ += fmt::format("{}  {} steps{}\n", indent, scan.steps(),
                           scan.reverse() ? ", backwards" : "");
    }
    text_ += body_text(kernel, indent + "  ");
    std::vector<int> nests;
    for (const Record& record : plan_.records) find_nests(record, name_of_node(node), false, nests);
    for (const int nest : nests)
      text_ += fmt::format("{}  nest {}, {}\n", indent, nest, tile_text(size_t(nest)));
  }

  /// The nests that the records of a kernel call, each once, in order.
  static void find_nests(const Record& record, const std::string& kernel, bool inside,
                         std::vector<int>& nests) {
    const auto body = [&](const std::vector<Record>& records, bool own) {
      for (const Record& inner : records) find_nests(inner, kernel, own, nests);
    };
    std::visit(
        Cases{[&](const NestCall& call) {
                if ((inside || call.name == kernel) && !std::ranges::count(nests, call.program))
                  nests.push_back(call.program);
              },
              [](const PanelCall&) {}, [](const TableCall&) {}, [](const ExternCall&) {},
              [&](const LoopCall& loop) {
                body(loop.body,
                     inside || (loop.name == kernel && record.family == Family::recurrent));
              },
              [&](const BlockCall& block) { body(block.body, inside); }},
        record.call);
  }

  std::string tile_text(size_t nest) const { return describe_tile(plan_.programs[nest]); }

  const Plan& plan_;
  const CpuFeatures& cpu_;
  std::string text_;
};

}  // namespace

std::string show(const GraphPtr& graph, const CompileOptions& options, std::string_view stage) {
  CompileReport report;
  const GraphPtr kernels = form_cpu_kernels(graph, options, report);
  const CpuFeatures cpu = cpu_of(options);
  const Plan plan = make_plan(
      *kernels, machine_of(cpu, team_size(*kernels, options), factors_of(options.precision)));
  if (stage == "plan") return show_plan(plan);
  if (stage == "step") return step_text(plan);
  if (stage == "llvm") return code_text(plan, cpu, CodeText::llvm);
  if (stage == "asm") return code_text(plan, cpu, CodeText::assembly);
  GRAPHC_CHECK(stage == "kernels", "the CPU target has no stage '{}'", stage);
  KernelText text(plan, cpu);
  text.add(*kernels, "");
  return text.text();
}

}  // namespace graphc::core::cpu
