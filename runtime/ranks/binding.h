// SPDX-License-Identifier: Apache-2.0
// Which cores of a machine each of its ranks computes on.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/cores.h"
#include "runtime/ranks/mpi_ranks.h"

namespace graphc::core {

/// The cores of rank `rank` among those of a machine, which may run on these cores: ranks that may
/// run on the same cores divide them, in order; with more ranks than cores, several share one.
Cores share_of_cores(std::span<const Cores> allowed, size_t rank);

/// Cores as text, "0+4 1+5", and back.
std::string to_text(const Cores& cores);
Cores cores_in(std::string_view text);

/// Open MPI binds each of at most two processes of a machine to one core, whatever they compute.
/// Undoes that for the calling thread, but not where Slurm has given the job its part of the
/// machine.
void undo_default_binding(int local_count);

/// Binds the calling thread, and so all that it makes from now on, to its rank's share of the
/// cores, after undo_default_binding(), and divides the control group's quota
/// (default_thread_count()). Collective.
void bind_rank(MpiRanks& ranks);

}  // namespace graphc::core
