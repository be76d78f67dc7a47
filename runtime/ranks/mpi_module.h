// SPDX-License-Identifier: Apache-2.0
// The interface of the module graphc_mpi: a table of functions in C. The module alone knows MPI,
// so that one graphc serves every MPI, and none.
#pragma once

#include <stdint.h>

extern "C" {

/// The processes that MPI started.
struct GraphcMpiWorld {
  int rank, count;
  int local_rank, local_count;  ///< of those that share this machine's memory
  int machine;                  ///< the lowest rank of this machine
};

/// What the module offers. Functions that return text return null, or in words what went wrong,
/// valid until the next call. All but `library` and `abort` are collective: every rank calls them
/// in the same order and with the same sizes. One thread at a time calls them. Sizes of a call are
/// at most 2^30 bytes for each rank.
struct GraphcMpiModule {
  int version;  ///< kGraphcMpiVersion
  /// The name and version of the MPI library, on the first line. Needs no start().
  const char* (*library)(void);
  /// Starts MPI, unless the program has started it.
  const char* (*start)(struct GraphcMpiWorld* world);
  /// `mine` and `received` have a part of `bytes` for each rank, and from each rank.
  const char* (*all_to_all)(const void* mine, void* received, int64_t bytes);
  /// `all` has `bytes` of each rank.
  const char* (*all_gather)(const void* mine, void* all, int64_t bytes);
  const char* (*broadcast)(void* values, int64_t bytes, int root);
  const char* (*barrier)(void);
  /// Memory that the ranks of a machine share, from now to the end: `parts[i]` is that of local
  /// rank i, of so many bytes each, at a multiple of 64. Called at most once; text on all of these
  /// ranks if there is no such memory.
  const char* (*share)(int64_t bytes, void** parts);
  /// Returns when all ranks of this machine have called it, and what they wrote to the memory that
  /// they share is there. Meanwhile the thread sleeps: its core is free for the others of this
  /// rank.
  const char* (*meet)(void);
  /// Ends MPI once every rank has called this. Text if they have not after so many seconds.
  const char* (*finish)(double seconds);
  /// Ends the processes of all ranks.
  void (*abort)(int status);
};

/// Changes with any change of the table.
enum { kGraphcMpiVersion = 2 };

/// The one function that the module exports.
const struct GraphcMpiModule* graphc_mpi(void);
}
