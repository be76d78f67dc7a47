// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/kernel_texts.h"

#include <fmt/format.h>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/testing/op_cases.h"

namespace graphc::core::testing {

void add_kernels(const GraphPtr& graph, std::string_view architecture, const char* variant,
                 KernelTexts& texts, Precision precision,
                 std::optional<cuda::Placement> placement) {
  CompileReport report;
  const GraphPtr kernels = form_kernels_for(graph, {.precision = precision, .variant = variant},
                                            report, targets::cuda.kernels);
  const Plan plan = make_plan(*kernels, cuda::gpu_machine(precision));
  for (const cuda::KernelText& kernel :
       cuda::make_launches(plan, cuda::gpu_of(architecture), placement).kernels)
    texts.emplace(kernel.text, kernel.name);
}

KernelTexts texts_of_ops(std::string_view architecture) {
  KernelTexts texts;
  for (const Op* op : sampled_ops())
    add_kernels(op_cases(*op)[0].graph, architecture, "fused", texts);
  return texts;
}

KernelTexts texts_of_model(std::string_view architecture, const std::string& model,
                           const std::vector<std::string>& parameters) {
  KernelTexts texts;
  const auto program = make_program(model, parameters);
  for (const char* variant : {"fused", "basic"}) {
    add_kernels(program->model().trace("train", program->extents("train")).graph, architecture,
                variant, texts);
  }
  return texts;
}

KernelTexts texts_of_lstm(std::string_view architecture) {
  KernelTexts texts;
  const auto lstm = make_program("lstm-layer", {"hidden=64", "steps=5", "batch=8"});
  const GraphPtr graph = lstm->model().trace("train", lstm->extents("train")).graph;
  std::vector placements{cuda::Placement::streamed, cuda::Placement::grid, cuda::Placement::block,
                         cuda::Placement::launches};
  if (cuda::gpu_of(architecture).has_clusters()) placements.push_back(cuda::Placement::cluster);
  for (const cuda::Placement placement : placements)
    add_kernels(graph, architecture, "fused", texts, Precision::f32, placement);
  add_kernels(graph, architecture, "basic", texts);
  return texts;
}

KernelTexts texts_of_a_loop_of_many_shapes(std::string_view architecture) {
  std::string states, body, before = "%h";
  for (int i = 0; i < 9; ++i) {
    const int rows = i == 0 ? 5 : 6 + i, columns = i == 8 ? 5 : 7 + i;
    states += fmt::format("{}%u{}: f32[{},{}]", i > 0 ? ", " : "", i, rows, columns);
    body += fmt::format("    %n{0} = tanh(matmul({1}, %u{0}))\n", i, before);
    before = fmt::format("%n{}", i);
  }
  const std::string text = fmt::format(
      "graph @g(%x: f32[4,3,5], %h0: f32[3,5]) state ({0}) {{\n"
      "  %h.e = scan %x.t in %x carry %h = %h0 with %u0, %u1, %u2, %u3, %u4, %u5, %u6, %u7, %u8 "
      "{{\n"
      "{1}    next %h = add(%n8, %x.t)\n  }}\n  return %h.e\n}}",
      states, body);
  KernelTexts texts;
  for (const auto placement : {cuda::Placement::grid, cuda::Placement::block})
    add_kernels(parse_graph(text), architecture, "fused", texts, Precision::f32, placement);
  return texts;
}

KernelTexts texts_on_tensor_cores(std::string_view architecture,
                                  const std::vector<Precision>& precisions) {
  KernelTexts texts;
  const auto lstm = make_program("lstm-layer", {"hidden=64", "steps=5", "batch=32"});
  for (Precision precision : precisions) {
    for (const char* shapes : {"%a: f32[9,64], %b: f32[64,16]", "%a: f32[40,64], %b: f32[64,24]",
                               "%a: f32[99,64], %b: f32[64,960]"}) {
      for (const int parts : {1, 4, 8}) {
        std::string names = "%p0", sum = "%p0";
        for (int part = 1; part < parts; ++part) {
          names += fmt::format(", %p{}", part);
          sum = fmt::format("tanh(add(%p{}, {}))", part, sum);
        }
        add_kernels(
            parse_graph(fmt::format("graph @p({}) {{\n  {} = split(matmul(%a, %b)) {{axis = "
                                    "1, parts = {}}}\n  return {}\n}}",
                                    shapes, names, parts, sum)),
            architecture, "fused", texts, precision);
      }
    }
    add_kernels(lstm->model().trace("train", lstm->extents("train")).graph, architecture, "fused",
                texts, precision);
  }
  std::erase_if(texts,
                [](const auto& text) { return text.first.find("mma.sync") == std::string::npos; });
  return texts;
}

}  // namespace graphc::core::testing
