// SPDX-License-Identifier: Apache-2.0
// Predicts the time of a step on a GPU that is not present: a model, not a measurement.
//
// The time of a nest is the longest of four, as if it hid the others: arithmetic, reads of shared
// memory, transfers from the second-level cache into multiprocessors, memory. The time that a block
// waits for its loads is added, unless another block on the same multiprocessor works meanwhile. A
// separate launch reads everything from memory. In a loop of one launch only data whose address
// moves with the step comes from memory; the rest comes from the cache or stays on the chip.
// Barriers of blocks and the start of a launch are added. The model ignores registers, bank
// conflicts and other users of the GPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/launches/launches.h"

namespace graphc::core::cuda {

/// The speed of a GPU, besides the properties that decide where a loop's matrices are kept.
struct GpuFigures {
  std::string_view architecture;  ///< "sm_90a"
  std::string_view name;
  Gpu gpu;
  double f64 = 0;            ///< rate of multiply-adds relative to f32
  double memory_per_us = 0;  ///< bytes per microsecond
  double launch_us = 0;      ///< one more kernel in a CUDA graph
  /// Products of tiles on tensor cores, FLOP per microsecond: of tf32, and of bf16 and fp16.
  double tf32_per_us = 0, half_per_us = 0;

  /// f32 multiply-adds of all multiprocessors, FLOP per microsecond.
  double f32_per_us() const {
    return 2 * gpu.fma_per_clock * gpu.clock_per_us * gpu.multiprocessors;
  }
  /// The same for products with such factors (tensor_cost()).
  double products_per_us(Factors factors, bool is_f64) const;
};

/// The figures of an architecture; null if the model does not know it.
const GpuFigures* gpu_figures(std::string_view architecture);
/// The architectures that the model knows, as text.
std::string known_gpu_figures();

/// Those of the known architecture that is like the GPU, by its number of multiprocessors.
GpuFigures figures_of(const Gpu& gpu);

/// The time of all steps of a loop in one kernel, microseconds; `depth` loops are around it.
double loop_us(const Plan& plan, const LoopCall& loop, int depth, const LoopPlacement& placement,
               const GpuFigures& figures);
/// That of a nest that is a launch of its own.
double launch_us(const Plan& plan, const NestCall& call, const GpuFigures& figures);

/// The component that takes the most time.
enum class Limit : uint8_t { arithmetic, shared, ingest, memory, latency, barriers, launch };
std::string_view name_of(Limit limit);

/// The launches of one record; times are in microseconds.
struct LaunchTime {
  std::string name;      ///< "gemm %add", or "form %u.panels" for panels of a state
  int64_t launches = 0;  ///< per step
  int64_t steps = 1;     ///< of a loop that is one launch
  double flop = 0;       ///< multiplications and additions of products
  double bytes = 0;      ///< accessed in memory, each address once per nest
  double barriers = 0;
  double arithmetic_us = 0, shared_us = 0, ingest_us = 0, memory_us = 0, latency_us = 0;
  double busy_us = 0;  ///< combined time of these five: see above
  double barriers_us = 0, launch_us = 0;

  double total_us() const { return busy_us + barriers_us + launch_us; }
  /// The largest component.
  Limit limit() const;
};

struct StepTime {
  std::vector<LaunchTime> launches;  ///< in step order
  double total_us() const;
};

/// The time of a step: of the launches that make_launches() created from the plan for
/// `figures.gpu`, and of the forms of states that the step writes, which are rebuilt for the next
/// step.
StepTime predict(const Plan& plan, const Launches& launches, const GpuFigures& figures);

/// The prediction as readable text: a line for each record, and the sum.
std::string print(const StepTime& step, const GpuFigures& figures);

}  // namespace graphc::core::cuda
