// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/cpu_features.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <set>

#include "ir/error.h"

namespace graphc::core::cpu {
namespace {

// A level and the features it adds to the one below it (the x86-64 psABI's lists, in LLVM's
// spelling).
struct FeatureLevel {
  std::string_view name;
  std::vector<std::string_view> adds;
};

const std::vector<FeatureLevel>& levels() {
  static const std::vector<FeatureLevel> all = {
      {"x86-64", {}},
      {"x86-64-v3",
       {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf", "avx", "avx2", "bmi", "bmi2",
        "f16c", "fma", "lzcnt", "movbe", "xsave"}},
      {"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
  };
  return all;
}

using FeatureSet = std::set<std::string, std::less<>>;

FeatureSet parse(std::string_view text) {
  FeatureSet result;
  while (!text.empty()) {
    const std::string_view feature = text.substr(0, text.find(','));
    if (feature.size() > 1 && feature[0] == '+') result.emplace(feature.substr(1));
    text.remove_prefix(std::min(text.size(), feature.size() + 1));
  }
  return result;
}

// Sets the members that follow from the instruction sets alone.
void derive(CpuFeatures& cpu, const FeatureSet& set) {
  const auto has = [&](std::string_view feature) { return set.contains(feature); };
  cpu.has_sse41 = has("sse4.1");
  cpu.has_fma = has("fma");
  cpu.has_avx512 = std::all_of(levels().back().adds.begin(), levels().back().adds.end(), has);
  cpu.has_avx512_bf16 = cpu.has_avx512 && has("avx512bf16");
  cpu.divides_by_estimate = cpu.has_avx512;
  const bool wide = has("avx2") && cpu.has_fma;
  cpu.vector_lanes_f32 = cpu.has_avx512 ? 16 : wide ? 8 : 4;
  cpu.vector_registers = cpu.has_avx512 ? 32 : 16;
}

/// Whether bf16 dot products are faster than f32 multiply-adds: twice as fast on Zen 4 and later,
/// half as fast on Intel's processors, which have tiles for that.
bool has_fast_dot_products(std::string_view llvm_name) { return llvm_name.starts_with("znver"); }

CpuFeatures detect() {
  CpuFeatures cpu;
  cpu.name = "native";
  cpu.llvm_name = llvm::sys::getHostCPUName().str();
  std::set<std::string> signed_names;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    signed_names.insert((feature.second ? "+" : "-") + feature.first().str());
  }
  cpu.features = fmt::format("{}", fmt::join(signed_names, ","));
  const FeatureSet set = parse(cpu.features);
  derive(cpu, set);
  if (cpu.has_avx512 && set.contains("amx-tile") && set.contains("amx-bf16") && has_matrix_tiles())
    cpu.matrix_tiles = MatrixTiles::hardware;
  else if (cpu.has_avx512_bf16 && has_fast_dot_products(cpu.llvm_name))
    cpu.matrix_tiles = MatrixTiles::dot_products;
  return cpu;
}

Error cannot_run(std::string_view name, const CpuFeatures& host, std::string_view missing) {
  return Error(ErrorKind::usage, {},
               fmt::format("cpu '{}' cannot run on this machine ({}), which lacks {}", name,
                           host.llvm_name, missing));
}

/// `cpu` with matrix tiles by dot products.
CpuFeatures with_dot_products(CpuFeatures cpu, std::string_view name, const CpuFeatures& host) {
  if (!host.has_avx512_bf16) throw cannot_run(name, host, "avx512bf16");
  if (!cpu.has_avx512)
    throw Error(ErrorKind::usage, {},
                fmt::format("cpu '{}': wanted native or x86-64-v4 before '{}': found '{}'", name,
                            kDotProducts, cpu.name));
  cpu.name = name;
  cpu.has_avx512_bf16 = true;
  if (cpu.features.find("+avx512bf16") == std::string::npos) cpu.features = "+avx512bf16";
  cpu.matrix_tiles = MatrixTiles::dot_products;
  return cpu;
}

}  // namespace

const CpuFeatures& host_cpu() {
  static const CpuFeatures host = detect();
  return host;
}

std::vector<std::string_view> cpu_names() {
  std::vector<std::string_view> names = {"native"};
  for (auto level = levels().rbegin(); level != levels().rend(); ++level) {
    names.push_back(level->name);
  }
  return names;
}

CpuFeatures cpu_named(std::string_view name, const CpuFeatures& host) {
  if (name.ends_with(kSoftwareTiles)) {
    CpuFeatures cpu = cpu_named(name.substr(0, name.size() - kSoftwareTiles.size()), host);
    cpu.name = name;
    cpu.matrix_tiles = MatrixTiles::software;
    return cpu;
  }
  if (name.ends_with(kDotProducts))
    return with_dot_products(cpu_named(name.substr(0, name.size() - kDotProducts.size()), host),
                             name, host);
  // Messages name the host as LLVM does.
  if (name == "native" || name == host.llvm_name) return host;
  const auto level = std::find_if(levels().begin(), levels().end(),
                                  [&](const FeatureLevel& each) { return each.name == name; });
  if (level == levels().end()) {
    throw Error(
        ErrorKind::usage, {},
        fmt::format("unknown cpu '{}': wanted one of {}", name, fmt::join(cpu_names(), ", ")));
  }
  const FeatureSet present = parse(host.features);
  FeatureSet needed;
  std::vector<std::string_view> missing;
  for (auto each = levels().begin(); each <= level; ++each) {
    for (std::string_view feature : each->adds) {
      needed.emplace(feature);
      if (!present.contains(feature)) missing.push_back(feature);
    }
  }
  if (!missing.empty()) throw cannot_run(name, host, fmt::format("{}", fmt::join(missing, ", ")));
  CpuFeatures cpu;
  cpu.name = cpu.llvm_name = name;
  derive(cpu, needed);
  return cpu;
}

std::vector<CpuFeatures> cpus_of(const CpuFeatures& host) {
  const FeatureSet present = parse(host.features);
  std::vector<CpuFeatures> result = {host};
  for (auto level = levels().rbegin(); level != levels().rend(); ++level) {
    const bool runs = std::all_of(levels().begin(), level.base(), [&](const FeatureLevel& each) {
      return std::all_of(each.adds.begin(), each.adds.end(),
                         [&](std::string_view feature) { return present.contains(feature); });
    });
    if (runs) result.push_back(cpu_named(level->name, host));
  }
  return result;
}

}  // namespace graphc::core::cpu
