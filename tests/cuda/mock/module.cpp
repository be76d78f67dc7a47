// SPDX-License-Identifier: Apache-2.0
// The mock driver's modules, which are texts, and launches, which run in the emulator.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/cuda/emulator/run.h"
#include "tests/cuda/mock/state.h"

namespace graphc::core::cuda_mock {
namespace {

constexpr std::array<unsigned, 3> kMostGrid{2147483647, 65535, 65535}, kMostBlock{1024, 1024, 64};

/// Writes what is wrong with a text where the caller wants it; options that it does not know are
/// passed over.
void write_log(std::string_view text, unsigned options, const CUjit_option* names, void** values) {
  char* log = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < options; ++i) {
    if (names[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
    if (names[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      bytes = reinterpret_cast<uintptr_t>(values[i]);
  }
  if (log == nullptr || bytes == 0) return;
  const size_t kept = std::min(text.size(), bytes - 1);
  std::memcpy(log, text.data(), kept);
  log[kept] = '\0';
}

/// The function of a handle, if its module is still loaded.
Function* function_of(const State& all, CUfunction handle) {
  for (const auto& [ignored, module] : all.modules) {
    for (const auto& [name, function] : module->functions) {
      if (static_cast<const void*>(function.get()) == handle) return function.get();
    }
  }
  return nullptr;
}

CUresult no_function() { return fail(CUDA_ERROR_INVALID_HANDLE, "no such function is loaded"); }

int occupancy(const Function& function, unsigned threads, size_t dynamic_shared) {
  const unsigned warps = (threads + kWarp - 1) / kWarp;
  const size_t shared = function.kernel->static_shared() + dynamic_shared + kReservedShared;
  return std::min({kThreadsOfMultiprocessor / int(warps * kWarp), kBlocksOfMultiprocessor,
                   int(kSharedOfMultiprocessor / shared)});
}

/// The values of a launch's parameters, kept for as long as the work.
struct Parameters {
  std::vector<std::vector<unsigned char>> values;

  Parameters(const cuda_emulator::Kernel& kernel, void** given) {
    for (size_t i = 0; i < kernel.parameters().size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(given[i]);
      values.emplace_back(bytes, bytes + kernel.parameters()[i].size);
    }
  }
  std::vector<const void*> pointers() const {
    std::vector<const void*> result;
    for (const auto& value : values) result.push_back(value.data());
    return result;
  }
};

/// The text that is loaded for this one.
std::string exchanged(const State& all, std::string text) {
  const std::string& known = all.exchange.text;
  return !known.empty() && text.ends_with(known) ? all.exchange.other : std::move(text);
}

CUresult bad(std::string detail) { return fail(CUDA_ERROR_INVALID_VALUE, std::move(detail)); }

/// What is wrong with a launch, as the driver's documentation says what is.
CUresult check_launch(const Function& function, const cuda_emulator::Launch& launch,
                      void** parameters, void** extra) {
  const cuda_emulator::Kernel& kernel = *function.kernel;
  for (size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.grid[i] > kMostGrid[i]) return bad("the grid's extents");
    if (launch.block[i] == 0 || launch.block[i] > kMostBlock[i]) return bad("the block's extents");
  }
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  const unsigned most = std::min(unsigned(kMostThreads), kernel.most_threads());
  if (threads > most) {
    return bad(fmt::format("{} threads a block where {} has {}", threads, kernel.name(), most));
  }
  if (launch.dynamic_shared > function.most_dynamic_shared) {
    return bad(fmt::format("{} bytes of dynamic shared memory where {} has {}",
                           launch.dynamic_shared, kernel.name(), function.most_dynamic_shared));
  }
  if (extra != nullptr) return bad("the mock takes parameters one by one");
  if (parameters == nullptr && !kernel.parameters().empty()) return bad("no parameters");
  for (size_t i = 0; i < kernel.parameters().size(); ++i) {
    if (parameters[i] == nullptr) return bad(fmt::format("parameter {} is null", i));
  }
  const size_t blocks = size_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  const size_t resident =
      size_t(occupancy(function, threads, launch.dynamic_shared)) * size_t(multiprocessors());
  if (launch.cooperative && blocks > resident) {
    return fail(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                fmt::format("{} blocks where {} are resident", blocks, resident));
  }
  return CUDA_SUCCESS;
}

/// What is wrong with the clusters of a launch.
CUresult check_clusters(const Function& function, const cuda_emulator::Launch& launch) {
  if (launch.cluster == 1) return CUDA_SUCCESS;
  if (capability() < 90)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "clusters below compute capability 9.0");
  const auto wrong = [](std::string detail) {
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, std::move(detail));
  };
  if (launch.cluster == 0 || launch.grid[0] % launch.cluster != 0)
    return wrong(
        fmt::format("{} blocks along x in clusters of {}", launch.grid[0], launch.cluster));
  const unsigned most = function.large_clusters ? kMostCluster : kPortableCluster;
  if (launch.cluster > most)
    return wrong(fmt::format("clusters of {} blocks where {} has {}", launch.cluster,
                             function.kernel->name(), most));
  return CUDA_SUCCESS;
}

/// How many clusters are resident.
int resident_clusters(const Function& function, const cuda_emulator::Launch& launch) {
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  const int held =
      occupancy(function, threads, launch.dynamic_shared) * multiprocessors() / int(launch.cluster);
  return std::min(held, int(setting("GRAPHC_MOCK_CLUSTERS", uint64_t(held))));
}

/// The shape that a configuration has; false with an attribute that the mock does not know, or a
/// cluster that is not a row.
bool shape_of(const CUlaunchConfig& config, cuda_emulator::Launch& shape) {
  shape = {{config.gridDimX, config.gridDimY, config.gridDimZ},
           {config.blockDimX, config.blockDimY, config.blockDimZ}};
  shape.dynamic_shared = config.sharedMemBytes;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      shape.cooperative = attribute.value.cooperative != 0;
    } else if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
               attribute.value.clusterDim.y == 1 && attribute.value.clusterDim.z == 1) {
      shape.cluster = attribute.value.clusterDim.x;
    } else {
      return false;
    }
  }
  return true;
}

