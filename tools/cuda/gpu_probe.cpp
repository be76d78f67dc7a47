// SPDX-License-Identifier: Apache-2.0
// graphc-gpu-probe: measures this GPU and writes the results as JSON. Progress goes to stderr; the
// exit code is that of ErrorKind.
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/streams.h"
#include "tools/cuda/probes.h"
#include "tools/exit_code.h"

namespace graphc::core::probe {
namespace {

using Json = nlohmann::ordered_json;

Json device_of(const Lab& lab) {
  const cuda::DeviceProperties& gpu = lab.properties();
  return {{"name", printable(gpu.name, 256)},
          {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
          {"architecture", lab.architecture()},
          {"multiprocessors", gpu.multiprocessors},
          {"memory_bytes", gpu.memory_bytes},
          {"l2_bytes", gpu.l2_bytes},
          {"registers_per_multiprocessor", gpu.registers_per_multiprocessor},
          {"shared_per_multiprocessor", gpu.shared_per_multiprocessor},
          {"shared_per_block_optin", gpu.shared_per_block_optin},
          {"cooperative_launch", gpu.cooperative_launch}};
}

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw resource_error("stdout: {}", std::strerror(errno));
}

/// A failed probe is reported with its reason: the others are still useful.
Json measured(const Probe& probe, Lab& lab) {
  Json row{{"name", probe.name}, {"what", probe.what}, {"unit", probe.unit}};
  if (probe.measure == nullptr) {
    row["absent"] = probe.why_not;
    return row;
  }
  try {
    const bench::Summary found = probe.measure(lab);
    // Below the clock's resolution: no meaningful figure.
    if (std::isfinite(found.min) && std::isfinite(found.max) && found.min > 0) {
      row["median"] = found.median;
      row["min"] = found.min;
      row["max"] = found.max;
    } else {
      row["absent"] = "it took less time than the clock shows";
    }
  } catch (const Error& error) {
    row["absent"] = error.message();
  }
  return row;
}

constexpr std::string_view kUsage =
    "usage: graphc-gpu-probe [--quick] [--describe]\n"
    "  --quick     sizes for an emulator, whose figures mean nothing\n"
    "  --describe  the GPU alone, nothing measured\n";

/// The rows of all probes, each reported on stderr when done.
Json all_measured(Lab& lab) {
  Json rows = Json::array();
  for (const Probe& probe : all_probes()) {
    Json row = measured(probe, lab);
    write_message(
        row.contains("median")
            ? fmt::format("{}: {:.4g} {}", probe.name, row["median"].get<double>(), probe.unit)
            : fmt::format("{}: absent: {}", probe.name, row["absent"].get<std::string>()));
    rows.push_back(std::move(row));
  }
  return rows;
}

int run(std::span<const std::string_view> arguments) {
  bool quick = false, describe = false;
  for (std::string_view argument : arguments) {
    if (argument == "--help") {
      write_stdout(kUsage);
      return 0;
    }
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--describe") {
      describe = true;
    } else {
      write_message(fmt::format("error: no option is called '{}'\n{}", argument, kUsage));
      return int(ErrorKind::usage);
    }
  }
  Lab lab(quick);
  Json all{{"graphc", GRAPHC_VERSION}, {"device", device_of(lab)}};
  if (!describe) {
    all["quick"] = quick;
    all["probes"] = all_measured(lab);
  }
  write_stdout(all.dump(2) + "\n");
  return 0;
}

}  // namespace
}  // namespace graphc::core::probe

int main(int argc, char** argv) {
  graphc::core::open_closed_streams();
  graphc::core::survive_file_limits();
  try {
    const std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
    return graphc::core::probe::run(arguments);
  } catch (...) {
    return graphc::core::report_exception();
  }
}
