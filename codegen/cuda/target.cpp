// SPDX-License-Identifier: Apache-2.0
// The CUDA target: kernels as text through NVRTC, a plan as launches, a step as one CUDA graph.
#include "codegen/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "codegen/cuda/code.h"
#include "codegen/cuda/executable.h"
#include "codegen/cuda/machine.h"
#include "codegen/cuda/speed_model.h"
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

void open_cuda(CompileReport& report) {
  const bool driver = cuda::driver_present();
  report.lap(&CompileReport::driver_s);
  if (driver) cuda::nvrtc_present();
  report.lap(&CompileReport::library_s);
}

/// What to compile for: what the options say, which must be the GPU's, or what suits it best.
std::string architecture_on(const cuda::Device& device, const CompileOptions& options) {
  const std::string& wanted = options.architecture;
  if (wanted.empty()) return device.architecture();
  const int number = device.properties().major * 10 + device.properties().minor;
  if (cuda::architecture_number(wanted) == number) return wanted;
  throw resource_error("target 'cuda:{}' cannot run here: the GPU is of architecture sm_{}", wanted,
                       number);
}

std::unique_ptr<Executable> compile_cuda(const GraphPtr& graph, const CompileOptions& options,
                                         CompileReport& report) {
  const cuda::DevicePtr device = cuda::Device::open();
  const cuda::CodeOptions code{architecture_on(*device, options),
                               options.disk_cache ? file_cache_of_environment() : FileCache()};
  report.lap(&CompileReport::driver_s);
  const GraphPtr kernels = form_kernels_for(graph, options, report);
  Plan plan = make_plan(*kernels, cuda::gpu_machine(options.precision, code.architecture));
  report.lap(&CompileReport::plan_s);
  auto executable = std::make_unique<cuda::GpuExecutable>(signature_of(*graph), std::move(plan),
                                                          device, options.placement, code, report);
  for (const cuda::Launch& launch : executable->launches().step) {
    if (!launch.note.empty())
      report.remarks.push_back({"placement",
                                executable->launches().kernels[size_t(launch.kernel)].name,
                                {},
                                launch.note});
  }
  report.peak_bytes = executable->plan().arena_bytes;
  return executable;
}

constexpr std::array<std::string_view, 3> kCudaOptions{"variant", "unroll", "placement"};
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

/// What the model of speed says of a step.
std::string speed_text(const Plan& plan, const cuda::Launches& launches,
                       const CompileOptions& options) {
  const std::string name = options.architecture.empty() ? kShownArchitecture : options.architecture;
  const cuda::GpuFigures* figures = cuda::gpu_figures(name);
  if (figures == nullptr)
    return fmt::format("no model of the speed of {}: there are {}\n", name,
                       cuda::known_gpu_figures());
  return cuda::print(cuda::predict(plan, launches, *figures), *figures);
}

std::string show_cuda(const GraphPtr& graph, const CompileOptions& options,
                      std::string_view stage) {
  CompileReport report;
  const std::string architecture =
      options.architecture.empty() ? kShownArchitecture : options.architecture;
  const Plan plan = make_plan(*form_kernels_for(graph, options, report),
                              cuda::gpu_machine(options.precision, architecture));
  const cuda::Launches launches =
      cuda::make_launches(plan, cuda::gpu_of(options.architecture), options.placement);
  if (stage == "plan")
    return print(plan) + loops_text(launches) + speed_text(plan, launches, options);
  std::string text;
  for (const cuda::KernelText& kernel : launches.kernels) {
    if (!text.empty()) text += "\n";
    text += stage == "cuda" ? kernel.text
                            : cuda::ptx_of(kernel.text, kernel.name + ".cu", architecture,
                                           cuda::compiler_options());
  }
  return text;
}

void check_cuda_options(const CompileOptions& options) {
  if (std::ranges::find(kPlacements, options.placement) == kPlacements.end()) {
    throw Error(ErrorKind::usage, {},
                fmt::format("--placement: unknown placement '{}': there is {}", options.placement,
                            fmt::join(kPlacements, ", ")));
  }
  if (!options.architecture.empty()) cuda::architecture_number(options.architecture);
}

}  // namespace

constinit const Target targets::cuda{
    .name = "cuda",
    .summary = "NVIDIA GPUs: CUDA text through NVRTC",
    .precisions = cuda::kPrecisions,
    .options = kCudaOptions,
    .has_architectures = true,
    .open = open_cuda,
    .unavailable = why_not,
    .compile = compile_cuda,
    .clear_code_cache = cuda::clear_code_cache,
    .objects_made = cuda::kernels_made,
    .check_options = check_cuda_options,
    .stages = kCudaStages,
    .show = show_cuda,
};

}  // namespace graphc
