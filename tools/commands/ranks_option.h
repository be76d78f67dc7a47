// SPDX-License-Identifier: Apache-2.0
// The ranks of a command: those of mpirun or srun, or one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/ranks/ranks.h"

namespace graphc::core::commands {

/// The ranks for --ranks: `on` is those of the launcher, `off` one rank. Throws ErrorKind::usage
/// for another word.
std::shared_ptr<Ranks> launched_ranks(const std::string& with_ranks);

/// "4 ranks on 2 machines (Open MPI v4.1.4), 2 threads each", for people; 0 threads are those that
/// each rank has cores for. Collective.
std::string ranks_text(Ranks& ranks, int threads);

/// The current exception as the end of a command on several ranks; call it in a catch block. An
/// AgreedError, and any other if `is_alike` says that all ranks have one, is reported by rank 0,
/// and is its exit code on all. Any other ends all ranks.
int report_on_ranks(Ranks& ranks, bool is_alike);

/// `mine` of every rank, in their order. Collective.
template <typename Number>
std::vector<Number> gathered(Ranks& ranks, Number mine) {
  std::vector<Number> all(size_t(ranks.count()));
  ranks.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace graphc::core::commands
