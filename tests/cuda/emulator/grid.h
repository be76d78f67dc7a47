// SPDX-License-Identifier: Apache-2.0
// A launch while it runs: the threads that are resident, and what they know of each other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/cuda/emulator/code.h"
#include "tests/cuda/emulator/run.h"
#include "tests/cuda/emulator/shadow.h"

namespace graphc::core::cuda_emulator {

struct Grid;

/// Which accesses of others a thread has heard of: those of a block before a clock, those of a
/// thread up to one. Sorted.
struct Heard {
  std::vector<std::pair<uint32_t, uint32_t>> blocks, threads;

  bool of_block(uint32_t block, uint32_t clock) const;
  bool of_thread(uint32_t thread, uint32_t clock) const;
};
using HeardPtr = std::shared_ptr<const Heard>;
/// What either has heard: one of the two themselves where it has heard all of the other.
HeardPtr joined(const HeardPtr& a, const HeardPtr& b);

/// What the lanes of a warp acquired since the last __syncthreads, read without a fence behind it,
/// and will release by their next atomic operation. Most warps need none of it.
struct Fences {
  std::array<HeardPtr, lanes_of_warp> acquired, read, released;
};

/// What a lane found when it polled last.
struct Poll {
  uint64_t address = 0, version = 0;
  uint32_t pc = 0;
};

/// A copy from memory to the block's shared memory that is on its way.
struct Copy {
  uint64_t to = 0, from = 0;    ///< offset in the shared memory; address
  uint32_t read = 0, size = 0;  ///< bytes that are read; bytes, those behind them zeros
  std::array<std::byte, 16> bytes{};
  uint64_t group = 0;
  uint32_t pc = 0;
};
/// Those of a lane, and how many groups of them it has ended.
struct LaneCopies {
  std::vector<Copy> on_the_way;
  uint64_t groups = 0;
};

struct Block;
struct Cluster;

struct Warp {
  std::byte* frame = nullptr;
  Grid* grid = nullptr;
  Block* block = nullptr;
  uint32_t index = 0;       ///< in its block
  uint32_t lanes = 0;       ///< that there are
  uint32_t running = 0;     ///< neither gone nor waiting
  uint32_t at_barrier = 0;  ///< wait for the block
  uint32_t gathering = 0;   ///< wait for lanes of the warp
  uint32_t parked = 0;      ///< wait for a change where they poll
  uint32_t left = 0;        ///< done
  uint32_t unchanged = 0;   ///< of the last poll: lanes that changed nothing
  uint32_t came = 0;        ///< to the barrier of their cluster, and have not waited there
  uint32_t may_pass = 0;    ///< of those, for whom all others have come
  uint32_t at_cluster = 0;  ///< of those, who wait
  bool ready = false;       ///< in the grid's list
  std::array<uint32_t, lanes_of_warp> pc{}, clock{};
  /// known[t][u]: what lane t has heard of lane u, if known_at is the block's base.
  std::array<std::array<uint32_t, lanes_of_warp>, lanes_of_warp> known;
  uint32_t known_at = 0;
  std::unique_ptr<Fences> fences;
  std::unique_ptr<std::array<LaneCopies, lanes_of_warp>> copies;
  std::array<Poll, lanes_of_warp> polls{};
  std::array<uint64_t, lanes_of_warp> polled{};  ///< addresses, of Control::poll_mbarrier
  Allocation local;
  std::unique_ptr<std::byte[]> frame_memory, local_memory;

