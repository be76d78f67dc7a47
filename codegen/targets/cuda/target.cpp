// SPDX-License-Identifier: Apache-2.0
// The CUDA target: kernels as text through NVRTC, a plan as launches, a step as one CUDA graph.
#include "codegen/target.h"

#include <algorithm>
#include <array>

#include "codegen/lower/lower.h"
#include "codegen/step/serialize.h"
#include "codegen/targets/cuda/form_kernels.h"
#include "codegen/targets/cuda/launches/code.h"
#include "codegen/targets/cuda/launches/executable.h"
#include "codegen/targets/cuda/launches/merge.h"
#include "codegen/targets/cuda/launches/speed_model.h"
#include "codegen/targets/cuda/launches/split_product.h"
#include "codegen/targets/cuda/libraries/library_product.h"
#include "codegen/targets/cuda/machine.h"
#include "codegen/targets/cuda/ranks/device_ranks.h"
#include "ir/error.h"
#include "ir/text.h"
#include "ir/utf8.h"
#include "passes/library_layers.h"
#include "runtime/cuda/cudnn.h"
#include "runtime/cuda/nvrtc.h"

namespace graphc::core {
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

/// The architecture to compile for: that of the options, which must be the GPU's, or the best for
/// it.
std::string architecture_on(const cuda::Device& device, const CompileOptions& options) {
  const std::string& wanted = options.architecture;
  if (wanted.empty()) return device.architecture();
  const int number = device.properties().major * 10 + device.properties().minor;
  if (cuda::architecture_number(wanted) == number) return wanted;
  throw resource_error("target 'cuda:{}' cannot run here: the GPU is of architecture sm_{}", wanted,
                       number);
}

/// What is compiled, for which device, and the code of earlier compilations.
struct Compilation {
  const GraphPtr& graph;
  const cuda::DevicePtr device;
  const cuda::CodeOptions code;
  CompileReport& report;
};

using GpuExecutablePtr = std::unique_ptr<cuda::GpuExecutable>;

GraphPtr form_kernels(const Compilation& all, const CompileOptions& options) {
  return cuda::form_gpu_kernels(all.graph, options,
                                cuda::gpu_machine(options.precision, all.code.architecture),
                                int64_t(all.device->properties().memory_bytes), all.report);
}

/// `kernels`: the graph after the passes of the options' variant.
GpuExecutablePtr compile_kernels(const Compilation& all, const GraphPtr& kernels,
                                 const CompileOptions& options) {
  CompileReport& report = all.report;
  Plan plan = make_plan(*kernels, cuda::gpu_machine(options.precision, all.code.architecture));
  report.lap(&CompileReport::plan_s);
  auto executable = std::make_unique<cuda::GpuExecutable>(signature_of(*all.graph), std::move(plan),
                                                          all.device, options, all.code, report);
  for (const cuda::Launch& launch : executable->launches().step) {
    if (!launch.note.empty())
      report.remarks.push_back({"placement",
                                executable->launches().kernels[size_t(launch.kernel)].name,
                                {},
                                launch.note});
    if (launch.nests.size() > 1)
      report.remarks.push_back({"launches",
                                executable->launches().kernels[size_t(launch.kernel)].name,
                                {},
                                cuda::nests_text(launch)});
  }
  const cuda::Branches& branches = executable->branches();
  if (branches.streams > 1)
    report.remarks.push_back(
        {"launches", std::string(all.graph->name()), {}, cuda::branches_text(branches)});
  report.peak_bytes = executable->step_bytes();
  return executable;
}

GpuExecutablePtr compile_variant(const Compilation& all, const CompileOptions& options) {
  return compile_kernels(all, form_kernels(all, options), options);
}

bool has_layers(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return is_done_by_library(node) ||
           std::ranges::any_of(node.regions,
                               [](const GraphPtr& region) { return has_layers(*region); });
  });
}

/// The result of comparing the variants `fused` and `cudnn`.
struct Faster {
  GpuExecutablePtr executable;  ///< null if the choice was stored earlier
  std::string variant, note;
  bool were_both_tried = true;
};