CUresult unknown_attribute() {
  return fail(CUDA_ERROR_NOT_SUPPORTED, "an attribute other than cooperative, or clusters in rows");
}

CUresult launch(State& all, CUfunction handle, const cuda_emulator::Launch& shape, CUstream stream,
                void** parameters, void** extra) {
  const Function* function = function_of(all, handle);
  if (function == nullptr) return no_function();
  if (const CUresult error = check_launch(*function, shape, parameters, extra)) return error;
  if (const CUresult error = check_clusters(*function, shape)) return error;
  if (shape.cluster > 1 && resident_clusters(*function, shape) == 0)
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "no cluster of that size is resident");
  return enqueue(all, stream,
                 [&all, handle, shape, kept = Parameters(*function->kernel, parameters)] {
                   const Function* found = function_of(all, handle);
                   if (found == nullptr) return no_function();
                   const std::vector<const void*> pointers = kept.pointers();
                   cuda_emulator::Launch now = shape;
                   now.parameters = pointers.data();
                   now.seed = setting("GRAPHC_MOCK_SEED", 1) + all.launches++;
                   if (now.cooperative)
                     now.absent_blocks = unsigned(setting("GRAPHC_MOCK_ABSENT_BLOCKS", 0));
                   if (all.exchange.most_instructions > 0)
                     now.most_instructions = all.exchange.most_instructions;
                   if (found->key) all.kernels_run.insert(*found->key);
                   cuda_emulator::run(*found->kernel, now, all.memory);
                   return CUDA_SUCCESS;
                 });
}

}  // namespace