  template <typename T>
  T* slot(uint32_t offset) const {
    return reinterpret_cast<T*>(frame + offset);
  }
  uint32_t thread(uint32_t lane) const;  ///< of the grid: the block's number and ten bits
  uint32_t number() const;               ///< of the grid: the block's number and five bits
};

/// The latest access of a thread to the shared memory of another block.
struct RemoteAccess {
  uint32_t clock = 0, pc = 0;
};

/// An mbarrier in shared memory. A phase ends when all arrivals have come, and as many bytes as
/// they said to expect.
struct Mbarrier {
  uint32_t wanted = 0, pending = 0;  ///< arrivals of a phase, and those that have not come
  int64_t bytes = 0;                 ///< expected and not there yet; negative: more than expected
  int64_t came = 0;                  ///< bytes, in this phase
  uint64_t phase = 0;
  uint32_t by = 0, clock = 0;  ///< the thread that initialised it, and when
  bool is_fenced = false;      ///< whether other blocks may use it, once they have heard of it
  /// Whoever is told of a phase has heard of all accesses of the asynchronous writes that it
  /// counted. They count as those of a thread of their own, so that nobody else hears of them.
  uint32_t writer = 0, writes = 0;
  std::set<HeardPtr> gathered;  ///< from this phase
  HeardPtr told;                ///< from those that are over
};

struct Block {
  uint32_t index = 0;
  unsigned at[3] = {0, 0, 0};
  uint32_t counter = 0;  ///< the last clock handed out
  uint32_t base = 0;     ///< accesses before this clock are ordered for all of its threads
  HeardPtr heard;        ///< of other blocks, by all of its threads
  unsigned threads = 0, arrived = 0, left = 0;
  uint32_t barrier = 0;  ///< the pc where they arrived
  int32_t any = 0;       ///< of __syncthreads_or, once all arrived
  std::vector<std::unique_ptr<Warp>> warps;
  Allocation shared;
  std::unique_ptr<std::byte[]> shared_memory;
  Cluster* cluster = nullptr;
  std::unordered_map<uint32_t, RemoteAccess> remote;  ///< to `shared`, by thread of the grid
  std::map<uint64_t, Mbarrier> mbarriers;             ///< by their offset in `shared`
  /// By thread: its accesses up to that clock are ordered before asynchronous copies.
  std::unordered_map<uint32_t, uint32_t> fenced;

  /// copies.cpp: the copy on its way to a byte of `shared`; null: there is none.
  const Copy* copy_to(uint64_t offset) const;
};

/// Writes into the shared memory of a block of the cluster that are on their way: those of lanes
/// that did the same instruction, which arrive together.
struct AsynchronousWrite {
  Block* to = nullptr;
  uint64_t mbarrier = 0;          ///< in the block's shared memory
  std::vector<uint64_t> offsets;  ///< the same; the bytes are of equal parts
  std::vector<std::byte> bytes;
  Block* from = nullptr;  ///< of a copy: whose shared memory is read
  uint64_t source = 0;    ///< and where
  Warp* warp = nullptr;   ///< whose lane began it
  uint32_t lane = 0, thread = 0, pc = 0;
  HeardPtr heard;  ///< by that thread
};

/// Blocks that are resident together and reach each other's shared memory. Without clusters, one.
struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  unsigned threads = 0, arrived = 0, left = 0;  ///< of all its blocks
  uint32_t barrier = 0;                         ///< the pc where they arrived
  /// What those who came between the arrival and the wait had heard, and what all had who came
  /// last. Unused where the wait follows the arrival at once.
  HeardPtr coming, came;
};

/// In a list of Accesses: a block, or lanes of a warp, and the latest clock of their accesses.
struct Reader {
  uint32_t next = 0, who = 0, clock = 0, pc = 0;
  uint32_t lanes = 0;  ///< of a warp; 0: of a block
};

/// Draws that depend on the seed alone.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {}
  uint32_t below(uint32_t bound) { return uint32_t((uint64_t(bits()) * bound) >> 32); }
  uint32_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return uint32_t((state_ * 0x2545F4914F6CDD1Du) >> 32);
  }

 private:
  uint64_t state_;
};

struct Grid {
  Grid(const Program& program, const Launch& launch, DeviceMemory& memory);

  const Program& program;
  const Launch& launch;
  DeviceMemory& memory;
  Draw draw;
  uint64_t generation = next_generation();
  uint32_t blocks = 0;
  std::vector<Allocation*> cached;                  ///< where each instruction last went
  std::vector<Reader> readers{1};                   ///< the first stands for the end of a list
  std::vector<Accesses> atomics{1};                 ///< the first stands for none
  std::unordered_map<uint64_t, HeardPtr> released;  ///< by atomics, at an address
  uint64_t version = 1;                             ///< of what is polled
  std::vector<uint64_t> changed;  ///< addresses, since parked threads were looked at
  std::vector<AsynchronousWrite> on_the_way;
  std::vector<std::string> writers;  ///< names of what wrote asynchronously (Mbarrier::writer)

