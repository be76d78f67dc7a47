// SPDX-License-Identifier: Apache-2.0
// A GPU as lowering and planning see it (codegen/machine.h), and the additional properties that the
// kernels of loops need.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codegen/machine.h"

namespace graphc::core::cuda {

/// The precisions for products of f32; the first is f32 itself. The others round only the factors,
/// in registers; sums are f32.
inline constexpr std::array kPrecisions{Precision::f32, Precision::tf32, Precision::tf32x3,
                                        Precision::bf16, Precision::fp16};

/// The machine for which plans for GPUs are made. A launch executes a whole record and its blocks
/// share it, so there is one worker. `precision` is one of kPrecisions. Products for which an
/// architecture ("sm_90a", "compute_80") has tensor cores are computed on them. There are none
/// below sm_80; a precision that needs them then throws ErrorKind::resource.
Machine gpu_machine(Precision precision = Precision::f32, std::string_view architecture = "sm_80");

/// The cost of a product on tensor cores. The choice of a loop's placement (loops/placer.h) and the
/// prediction of a step's time (launches/speed_model.h) multiply it by the rates of a GPU; for what
/// a block reads both ask the text of its products (text/product_text.h), and for operations of
/// bodies cost_of() (ir/scalar.h).
struct TensorCost {
  bool is_half = false;  ///< of 16-bit factors; otherwise of tf32
  int products = 1;      ///< of such factors, for one product
};
/// That of these factors; none: tensor cores do not multiply them.
std::optional<TensorCost> tensor_cost(Factors factors);

/// The properties that decide where a loop's matrices can be kept. Speeds are those of an H100
/// (NVIDIA H100 Tensor Core GPU Architecture, 2022). Cache bandwidth and the time of a grid barrier
/// were measured on one (tools/gpu-check); the time of a cluster barrier and the latency are
/// estimates. They only have to rank placements correctly.
struct Gpu {
  int capability = 90;  ///< compute capability, times ten
  int multiprocessors = 132;
  int64_t shared_bytes = 227 << 10;  ///< maximum for a block
  int64_t memory_bytes = 80'000'000'000;
  double clock_per_us = 1755;      ///< cycles per microsecond
  double fma_per_clock = 128;      ///< f32, per multiprocessor
  double mma_per_clock = 1024;     ///< tf32 on tensor cores, per multiprocessor; twice for 16 bits
  double bytes_per_clock = 58;     ///< from the second-level cache into a multiprocessor
  double memory_latency_us = 0.6;  ///< of a load from the second-level cache that nothing hides
  double barrier_us = 1.3;         ///< a barrier of all blocks
  double cluster_barrier_us = 0.35;  ///< a barrier of the blocks of a cluster
  /// Counted exchanges (loops/counted_loop.h): until all blocks of a cluster have what each sent to
  /// all, for each block; and of a step beside its exchange and its loads from shared memory: its
  /// waits, for each element of a lane in a nest, and for each time that the warps of a block meet.
  /// Fitted to programs by hand on an H200 that hold carries and weights in registers: 0.73 us for
  /// the exchange alone of 16 clusters of eight blocks in two rounds, 2.77 and 3.7 us a step of an
  /// LSTM of 512 units with it; of 16 blocks 3.6 and 3.7.
  double exchange_block_us = 0.05, counted_step_us = 0.4, counted_element_us = 0.08,
         block_barrier_us = 0.03;
  /// How many clusters run at a time whose blocks take a multiprocessor each, by the logarithm of
  /// their size; 0: unknown. A cluster lies within a part of the chip, so that fewer fit than
  /// multiprocessors would suffice for. Those of 8 and 16 were measured on an H200; those of 2 and
  /// 4 are estimates. Clusters of 16 are chosen only where this is known.
  std::array<int, 5> clusters{132, 66, 32, 15, 7};

  /// How many clusters of 1 to 16 blocks run at a time; of a number that is no power of two at
  /// least as many as of the next one.
  int64_t clusters_at_a_time(int64_t blocks) const;
  /// Whether blocks can be launched in clusters.
  bool has_clusters() const { return capability >= 90; }
};

/// A typical GPU of an architecture ("sm_80"), for use where none is present; an empty architecture
/// means sm_90a.
Gpu gpu_of(std::string_view architecture);

}  // namespace graphc::core::cuda
