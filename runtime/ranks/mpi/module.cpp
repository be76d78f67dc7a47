// SPDX-License-Identifier: Apache-2.0
// The module graphc_mpi: the functions of runtime/ranks/mpi_module.h over MPI, in its C interface
// of version 3.0. Nothing here decides anything: the algorithms are in runtime/ranks/mpi_ranks.cpp.
#include <mpi.h>
#include <time.h>

#include <cstdio>

#include "runtime/ranks/mpi_module.h"

namespace {

/// A communicator of our own, so that a program's messages are never taken for ours.
MPI_Comm ranks = MPI_COMM_NULL;
bool started_here = false;

char text[MPI_MAX_ERROR_STRING + 64];

/// Null for success, else what MPI says of the error.
const char* said(int code) {
  if (code == MPI_SUCCESS) return nullptr;
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    std::snprintf(text, sizeof(text), "MPI error %d", code);
  return text;
}

const char* library() {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (version[0] == '\0') MPI_Get_library_version(version, &length);
  return version;
}

/// The ranks of this machine, and the lowest of them.
int find_machine(GraphcMpiWorld* world) {
  MPI_Comm local = MPI_COMM_NULL;
  int code = MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &local);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_rank(local, &world->local_rank);
  MPI_Comm_size(local, &world->local_count);
  world->machine = world->rank;
  code = MPI_Bcast(&world->machine, 1, MPI_INT, 0, local);
  MPI_Comm_free(&local);
  return code;
}

const char* start(GraphcMpiWorld* world) {
  int is_started = 0, offered = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_started);
  if (is_started != 0) {
    MPI_Query_thread(&offered);
  } else {
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &offered);
    if (code != MPI_SUCCESS) return said(code);
    started_here = true;
  }
  if (offered < MPI_THREAD_SERIALIZED)
    return "this MPI is started for one thread alone: wanted MPI_THREAD_SERIALIZED";
  // Errors are returned, so that graphc can say what it was doing.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const char* error = said(MPI_Comm_dup(MPI_COMM_WORLD, &ranks))) return error;
  MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN);
  MPI_Comm_rank(ranks, &world->rank);
  MPI_Comm_size(ranks, &world->count);
  return said(find_machine(world));
}

const char* all_to_all(const void* mine, void* received, int64_t bytes) {
  return said(MPI_Alltoall(mine, int(bytes), MPI_BYTE, received, int(bytes), MPI_BYTE, ranks));
}

const char* all_gather(const void* mine, void* all, int64_t bytes) {
  return said(MPI_Allgather(mine, int(bytes), MPI_BYTE, all, int(bytes), MPI_BYTE, ranks));
}

const char* broadcast(void* values, int64_t bytes, int root) {
  return said(MPI_Bcast(values, int(bytes), MPI_BYTE, root, ranks));
}

const char* barrier() { return said(MPI_Barrier(ranks)); }

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// MPI_Finalize() would wait for ever for a rank that never comes.
const char* finish(double seconds) {
  MPI_Request all_here = MPI_REQUEST_NULL;
  if (const char* error = said(MPI_Ibarrier(ranks, &all_here))) return error;
  const double deadline = now() + seconds;
  for (int done = 0;;) {
    if (const char* error = said(MPI_Test(&all_here, &done, MPI_STATUS_IGNORE))) return error;
    if (done != 0) break;
    if (now() > deadline) return "the other ranks go on";
    const timespec nap{.tv_sec = 0, .tv_nsec = 200'000};
    nanosleep(&nap, nullptr);
  }
  MPI_Comm_free(&ranks);
  return started_here ? said(MPI_Finalize()) : nullptr;
}

void end_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

const GraphcMpiModule module{.version = kGraphcMpiVersion,
                             .library = library,
                             .start = start,
                             .all_to_all = all_to_all,
                             .all_gather = all_gather,
                             .broadcast = broadcast,
                             .barrier = barrier,
                             .finish = finish,
                             .abort = end_all};

}  // namespace

extern "C" __attribute__((visibility("default"))) const GraphcMpiModule* graphc_mpi() {
  return &module;
}
