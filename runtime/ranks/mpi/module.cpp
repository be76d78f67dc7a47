// SPDX-License-Identifier: Apache-2.0
// The module graphc_mpi: the functions of runtime/ranks/mpi_module.h over MPI, in its C interface
// of version 3.0. Nothing here decides anything: the algorithms are in runtime/ranks/mpi_ranks.cpp.
#include <mpi.h>
#include <pthread.h>
#include <time.h>

#include <cstdio>

#include "runtime/ranks/mpi_module.h"

namespace {

/// A communicator of our own, so that a program's messages are never taken for ours.
MPI_Comm ranks = MPI_COMM_NULL;
/// The ranks of this machine, and the memory that they share.
MPI_Comm local = MPI_COMM_NULL;
MPI_Win shared = MPI_WIN_NULL;
pthread_barrier_t* meeting = nullptr;  ///< in that memory
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
  const int code =
      MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &local);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_rank(local, &world->local_rank);
  MPI_Comm_size(local, &world->local_count);
  world->machine = world->rank;
  return MPI_Bcast(&world->machine, 1, MPI_INT, 0, local);
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

/// The barrier behind the part of local rank 0.
int make_meeting(void* at, int count) {
  meeting = static_cast<pthread_barrier_t*>(at);
  int rank = 0;
  MPI_Comm_rank(local, &rank);
  if (rank != 0) return 0;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  int error = pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (error == 0) error = pthread_barrier_init(meeting, &attributes, unsigned(count));
  pthread_barrierattr_destroy(&attributes);
  return error;
}

/// Where the parts are, with a barrier. True if it went well here.
bool map_parts(int64_t bytes, int count, void** parts) {
  for (int rank = 0; rank < count; ++rank) {
    MPI_Aint size = 0;
    int unit = 0;
    if (MPI_Win_shared_query(shared, rank, &size, &unit, &parts[rank]) != MPI_SUCCESS) return false;
  }
  // Loads and stores instead of MPI's own: they need an epoch, and MPI_Win_sync().
  if (MPI_Win_lock_all(MPI_MODE_NOCHECK, shared) != MPI_SUCCESS) return false;
  return make_meeting(static_cast<char*>(parts[0]) + bytes, count) == 0;
}

const char* share(int64_t bytes, void** parts) {
  int count = 0;
  MPI_Comm_size(local, &count);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  // Each part in pages of its own.
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  void* own = nullptr;
  const MPI_Aint size = MPI_Aint(bytes) + MPI_Aint(sizeof(pthread_barrier_t));
  const int made = MPI_Win_allocate_shared(size, 1, info, local, &own, &shared);
  MPI_Info_free(&info);
  int well = made == MPI_SUCCESS && map_parts(bytes, count, parts) ? 1 : 0;
  if (const char* error = said(MPI_Allreduce(MPI_IN_PLACE, &well, 1, MPI_INT, MPI_MIN, local)))
    return error;
  if (well != 0) return nullptr;
  const char* reason = said(made);
  return reason != nullptr ? reason : "a rank has no memory that it shares";
}

const char* meet() {
  if (const char* error = said(MPI_Win_sync(shared))) return error;
  const int code = pthread_barrier_wait(meeting);
  if (code != 0 && code != PTHREAD_BARRIER_SERIAL_THREAD) return "pthread_barrier_wait() failed";
  return said(MPI_Win_sync(shared));
}

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
  if (shared != MPI_WIN_NULL) {
    MPI_Win_unlock_all(shared);
    MPI_Win_free(&shared);
  }
  MPI_Comm_free(&local);
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
                             .share = share,
                             .meet = meet,
                             .finish = finish,
                             .abort = end_all};

}  // namespace

extern "C" __attribute__((visibility("default"))) const GraphcMpiModule* graphc_mpi() {
  return &module;
}
