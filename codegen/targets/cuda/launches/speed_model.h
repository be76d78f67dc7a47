// SPDX-License-Identifier: Apache-2.0
// How long a step would take on a GPU that is not here: a model, not a measurement.
//
// Each nest takes the longest of what its parts take, as if the others hid behind it: arithmetic,
// reads of shared memory, what multiprocessors take in from the second-level cache, memory. The
// time that a block waits for what it has loaded comes on top, unless another block on the same
// multiprocessor works meanwhile. A launch by itself reads from memory whatever it reads; in a loop
// of one launch that is so for what moves with the step, and the rest comes from the cache or stays
// on the chip. Barriers of blocks and the start of a launch are added. Nothing is known of
// registers, conflicts of banks, or what else uses the GPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/launches/launches.h"

namespace graphc::core::cuda {

/// What a GPU does, beside what decides where a loop's matrices lie.
struct GpuFigures {
  std::string_view architecture;  ///< "sm_90a"
  std::string_view name;
  Gpu gpu;
  double f64 = 0;            ///< multiply-adds against f32
  double memory_per_us = 0;  ///< bytes
  double launch_us = 0;      ///< one more kernel in a CUDA graph
  /// Products of tiles on tensor cores, FLOP in a microsecond: of tf32, and of bf16 and fp16.
  double tf32_per_us = 0, half_per_us = 0;

  /// f32 multiply-adds of all multiprocessors, FLOP in a microsecond.
  double f32_per_us() const {
    return 2 * gpu.fma_per_clock * gpu.clock_per_us * gpu.multiprocessors;
  }
  /// The same of products whose factors are so; a product of split ones is three of tf32.
  double products_per_us(Factors factors, bool is_f64) const;
};

/// The figures of an architecture; null for one that the model does not know.
const GpuFigures* gpu_figures(std::string_view architecture);
/// Those that it knows, in words.
std::string known_gpu_figures();

/// What takes the time.
enum class Limit : uint8_t { arithmetic, shared, ingest, memory, latency, barriers, launch };
std::string_view name_of(Limit limit);

/// The launches of one record, in microseconds.
struct LaunchTime {
  std::string name;      ///< "gemm %add", or "form %u.panels" for panels of a state
  int64_t launches = 0;  ///< in a step
  int64_t steps = 1;     ///< of a loop of one launch
  double flop = 0;       ///< multiplications and additions of products
  double bytes = 0;      ///< at the addresses it reads and writes, each once a nest
  double barriers = 0;
  double arithmetic_us = 0, shared_us = 0, ingest_us = 0, memory_us = 0, latency_us = 0;
  double busy_us = 0;  ///< what the five of them take together: see above
  double barriers_us = 0, launch_us = 0;

  double total_us() const { return busy_us + barriers_us + launch_us; }
  /// The largest of all.
  Limit limit() const;
};

struct StepTime {
  std::vector<LaunchTime> launches;  ///< in the order of the step
  double total_us() const;
};

/// The time of a step: the launches that make_launches() made of the plan for `figures.gpu`, and
/// the forms of states that the step writes, which are made again for the next.
StepTime predict(const Plan& plan, const Launches& launches, const GpuFigures& figures);

/// As a person reads it: a line for each record, and the sum.
std::string print(const StepTime& step, const GpuFigures& figures);

}  // namespace graphc::core::cuda
