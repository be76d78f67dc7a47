// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/run.h"

#include <fmt/format.h>

#include "ir/error.h"
#include "tests/cuda/emulator/schedule.h"

namespace graphc::core::cuda_emulator {
namespace {

constexpr size_t most_static_shared = 48 * 1024;
constexpr size_t most_parameter_bytes = 32764;  // from CUDA 12.1 on
constexpr unsigned most_of_cluster = 16;
constexpr uint64_t most_blocks = 1 << 20;  // threads of a grid have numbers of 32 bits

template <typename... Args>
void want(bool holds, const Program& program, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds)
    throw Error(ErrorKind::internal, {},
                fmt::format("{}: launch with {}", program.name,
                            fmt::format(format, std::forward<Args>(args)...)));
}

uint64_t product(const unsigned extents[3]) {
  return uint64_t(extents[0]) * extents[1] * extents[2];
}

void check(const Program& program, const Launch& launch) {
  const unsigned *grid = launch.grid, *block = launch.block;
  const uint64_t threads = product(block), blocks = product(grid);
  want(blocks > 0 && grid[1] < 65536 && grid[2] < 65536, program,
       "a grid of ({},{},{}) blocks, wanted from 1 to 65535", grid[0], grid[1], grid[2]);
  want(threads > 0 && threads <= 1024 && block[2] <= 64, program,
       "blocks of ({},{},{}) threads, wanted from 1 to 1024", block[0], block[1], block[2]);
  want(threads <= program.most_threads, program,
       "blocks of {} threads, wanted at most its launch bounds {}", threads, program.most_threads);
  want(blocks <= most_blocks, program, "{} blocks, wanted at most {} in the emulator", blocks,
       most_blocks);
  want(launch.cluster > 0 && launch.cluster <= most_of_cluster && grid[0] % launch.cluster == 0,
       program, "{} blocks along x in clusters of {}, wanted whole clusters of 1 to {}", grid[0],
       launch.cluster, most_of_cluster);
  want(!program.has_dynamic_shared || launch.dynamic_shared > 0, program,
       "no dynamic shared memory, which the kernel uses");
  const size_t shared = program.static_shared + launch.dynamic_shared;
  want(program.static_shared <= most_static_shared, program,
       "{} bytes of static shared memory, wanted at most {}", program.static_shared,
       most_static_shared);
  want(shared <= launch.most_shared, program, "{} bytes of shared memory, wanted at most {}",
       shared, launch.most_shared);
  want(!launch.cooperative || blocks <= launch.most_resident_blocks, program,
       "{} cooperative blocks, wanted at most {}, which are resident at a time", blocks,
       launch.most_resident_blocks);
  want(program.parameters.empty() || launch.parameters, program, "no parameters, wanted {}",
       program.parameters.size());
  size_t bytes = 0;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    bytes += program.parameters[i].size;
    want(launch.parameters[i] != nullptr, program, "a null pointer to parameter {}", i);
  }
  want(bytes <= most_parameter_bytes, program, "{} bytes of parameters, wanted at most {}", bytes,
       most_parameter_bytes);
}

}  // namespace

Grid::Grid(const Program& the_program, const Launch& the_launch, DeviceMemory& the_memory)
    : program(the_program),
      launch(the_launch),
      memory(the_memory),
      draw(the_launch.seed),
      blocks(uint32_t(product(the_launch.grid))),
      cached(the_program.code.size()) {}

void Grid::fail(const Warp& warp, uint32_t lane, uint32_t pc, const std::string& message) const {
  throw Error(ErrorKind::internal, {},
              fmt::format("{}, line {}, {}: {}", program.name, program.lines[pc],
                          thread_name(warp.thread(lane)), message));
}

void lane_error(const Warp& warp, const Instruction& instruction, uint32_t lane,
                const std::string& message) {
  warp.grid->fail(warp, lane, place_of(warp, instruction), message);
}

void run(const Kernel& kernel, const Launch& launch, DeviceMemory& memory) {
  check(kernel.program(), launch);
  Grid grid(kernel.program(), launch, memory);
  Schedule(grid).run();
}

}  // namespace graphc::core::cuda_emulator
