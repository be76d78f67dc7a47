// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/machine.h"

namespace graphc::cpu {

Machine machine_of(const CpuFeatures& cpu, int threads) {
  Machine machine;
  machine.target = "the CPU target";
  machine.lanes = cpu.vector_lanes_f32;
  machine.registers = cpu.vector_registers;
  machine.workers = threads;
  return machine;
}

}  // namespace graphc::cpu