  /// The memory at an address, as the warp sees it; null: there is none.
  Allocation* lookup(Warp& warp, uint64_t address);

  // races.cpp: an access of `bytes` at `offset`, aligned and inside. Throw at a race.
  void on_read(Warp& warp, uint32_t lane, Allocation& where, uint64_t offset, uint32_t bytes,
               uint32_t pc);
  /// `same`: it writes what is there already.
  void on_write(Warp& warp, uint32_t lane, Allocation& where, uint64_t offset, uint32_t bytes,
                uint32_t pc, bool same);
  enum class Atomic { load, store, update };
  void on_atomic(Warp& warp, uint32_t lane, Allocation& where, uint64_t offset, uint32_t bytes,
                 uint32_t pc, Atomic what);

  /// The same of an asynchronous write, by a thread `writer` that is none of the grid's.
  void on_asynchronous_write(const AsynchronousWrite& write, uint32_t writer, uint32_t clock);
  /// A lane reads these bytes for an asynchronous copy.
  void on_copied(Warp& warp, uint32_t lane, Allocation& where, uint64_t offset, uint32_t bytes,
                 uint32_t pc);

  // synchronize.cpp: what threads tell each other
  void synchronize_block(Block& block);
  void synchronize_lanes(Warp& warp, uint32_t lanes);
  /// All threads of all its blocks have come together.
  void synchronize_cluster(Cluster& cluster);
  void come_to_cluster(Warp& warp, uint32_t lane);
  void go_on_from_cluster(Warp& warp, uint32_t lane);
  void acquire(Warp& warp, uint32_t lane, uint64_t address);
  void release(Warp& warp, uint32_t lane, uint64_t address);
  void relaxed_load(Warp& warp, uint32_t lane, uint64_t address);
  void relaxed_update(Warp& warp, uint32_t lane, uint64_t address);
  void fence(Warp& warp, uint32_t lane);
  /// What these lanes, which do something together, have heard of, themselves included.
  HeardPtr told_by(Warp& warp, uint32_t lanes);
  void hear(Warp& warp, uint32_t lanes, const HeardPtr& told);
  bool heard_of_thread(const Warp& warp, uint32_t lane, uint32_t thread, uint32_t clock) const;
  bool heard_of_block(const Warp& warp, uint32_t lane, uint32_t block, uint32_t clock) const;

  // cluster.cpp
  /// An access to the shared memory of another block: it has begun, and is not done.
  void on_remote(Warp& warp, uint32_t lane, const Allocation& where, uint32_t pc);
  /// Throws if the block may not have begun, or is done.
  void check_reach(const Warp& warp, uint32_t lane, const Block& other, uint32_t pc) const;
  /// Throws if somebody may still access the shared memory of a block whose threads are done.
  void check_remote(const Block& block, const Warp& warp, uint32_t lane, uint32_t pc) const;

  // asynchronous.cpp
  /// Does one of the asynchronous writes, any.
  void deliver();
  /// Throws if a block whose threads are done has asynchronous writes to come, or has received too
  /// few or too many.
  void check_mbarriers(const Block& block, const Warp& warp, uint32_t lane, uint32_t pc) const;

  // copies.cpp
  /// Throws if lanes that are done have copies on their way.
  void check_copies(const Warp& warp, uint32_t lanes, uint32_t pc) const;

  std::string thread_name(uint32_t thread) const;  ///< "block (0,0,0) thread (3,0,0)"
  std::string block_name(uint32_t block) const;
  [[noreturn]] void fail(const Warp& warp, uint32_t lane, uint32_t pc,
                         const std::string& message) const;
};

inline uint32_t Warp::thread(uint32_t lane) const { return block->index << 10 | index << 5 | lane; }
inline uint32_t Warp::number() const { return block->index << 5 | index; }

inline uint32_t place_of(const Warp& warp, const Instruction& instruction) {
  return uint32_t(&instruction - warp.grid->program.code.data());
}

/// Ends the launch: an error at this instruction of this lane.
[[noreturn]] void lane_error(const Warp& warp, const Instruction& instruction, uint32_t lane,
                             const std::string& message);

}  // namespace graphc::core::cuda_emulator