GRAPHC_MOCK_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image,
                                               unsigned options, CUjit_option* names,
                                               void** values) {
  return called("cuModuleLoadDataEx", Needs::context, [&](State& all) {
    if (module == nullptr || image == nullptr ||
        (options > 0 && (names == nullptr || values == nullptr))) {
      return bad("no image, or no options");
    }
    if (const CUresult error = refuse_in_capture(all, "a module")) return error;
    try {
      const std::string given = static_cast<const char*>(image), text = exchanged(all, given);
      auto loaded = std::make_unique<Module>(text, text != given);
      *module = keep<CUmodule>(all.modules, std::move(loaded));
    } catch (const Error& error) {
      write_log(error.what(), options, names, values);
      return fail(CUDA_ERROR_INVALID_IMAGE, "");
    }
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuModuleUnload(CUmodule module) {
  return called(
      "cuModuleUnload", Needs::context,
      [&](State& all) {
        if (const CUresult error = refuse_in_capture(all, "a module")) return error;
        if (const CUresult error = do_all(all)) return error;
        return destroy(all.modules, module, "module");
      },
      Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuModuleGetFunction(CUfunction* to, CUmodule handle, const char* name) {
  return called("cuModuleGetFunction", Needs::context, [&](State& all) {
    Module* module = find(all.modules, handle);
    if (module == nullptr) return fail(CUDA_ERROR_INVALID_HANDLE, "no such module");
    if (to == nullptr || name == nullptr) return bad("no name");
    const cuda_emulator::Kernel* kernel = module->module.find(name);
    if (kernel == nullptr) return fail(CUDA_ERROR_NOT_FOUND, "");
    std::unique_ptr<Function>& function = module->functions[name];
    if (function == nullptr) {
      const size_t own = kernel->static_shared();
      function = std::make_unique<Function>(
          Function{.kernel = kernel,
                   .most_dynamic_shared = kStaticShared - std::min(own, kStaticShared),
                   .key = module->key});
    }
    *to = reinterpret_cast<CUfunction>(function.get());
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
                                               int value) {
  return called("cuFuncSetAttribute", Needs::context, [&](State& all) {
    Function* function = function_of(all, handle);
    if (function == nullptr) return no_function();
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
      if (value != 0 && value != 1) return bad("neither allowed nor not");
      function->large_clusters = value == 1;
      return CUDA_SUCCESS;
    }
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
      return bad("an attribute that cannot be set");
    }
    if (value < 0 || size_t(value) + function->kernel->static_shared() > most_shared()) {
      return bad(fmt::format("more shared memory than {} bytes", most_shared()));
    }
    function->most_dynamic_shared = size_t(value);
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                               CUfunction handle) {
  return called("cuFuncGetAttribute", Needs::context, [&](State& all) {
    const Function* function = function_of(all, handle);
    if (function == nullptr) return no_function();
    if (value == nullptr) return bad("no place for the value");
    const cuda_emulator::Kernel& kernel = *function->kernel;
    switch (attribute) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = int(kernel.most_threads());
        break;
      case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = int(kernel.static_shared());
        break;
      case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = int(kernel.local_bytes());
        break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = int(function->most_dynamic_shared);
        break;
      default:
        return bad("an attribute that the mock does not know");
    }
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                           unsigned grid_z, unsigned block_x, unsigned block_y,
                                           unsigned block_z, unsigned dynamic_shared,
                                           CUstream stream, void** parameters, void** extra) {
  return called("cuLaunchKernel", Needs::context, [&](State& all) {
    cuda_emulator::Launch shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}};
    shape.dynamic_shared = dynamic_shared;
    return launch(all, function, shape, stream, parameters, extra);
  });
}

GRAPHC_MOCK_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                             void** parameters, void** extra) {
  return called("cuLaunchKernelEx", Needs::context, [&](State& all) {
    if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
      return bad("no configuration");
    }
    cuda_emulator::Launch shape;
    if (!shape_of(*config, shape)) return unknown_attribute();
    return launch(all, function, shape, config->hStream, parameters, extra);
  });
}

GRAPHC_MOCK_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                        CUfunction handle,
                                                                        int threads,
                                                                        size_t dynamic_shared) {
  return called("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::context, [&](State& all) {
    const Function* function = function_of(all, handle);
    if (function == nullptr) return no_function();
    if (blocks == nullptr || threads <= 0) return bad("no threads");
    const bool fits = threads <= kMostThreads && dynamic_shared <= function->most_dynamic_shared;
    *blocks = fits ? occupancy(*function, unsigned(threads), dynamic_shared) : 0;
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle,
                                                         const CUlaunchConfig* config) {
  return called("cuOccupancyMaxActiveClusters", Needs::context, [&](State& all) {
    const Function* function = function_of(all, handle);
    if (function == nullptr) return no_function();
    if (clusters == nullptr || config == nullptr ||
        (config->numAttrs > 0 && config->attrs == nullptr)) {
      return bad("no configuration");
    }
    cuda_emulator::Launch shape;
    if (!shape_of(*config, shape)) return unknown_attribute();
    const bool is_said = std::any_of(config->attrs, config->attrs + config->numAttrs,
                                     [](const CUlaunchAttribute& attribute) {
                                       return attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
                                     });
    if (!is_said) return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "no clusters");
    if (const CUresult error = check_clusters(*function, shape)) return error;
    const bool fits = shape.dynamic_shared <= function->most_dynamic_shared;
    *clusters = fits ? resident_clusters(*function, shape) : 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace graphc::core::cuda_mock
