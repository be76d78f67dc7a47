// SPDX-License-Identifier: Apache-2.0
// A GPU as lowering and planning see it (codegen/machine.h), and what more the kernels of loops
// have to know of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "codegen/machine.h"

namespace graphc::core::cuda {

/// What the products of f32 may be computed in; the first is f32 itself. Of the others only the
/// factors are rounded, in registers: sums are f32.
inline constexpr std::array kPrecisions{Precision::f32, Precision::tf32, Precision::tf32x3,
                                        Precision::bf16, Precision::fp16};

/// The machine that plans for GPUs are made for. A launch does a whole record, and its blocks share
/// that out: one worker. `precision` is one of kPrecisions. Products that an architecture
/// ("sm_90a", "compute_80") has tensor cores for are computed on them: none below sm_80, where a
/// precision that needs them throws ErrorKind::resource.
Machine gpu_machine(Precision precision = Precision::f32, std::string_view architecture = "sm_80");

/// What decides where a loop's matrices can lie. The figures of speed are those of an H100 (NVIDIA
/// H100 Tensor Core GPU Architecture, 2022); what the cache gives and what a barrier takes was
/// measured on one (tools/gpu-check), the last and the latency are estimates: they only have to put
/// placements into the right order.
struct Gpu {
  int capability = 90;  ///< compute capability, times ten
  int multiprocessors = 132;
  int64_t shared_bytes = 227 << 10;  ///< that a block may have
  double clock_per_us = 1755;        ///< cycles in a microsecond
  double fma_per_clock = 128;        ///< f32, of a multiprocessor
  double mma_per_clock = 1024;       ///< the same of tf32, on tensor cores
  double bytes_per_clock = 58;       ///< from the second-level cache into a multiprocessor
  double memory_latency_us = 0.6;    ///< a load that nothing hides, from the second-level cache
  double barrier_us = 1.3;           ///< all blocks wait for each other
  double cluster_barrier_us = 0.35;  ///< those of a cluster do

  /// Whether blocks can be launched in clusters.
  bool has_clusters() const { return capability >= 90; }
};

/// A GPU of an architecture ("sm_80") where none is at hand: a common one of it; an empty one is
/// sm_90a.
Gpu gpu_of(std::string_view architecture);

}  // namespace graphc::core::cuda