/// Compiles both and measures them. A failure of the library becomes a remark.
Faster try_both(const Compilation& all, const CompileOptions& own, const CompileOptions& library,
                const GraphPtr& with_layers) {
  Faster found{compile_variant(all, own), own.variant, "", true};
  GpuExecutablePtr theirs;
  try {
    theirs = compile_kernels(all, with_layers, library);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::resource) throw;
    found.note = ", without cudnn: " + error.message();
    found.were_both_tried = false;
    return found;
  }
  const float own_ms = found.executable->milliseconds_of_step();
  const float their_ms = theirs->milliseconds_of_step();
  all.report.lap(&CompileReport::tune_s);
  found.note = fmt::format("; fused: {:.3f} ms a step, cudnn {:.3f} ms", own_ms, their_ms);
  if (their_ms < own_ms) {
    found.executable = std::move(theirs);
    found.variant = library.variant;
  }
  return found;
}

/// The faster of `fused` and `cudnn`: both are tried once for a graph, a device and a library.
GpuExecutablePtr compile_faster(const Compilation& all, CompileOptions options) {
  CompileOptions library = options;
  library.variant = "cudnn";
  options.variant = "fused";
  if (!cuda::cudnn_present()) return compile_variant(all, options);
  // A trial of a step waits for the other ranks, which may know the choice and try nothing.
  if (options.ranks.count > 1) {
    all.report.remarks.push_back({"variant",
                                  "",
                                  {},
                                  "fused is used: with several ranks cudnn is not tried, but "
                                  "--variant=cudnn uses it"});
    return compile_variant(all, options);
  }
  const GraphPtr with_layers = form_kernels(all, library);
  if (!has_layers(*with_layers)) return compile_kernels(all, with_layers, library);
  const std::string key = fmt::format(
      "cuDNN {} or our own on {}, {}, precision {}, placement {}, products {}, memory {}\n{}",
      cuda::cudnn_library().version, all.device->properties().name, all.code.architecture,
      name_of(options.precision), name_of(options.cuda.placement), name_of(options.cuda.products),
      options.memory, print(*all.graph));
  Faster found;
  found.note = ", as decided before";
  const std::string chosen = cuda::Choices(all.code.files).get(key, [&] {
    found = try_both(all, options, library, with_layers);
    // A failure may be temporary, so it is not stored.
    return found.were_both_tried ? found.variant : std::string();
  });
  if (!chosen.empty()) found.variant = chosen;
  all.report.remarks.push_back({"variant", "", {}, found.variant + " is used" + found.note});
  if (found.executable) return std::move(found.executable);
  return found.variant == library.variant ? compile_kernels(all, with_layers, library)
                                          : compile_variant(all, options);
}

std::unique_ptr<Executable> compile_cuda(const GraphPtr& graph, const CompileOptions& options,
                                         CompileReport& report) {
  const cuda::KeptContext context;
  const cuda::DevicePtr device = cuda::device_of(options.ranks.engine.get(), options.cuda.device);
  const Compilation all{graph,
                        device,
                        {architecture_on(*device, options),
                         options.disk_cache ? file_cache_of_environment() : FileCache()},
                        report};
  if (const auto& ranks = options.ranks.engine; ranks != nullptr && ranks->count() > 1) {
    report.remarks.push_back(
        {"ranks",
         std::string(graph->name()),
         {},
         fmt::format("rank {} of {} computes on GPU {}, {}", ranks->rank(), ranks->count(),
                     device->ordinal(), device->properties().name)});
  }
  report.lap(&CompileReport::driver_s);
  return options.variant == "auto" ? compile_faster(all, options) : compile_variant(all, options);
}

void clear_caches() {
  cuda::clear_code_cache();
  cuda::Choices::clear();
}

constexpr std::array<std::string_view, 7> kCudaOptions{
    "variant", "unroll", "remat", "recurrence", "memory", "placement", "products"};
constexpr std::array<std::string_view, 4> kCudaStages{"plan", "step", "cuda", "ptx"};

/// The default architecture for showing stages without a GPU.
constexpr const char* kShownArchitecture = "sm_90a";

