// SPDX-License-Identifier: Apache-2.0
// A rank of the tests with mpirun: does what its first argument says. Prints "rank R of N: ..."
// where something is wrong, and then ends with 4.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>
#include <string>

#include "runtime/cores.h"
#include "runtime/ranks/agree.h"
#include "runtime/ranks/binding.h"
#include "tests/runtime/ranks/serial_tree.h"
#include "tools/exit_code.h"

namespace graphc::core {
namespace {

using testing::sums_of;
using testing::values_of;

bool all_well = true;

void expect(Ranks& ranks, bool condition, const std::string& what) {
  if (condition) return;
  all_well = false;
  fmt::print("rank {} of {}: {}\n", ranks.rank(), ranks.count(), what);
}

template <typename Number>
void check_sums(Ranks& ranks) {
  for (const size_t size : {1, 2, 3, 7, 1000, 4099, 100'003}) {
    std::vector<Number> values = values_of<Number>(ranks.rank(), size);
    ranks.all_reduce(std::span(values));
    expect(ranks, values == sums_of<Number>(ranks.count(), size),
           fmt::format("the sum of {} values of {} bytes", size, sizeof(Number)));
  }
}

void sums(Ranks& ranks) {
  check_sums<float>(ranks);
  check_sums<double>(ranks);
  check_sums<BFloat16>(ranks);
}

void moves(Ranks& ranks) {
  for (const size_t size : {1, 5, 70'000}) {
    std::vector<int> all(size * size_t(ranks.count()));
    std::vector<int> mine(size);
    std::iota(mine.begin(), mine.end(), ranks.rank() * int(size));
    ranks.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    for (size_t i = 0; i < all.size(); ++i) expect(ranks, all[i] == int(i), "all_gather");
    for (int root = 0; root < ranks.count(); ++root) {
      std::vector<int> values(size, ranks.rank());
      ranks.broadcast(std::as_writable_bytes(std::span(values)), root);
      for (const int value : values) expect(ranks, value == root, "broadcast");
    }
  }
  ranks.barrier();
}

/// The last rank comes late: the time that the others wait is theirs.
void waits(Ranks& ranks) {
  const bool is_late = ranks.rank() == ranks.count() - 1;
  ranks.barrier();
  const double before = ranks.seconds();
  if (is_late) usleep(400'000);
  ranks.barrier();
  const double waited = ranks.seconds() - before;
  expect(ranks, is_late ? waited < 0.2 : waited > 0.2, fmt::format("waited {} s", waited));
}

void cores(Ranks& ranks) {
  const std::vector<std::string> all = gather_texts(
      ranks, fmt::format("{} threads on {}", default_thread_count(), to_text(allowed_cores())));
  if (ranks.rank() == 0) fmt::print("{}\n", fmt::join(all, "\n"));
}

int run(const std::string& what) {
  const std::shared_ptr<Ranks> ranks = Ranks::world();
  const int last = ranks->count() - 1;
  if (what == "sums") sums(*ranks);
  if (what == "moves") moves(*ranks);
  if (what == "waits") waits(*ranks);
  if (what == "cores") cores(*ranks);
  if (what == "engine" && ranks->rank() == 0)
    fmt::print("{} of {}, {}\n", ranks->local_count(), ranks->count(), ranks->engine());
  if (what == "differs") check_same(*ranks, "the corpus", ranks->rank() == last ? "b" : "a");
  if (what == "throws")
    on_first(*ranks, [] { throw resource_error("no space left on the device"); });
  if (what == "aborts") {
    if (ranks->rank() == last) ranks->abort(fmt::format("error: rank {} gives up", last), 3);
    ranks->barrier();
  }
  if (what == "dies") {
    if (ranks->rank() == last) raise(SIGKILL);
    ranks->barrier();
  }
  if (what == "ends" && ranks->rank() == 0) sleep(60);
  return all_well ? 0 : int(ErrorKind::check);
}

}  // namespace
}  // namespace graphc::core

int main(int argc, char** argv) {
  try {
    return graphc::core::run(argc > 1 ? argv[1] : "");
  } catch (...) {
    return graphc::core::report_exception();
  }
}
