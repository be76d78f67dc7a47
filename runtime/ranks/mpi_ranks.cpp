// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/mpi_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/ranks/tree.h"
#include "runtime/streams.h"

namespace graphc::core {
namespace {

/// How long a rank that has ended waits for the others.
constexpr double kSecondsAtTheEnd = 10;

}  // namespace

std::string mpi_name(std::string_view library) {
  std::string_view line = library.substr(0, library.find('\n'));
  // "Open MPI v4.1.4, package: ..."; "MPICH Version:<tab>4.0.2"
  line = line.substr(0, line.find(','));
  std::string name;
  for (const char c : line) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space || (!name.empty() && name.back() != ' ')) name += is_space ? ' ' : c;
  }
  while (!name.empty() && (name.back() == ' ' || name.back() == '\0')) name.pop_back();
  return printable(name);
}

MpiRanks::MpiRanks(const GraphcMpiModule& module, MpiSizes sizes) : module_(module), sizes_(sizes) {
  if (const char* said = module_.start(&world_))
    throw resource_error("MPI does not start: {}", printable_message(said));
  if (world_.count > 1 && world_.local_count == world_.count && sizes_.shared > 0) share_memory();
}

void MpiRanks::share_memory() {
  std::vector<void*> found(size_t(world_.count));
  if (const char* said = module_.share(2 * sizes_.shared, found.data())) {
    if (world_.rank != 0) return;
    write_message(
        fmt::format("note: ranks exchange by messages, which is slower: no shared memory: {}",
                    printable_message(said)));
    return;
  }
  std::vector<std::byte*> parts;
  for (void* part : found) parts.push_back(static_cast<std::byte*>(part));
  shared_.emplace(size_t(world_.local_rank), std::move(parts), size_t(sizes_.shared),
                  [this] { check(module_.meet(), "an exchange"); });
}

MpiRanks::~MpiRanks() {
  const char* said = module_.finish(kSecondsAtTheEnd);
  if (said == nullptr) return;
  write_message(fmt::format("error: rank {} of {} has ended: {}: all end", world_.rank,
                            world_.count, printable_message(said)));
  module_.abort(int(ErrorKind::resource));
}

std::string MpiRanks::engine() const { return mpi_name(module_.library()); }

void MpiRanks::check(const char* said, std::string_view what) const {
  if (said == nullptr) return;
  throw resource_error("rank {} of {}: {}: {}", world_.rank, world_.count, what,
                       printable_message(said));
}

std::byte* MpiRanks::room(std::vector<std::byte>& buffer, size_t bytes) {
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

template <typename Number>
void MpiRanks::add_gathered(std::span<const Number> mine, std::span<Number> sum) {
  const size_t count = size_t(world_.count);
  std::byte* all = room(received_, count * mine.size_bytes());
  check(module_.all_gather(mine.data(), all, int64_t(mine.size_bytes())), "a sum");
  std::vector<const Number*> parts;
  for (size_t rank = 0; rank < count; ++rank)
    parts.push_back(reinterpret_cast<const Number*>(all) + rank * mine.size());
  sum_parts(parts, sum);
}

template <typename Number>
void MpiRanks::add_shares(std::span<const Number> mine, std::span<Number> sum) {
  const size_t count = size_t(world_.count);
  const size_t share = (mine.size() + count - 1) / count, bytes = share * sizeof(Number);
  // The last share may be shorter: then the messages are from and to a buffer.
  const bool even = share * count == mine.size();
  std::byte* padded = even ? nullptr : room(sent_, count * bytes);
  if (!even) {
    std::memcpy(padded, mine.data(), mine.size_bytes());
    std::memset(padded + mine.size_bytes(), 0, count * bytes - mine.size_bytes());
  }
  std::byte* received = room(received_, count * bytes);
  const void* sent = even ? static_cast<const void*>(mine.data()) : padded;
  check(module_.all_to_all(sent, received, int64_t(bytes)), "a sum");
  std::vector<const Number*> parts;
  for (size_t rank = 0; rank < count; ++rank)
    parts.push_back(reinterpret_cast<const Number*>(received + rank * bytes));
  auto* own = reinterpret_cast<Number*>(room(share_, bytes));
  sum_parts(parts, std::span(own, share));
  void* all = even ? static_cast<void*>(sum.data()) : padded;
  check(module_.all_gather(own, all, int64_t(bytes)), "a sum");
  if (!even) std::memcpy(sum.data(), padded, sum.size_bytes());
}

template <typename Number>
void MpiRanks::add(std::span<const Number> mine, std::span<Number> sum) {
  GRAPHC_CHECK(mine.size() == sum.size(), "the sum of {} values into {}", mine.size(), sum.size());
  if (mine.empty()) return;
  const size_t count = size_t(world_.count);
  if (count == 1) {
    if (mine.data() != sum.data()) std::ranges::copy(mine, sum.begin());
    return;
  }
  const Waiting waiting(*this);
  if (shared_) return shared_->sum(mine, sum, size_t(sizes_.gathered) / count);
  if (mine.size_bytes() * count <= size_t(sizes_.gathered)) return add_gathered(mine, sum);
  const size_t most = std::max<size_t>(1, size_t(sizes_.most) / sizeof(Number)) * count;
  for (size_t begin = 0; begin < mine.size(); begin += most) {
    const size_t size = std::min(most, mine.size() - begin);
    add_shares(mine.subspan(begin, size), sum.subspan(begin, size));
  }
}

void MpiRanks::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const size_t count = size_t(world_.count), most = size_t(sizes_.most);
  GRAPHC_CHECK(all.size() == count * mine.size(), "{} bytes of each of {} ranks into {}",
               mine.size(), count, all.size());
  const Waiting waiting(*this);
  if (mine.empty()) return;
  if (shared_) return shared_->all_gather(mine, all);
  if (mine.size() <= most)
    return check(module_.all_gather(mine.data(), all.data(), int64_t(mine.size())),
                 "gathering values");
  for (size_t begin = 0; begin < mine.size(); begin += most) {
    const size_t size = std::min(most, mine.size() - begin);
    std::byte* piece = room(received_, count * size);
    check(module_.all_gather(mine.data() + begin, piece, int64_t(size)), "gathering values");
    for (size_t rank = 0; rank < count; ++rank)
      std::memcpy(all.data() + rank * mine.size() + begin, piece + rank * size, size);
  }
}

void MpiRanks::broadcast(std::span<std::byte> values, int root) {
  GRAPHC_CHECK(root >= 0 && root < world_.count, "a broadcast from rank {} of {}", root,
               world_.count);
  const Waiting waiting(*this);
  const size_t most = size_t(sizes_.most);
  for (size_t begin = 0; begin < values.size(); begin += most) {
    const size_t size = std::min(most, values.size() - begin);
    check(module_.broadcast(values.data() + begin, int64_t(size), root), "a broadcast");
  }
}

void MpiRanks::barrier() {
  const Waiting waiting(*this);
  check(module_.barrier(), "a barrier");
}

void MpiRanks::abort(std::string_view message, int status) {
  write_message(message);
  module_.abort(status);
  // What is not MPI's does not end the program either.
  _exit(status);
}

}  // namespace graphc::core
