// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>

#include "runtime/cores.h"

namespace graphc::core::bench {
namespace {

/// The CPU's name according to the kernel, or the architecture if it has none.
std::string cpu_name(const utsname& system) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return system.machine;
}

}  // namespace

nlohmann::ordered_json environment() {
  utsname system{};
  uname(&system);
  return {{"cpu", cpu_name(system)},
          {"cores", default_thread_count()},
          {"threads", allowed_cpus().size()},
          {"os", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
#ifdef __clang__
          {"compiler", __VERSION__},
#else
          {"compiler", "g++ " __VERSION__},
#endif
          {"llvm", GRAPHC_LLVM_VERSION},
          {"graphc", GRAPHC_VERSION}};
}

}  // namespace graphc::core::bench