/// The placements of a plan's loops, and the nests merged into one launch, a line each.
std::string launches_text(const cuda::Launches& launches) {
  std::string text;
  for (const std::string& note : launches.notes) text += note + "\n";
  for (const cuda::Launch& launch : launches.step) {
    if (launch.kernel < 0) continue;  // a library's
    const std::string& name = launches.kernels[size_t(launch.kernel)].name;
    if (!launch.note.empty()) text += fmt::format("loop {}: {}\n", name, launch.note);
    if (launch.nests.size() > 1) text += cuda::nests_text(launch) + "\n";
  }
  return text;
}

/// The exchanges between ranks, a line each.
std::string exchanges_text(const cuda::Launches& launches) {
  std::string text;
  for (const cuda::Launch& launch : launches.step) {
    if (launch.exchange == nullptr) continue;
    const bool gathers = launch.exchange->kind == cuda::DeviceExchange::Kind::all_gather;
    text += fmt::format("exchange %{}: {} bytes of each of {} ranks {}\n",
                        std::get<ExternCall>(launch.record->call).name, launch.exchange->bytes,
                        launches.ranks, gathers ? "to all" : "to each other rank");
  }
  return text;
}

/// Products whose terms blocks divide, and those that cuBLASLt computes, or might compute, a line
/// each.
std::string products_text(const cuda::Launches& launches, const CompileOptions& options) {
  std::string text;
  for (const cuda::Launch& launch : launches.step) {
    if (launch.split != nullptr)
      text += fmt::format("product {}: the terms in {} parts, which a second launch adds\n",
                          launches.kernels[size_t(launch.kernel)].name, launch.split->parts);
    if (launch.by_library == nullptr) continue;
    text += fmt::format("product {}: {} by {}{}\n", launches.kernels[size_t(launch.kernel)].name,
                        launch.by_library->shape.text(),
                        options.cuda.products == cuda::Products::cublaslt
                            ? "cuBLASLt"
                            : "cuBLASLt where that is faster",
                        launch.by_library->rest ? ", the rest by a kernel" : "");
  }
  return text;
}

/// The products by a library to show: those that the options request and, for a plan, those that
/// would be tried on a device.
cuda::Alternatives shown_alternatives(const CudaOptions& options, std::string_view stage) {
  cuda::Alternatives all;
  if (options.products == cuda::Products::cublaslt) all.products = 0;
  if (options.products == cuda::Products::either && stage == "plan")
    all.products = options.least_tried_work;
  return all;
}

/// The prediction of the speed model for a step.
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
  const cuda::Gpu gpu = cuda::gpu_of(options.architecture);
  const Machine machine = cuda::gpu_machine(options.precision, architecture);
  const Plan plan = make_plan(
      *cuda::form_gpu_kernels(graph, options, machine, gpu.memory_bytes, report), machine);
  if (stage == "step") return step_text(plan);
  const cuda::Launches launches =
      cuda::make_launches(plan, gpu, options.cuda.placement, cuda::Merging::together,
                          shown_alternatives(options.cuda, stage));
  if (stage == "plan")
    return print(plan) + launches_text(launches) + products_text(launches, options) +
           exchanges_text(launches) + cuda::branches_text(cuda::branches_of(launches.step)) + "\n" +
           speed_text(plan, launches, options);
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
  if (!options.architecture.empty()) cuda::architecture_number(options.architecture);
}

}  // namespace

constinit const Target targets::cuda{
    .name = "cuda",
    .summary = "NVIDIA GPUs: CUDA text through NVRTC",
    .precisions = cuda::kPrecisions,
    .kernels = {.stores_bf16 = true, .copies_factors = true},
    .kernels_for =
        [](const CompileOptions& options) {
          return cuda::gpu_traits(options, cuda::gpu_of(options.architecture).memory_bytes);
        },
    .options = kCudaOptions,
    .has_architectures = true,
    .has_layers = true,
    .open = open_cuda,
    .unavailable = why_not,
    .compile = compile_cuda,
    .clear_code_cache = clear_caches,
    .objects_made = cuda::kernels_made,
    .check_options = check_cuda_options,
    .stages = kCudaStages,
    .show = show_cuda,
};

}  // namespace graphc::core
