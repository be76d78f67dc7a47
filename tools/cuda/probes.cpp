// SPDX-License-Identifier: Apache-2.0
#include "tools/cuda/probes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "ir/error.h"
#include "runtime/clock.h"
#include "runtime/cuda/nccl.h"
#include "tools/cuda/probe_text.h"

namespace graphc::core::probe {
namespace {

using bench::Summary;

// --- memory ---

/// At most 1 GiB, and at most an eighth of the free memory.
int64_t memory_bytes(const Lab& lab) {
  const auto room = int64_t(lab.device()->free_memory() / 8);
  return lab.size(std::min(int64_t{1} << 30, room), 64 << 10) / 4096 * 4096;
}

Summary read_bandwidth(Lab& lab) {
  const cuda::Kernel kernel = lab.kernel(read_text(), "read_all");
  const int64_t bytes = memory_bytes(lab);
  const unsigned blocks = lab.quick() ? 4 : 8 * lab.multiprocessors();
  const cuda::DeviceBuffer values = lab.zeros(bytes, "words to read");
  const cuda::DeviceBuffer sums = lab.zeros(int64_t{blocks} * kThreads * 8, "sums");
  return lab
      .seconds([&] {
        lab.launch(kernel, blocks, {values.address(), sums.address(), uint64_t(bytes / 8)});
      })
      .divide(double(bytes) * 1e-9);
}

Summary copy_bandwidth(Lab& lab) {
  const cuda::Kernel kernel = lab.kernel(copy_text(), "copy_all");
  const int64_t bytes = memory_bytes(lab);
  const unsigned blocks = lab.quick() ? 4 : 8 * lab.multiprocessors();
  const cuda::DeviceBuffer from = lab.zeros(bytes, "words to copy");
  const cuda::DeviceBuffer to = lab.zeros(bytes, "copies");
  return lab
      .seconds(
          [&] { lab.launch(kernel, blocks, {from.address(), to.address(), uint64_t(bytes / 8)}); })
      .divide(2e-9 * double(bytes));
}

Summary ingest(Lab& lab) {
  const cuda::Kernel kernel = lab.kernel(ingest_text(), "read_again");
  // Fits the L2 cache of every supported GPU; all multiprocessors read it.
  const int64_t bytes = lab.size(1 << 20, 16 << 10), rounds = lab.size(64, 1);
  const unsigned blocks = lab.quick() ? 2 : 4 * lab.multiprocessors();
  const cuda::DeviceBuffer values = lab.zeros(bytes, "words to read");
  const cuda::DeviceBuffer sums = lab.zeros(int64_t{blocks} * kThreads * 8, "sums");
  const double read = double(blocks) * double(bytes) * double(rounds);
  return lab
      .seconds([&] {
        lab.launch(kernel, blocks,
                   {values.address(), sums.address(), uint64_t(bytes / 8), uint64_t(rounds)});
      })
      .divide(read * 1e-9 / lab.multiprocessors());
}

Summary host_to_device(Lab& lab) {
  const int64_t bytes = lab.size(64 << 20, 4096);
  const cuda::PinnedBuffer from(lab.device(), size_t(bytes), "pinned memory");
  std::memset(from.data(), 0, size_t(bytes));
  const cuda::DeviceBuffer to = lab.zeros(bytes, "what arrives");
  return lab
      .seconds(
          [&] { lab.stream().copy_to_device(to.address(), from.data(), size_t(bytes), "a probe"); })
      .divide(double(bytes) * 1e-9);
}

// --- arithmetic ---

Summary multiply_adds(Lab& lab) {
  const cuda::Kernel kernel = lab.kernel(multiply_add_text(), "multiply_adds");
  const unsigned blocks = lab.quick() ? 2 : 8 * lab.multiprocessors();
  const int64_t turns = lab.size(20'000, 2);
  const cuda::DeviceBuffer sums = lab.zeros(int64_t{blocks} * kThreads * 4, "sums");
  const uint64_t factor = std::bit_cast<uint32_t>(0.5f);
  const double flop = 2.0 * kMultiplyAdds * double(turns) * kThreads * blocks;
  return lab.seconds([&] { lab.launch(kernel, blocks, {sums.address(), uint64_t(turns), factor}); })
      .divide(flop * 1e-12);
}

template <int index>
Summary tile_products(Lab& lab) {
  constexpr const TileProduct& kProduct = kTileProducts[index];
  const cuda::Kernel kernel = lab.kernel(tile_product_text(kProduct), std::string(kProduct.name));
  const unsigned blocks = lab.quick() ? 1 : 4 * lab.multiprocessors();
  const int64_t turns = lab.size(20'000, 1);
  const cuda::DeviceBuffer sums = lab.zeros(int64_t{blocks} * kThreads * 4, "sums");
  const double flop =
      2.0 * 16 * 8 * kProduct.k * kTilesOfWarp * double(turns) * (kThreads / 32) * blocks;
  return lab.seconds([&] { lab.launch(kernel, blocks, {sums.address(), uint64_t(turns)}); })
      .divide(flop * 1e-12);
}

// --- synchronisation ---

/// Microseconds per barrier: a launch with many, minus a launch with one.
Summary barrier(Lab& lab, const std::string& text) {
  if (!lab.properties().cooperative_launch)
    throw resource_error("the GPU has no cooperative launches");
  const cuda::Kernel kernel = lab.kernel(text, "meet_often");
  const unsigned blocks = lab.quick() ? 3 : lab.multiprocessors();
  const int64_t many = lab.size(2000, 4);
  const cuda::DeviceBuffer words = lab.zeros(int64_t{blocks} * 4, "words to meet at");
  const auto run = [&](int64_t barriers) {
    return lab.seconds([&] {
      lab.stream().fill(words.address(), 0, words.bytes(), "words to meet at");
      lab.launch(kernel, blocks, {words.address(), uint64_t(barriers)}, true);
    });
  };
  const double once = run(1).min;
  Summary all = run(many);
  for (double* each : {&all.median, &all.min, &all.max})
    *each = std::max(*each - once, 0.0) * 1e6 / double(many - 1);
  return all;
}
Summary counter_barrier(Lab& lab) { return barrier(lab, counter_barrier_text()); }
Summary flag_barrier(Lab& lab) { return barrier(lab, flag_barrier_text()); }

/// Microseconds per additional kernel in a CUDA graph of sequential kernels.
Summary launch_in_graph(Lab& lab) {
  const cuda::Kernel kernel = lab.kernel(empty_text(), "nothing");
  const int64_t launches = lab.size(1000, 3);
  const cuda::GraphExec graph = lab.stream().capture([&] {
    for (int64_t i = 0; i < launches; ++i) lab.launch(kernel, 1, {});
  });
  return lab.seconds([&] { graph.launch(lab.stream()); }) * (1e6 / double(launches));
}

/// Microseconds from launching a graph with one kernel until the host sees its completion.
Summary graph_round_trip(Lab& lab) {
  const cuda::Kernel kernel = lab.kernel(empty_text(), "nothing");
  const cuda::GraphExec graph = lab.stream().capture([&] { lab.launch(kernel, 1, {}); });
  std::vector<double> readings;
  for (int64_t i = 0; i <= lab.size(200, 2); ++i) {
    const double begun = steady_seconds();
    graph.launch(lab.stream());
    lab.stream().synchronize("a probe");
    if (i > 0) readings.push_back((steady_seconds() - begun) * 1e6);
  }
  return bench::summarize(readings);
}

/// Microseconds of the two exchanges of a sum of 1 MiB, with one rank, captured as in a step.
/// Throws if they lose bytes.
Summary nccl_exchanges(Lab& lab) {
  const int64_t bytes = lab.size(1 << 20, 4096);
  const cuda::NcclCommunicator one(lab.device(), cuda::new_nccl_identifier(), 0, 1);
  const cuda::DeviceBuffer from = lab.zeros(bytes, "what is sent"),
                           share = lab.zeros(bytes, "a share"),
                           to = lab.zeros(bytes, "what is gathered");
  constexpr unsigned char kSent = 0x5A;
  lab.stream().fill(from.address(), kSent, from.bytes(), "what is sent");
  const cuda::GraphExec graph = lab.stream().capture([&] {
    one.all_to_all(from.address(), share.address(), from.bytes(), lab.stream());
    one.all_gather(share.address(), to.address(), from.bytes(), lab.stream());
  });
  const Summary found = lab.seconds([&] { graph.launch(lab.stream()); }) * 1e6;
  one.check_failures();
  std::vector<unsigned char> gathered(to.bytes());
  lab.stream().copy_to_host(gathered.data(), to.address(), to.bytes(), "what is gathered");
  lab.stream().synchronize("a probe");
  if (std::ranges::any_of(gathered, [](unsigned char byte) { return byte != kSent; }))
    throw resource_error("NCCL does not bring what a rank sends to itself");
  return found;
}

constexpr Probe kProbes[] = {
    {"counter-barrier", "all blocks, one a multiprocessor, wait for each other by a counter", "us",
     counter_barrier, ""},
    {"flag-barrier", "the same by a word for each block", "us", flag_barrier, ""},
    {"cluster-barrier", "the blocks of a cluster wait for each other", "us", nullptr,
     "graphc launches no clusters"},
    {"resident-clusters", "clusters of 16 blocks that the GPU holds at a time", "clusters", nullptr,
     "graphc launches no clusters"},
    {"warpgroup-products", "products of warp groups at 8, 16, 32 and 64 columns", "TFLOP/s",
     nullptr, "graphc emits no wgmma"},
    {"ingest", "what a multiprocessor reads from the second-level cache, all at a time", "GB/s",
     ingest, ""},
    {"read", "memory read", "GB/s", read_bandwidth, ""},
    {"copy", "memory read and written", "GB/s", copy_bandwidth, ""},
    {"host-to-device", "copied from pinned memory of the host", "GB/s", host_to_device, ""},
    {"f32", "multiply-adds in registers", "TFLOP/s", multiply_adds, ""},
    {"tf32-tiles", "products of tiles, TF32", "TFLOP/s", tile_products<2>, ""},
    {"bf16-tiles", "products of tiles, bf16", "TFLOP/s", tile_products<0>, ""},
    {"fp16-tiles", "products of tiles, fp16", "TFLOP/s", tile_products<1>, ""},
    {"launch-in-graph", "one more kernel in a CUDA graph", "us", launch_in_graph, ""},
    {"graph-round-trip", "a CUDA graph of one kernel, until the host knows that it ended", "us",
     graph_round_trip, ""},
    {"nccl-exchanges", "the exchanges of a sum of 1 MiB by NCCL, with one rank, in a CUDA graph",
     "us", nccl_exchanges, ""},
    {"cudnn-algorithms", "cuDNN's algorithms for an LSTM with each math type", "us", nullptr,
     "graphc does not call cuDNN yet"},
};

}  // namespace

std::span<const Probe> all_probes() { return kProbes; }

}  // namespace graphc::core::probe
