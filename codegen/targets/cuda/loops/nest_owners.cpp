// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/nest_owners.h"

#include <algorithm>

namespace graphc::core::cuda {
namespace {

bool sums_along_rows(const NestProgram& program) {
  return program.kind == NestKind::row_wise &&
         std::ranges::any_of(program.body,
                             [](const NestInstruction& in) { return in.kind == NestOp::reduce; });
}

}  // namespace

std::vector<Owner> owners_of(const LoopNests& nests) {
  std::vector<Owner> owners;
  for (size_t i = 0; i < nests.nests.size(); ++i) {
    const bool has_outer_axes = !nests.nests[i]->outer.empty();
    owners.push_back(has_outer_axes                      ? Owner::outer
                     : sums_along_rows(nests.program(i)) ? Owner::row
                                                         : Owner::element);
  }
  return owners;
}

std::vector<std::vector<size_t>> runs_beside_rows(const LoopNests& nests) {
  const std::vector<Owner> owners = owners_of(nests);
  std::vector<std::vector<size_t>> runs;
  std::vector<size_t> run;
  bool is_beside_rows = false;
  const auto end_run = [&] {
    if (is_beside_rows && !run.empty()) runs.push_back(run);
    run.clear();
    is_beside_rows = false;
  };
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] != Owner::element)
      is_beside_rows = true;
    else if (nests.program(i).kind == NestKind::row_wise)
      run.push_back(i);
    else
      end_run();
  }
  end_run();
  return runs;
}

}  // namespace graphc::core::cuda
