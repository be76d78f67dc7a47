// SPDX-License-Identifier: Apache-2.0
// The CUDA target: kernels as text through NVRTC, a plan as launches, a step as one CUDA graph.
#include "codegen/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <regex>

#include "codegen/cuda/code.h"
#include "codegen/cuda/executable.h"
#include "codegen/cuda/machine.h"
#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/cuda/nvrtc.h"

namespace graphc {
namespace {

std::string why_not() {
  std::string reason;
  if (!cuda::driver_present(&reason)) return printable_message(reason);
  if (!cuda::nvrtc_present(&reason)) return printable_message(reason);
  if (cuda::Device::count() == 0) return "the driver finds no GPU";
  return {};
}

std::unique_ptr<Executable> compile_cuda(const GraphPtr& graph, const CompileOptions& options,
                                         CompileReport& report) {
  const GraphPtr kernels = form_kernels_for(graph, options, report);
  const cuda::DevicePtr device = cuda::Device::open();
  if (!options.cpu.empty() && options.cpu != device->architecture()) {
    throw resource_error("target 'cuda:{}' cannot run here: the GPU is of architecture {}",
                         options.cpu, device->architecture());
  }
  auto executable = std::make_unique<cuda::GpuExecutable>(signature_of(*graph), *kernels, device,
                                                          options.placement);
  report.lap(&CompileReport::allocate_s);
  for (const cuda::Launch& launch : executable->launches().step) {
    if (!launch.note.empty())
      report.remarks.push_back({"placement",
                                executable->launches().kernels[size_t(launch.kernel)].name,
                                {},
                                launch.note});
  }
  const cuda::PlanTimes& times = executable->times();
  report.plan_s += times.plan_s;
  report.emit_s += times.emit_s;
  report.codegen_s += times.codegen_s;
  report.link_s += times.link_s;
  // The rest opened the device and took memory.
  report.allocate_s -= times.plan_s + times.emit_s + times.codegen_s + times.link_s;
  report.kernels += times.kernels;
  report.cache_hits += times.cache_hits;
  report.peak_bytes = executable->plan().arena_bytes;
  return executable;
}

constexpr std::array<std::string_view, 1> kCudaPrecisions{"f32"};
constexpr std::array<std::string_view, 4> kCudaOptions{"variant", "unroll", "placement",
                                                       "architecture"};
constexpr std::array<std::string_view, 4> kPlacements{"auto", "streamed", "grid", "block"};
constexpr std::array<std::string_view, 3> kCudaStages{"plan", "cuda", "ptx"};

/// The architecture that stages are shown for where no GPU says otherwise.
constexpr const char* kShownArchitecture = "sm_90a";

/// How the loops of a plan are placed, a line each.
std::string loops_text(const cuda::Launches& launches) {
  std::string text;
  for (const cuda::Launch& launch : launches.step) {
    if (!launch.note.empty())
      text +=
          fmt::format("loop {}: {}\n", launches.kernels[size_t(launch.kernel)].name, launch.note);
  }
  return text;
}

std::string show_cuda(const GraphPtr& graph, const CompileOptions& options,
                      std::string_view stage) {
  CompileReport report;
  const Plan plan = make_plan(*form_kernels_for(graph, options, report), cuda::gpu_machine());
  const cuda::Launches launches =
      cuda::make_launches(plan, cuda::gpu_of(options.cpu), options.placement);
  if (stage == "plan") return print(plan) + loops_text(launches);
  std::string text;
  for (const cuda::KernelText& kernel : launches.kernels) {
    if (!text.empty()) text += "\n";
    text += stage == "cuda" ? kernel.text
                            : cuda::ptx_of(kernel.text, kernel.name + ".cu",
                                           options.cpu.empty() ? kShownArchitecture : options.cpu,
                                           cuda::compiler_options());
  }
  return text;
}

/// sm_80, sm_90a: what a kernel can be compiled for; and where matrices can lie.
void check_cuda_options(const CompileOptions& options) {
  if (std::ranges::find(kPlacements, options.placement) == kPlacements.end()) {
    throw Error(ErrorKind::usage, {},
                fmt::format("--placement: unknown placement '{}': there is {}", options.placement,
                            fmt::join(kPlacements, ", ")));
  }
  static const std::regex architecture("sm_[0-9]+[af]?");
  if (options.cpu.empty() || std::regex_match(options.cpu, architecture)) return;
  throw Error(ErrorKind::usage, {},
              fmt::format("'{}' is no architecture: wanted one like sm_80 or sm_90a", options.cpu));
}

}  // namespace

constinit const Target targets::cuda{
    .name = "cuda",
    .summary = "NVIDIA GPUs: CUDA text through NVRTC",
    .precisions = kCudaPrecisions,
    .options = kCudaOptions,
    .unavailable = why_not,
    .compile = compile_cuda,
    .clear_code_cache = cuda::clear_code_cache,
    .objects_made = cuda::kernels_made,
    .check_options = check_cuda_options,
    .stages = kCudaStages,
    .show = show_cuda,
};

}  // namespace graphc
