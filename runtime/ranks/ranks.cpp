// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

#include "ir/utf8.h"
#include "runtime/clock.h"
#include "runtime/ranks/agree.h"
#include "runtime/ranks/one_rank.h"
#include "runtime/streams.h"

namespace graphc::core {
namespace {

using namespace std::string_view_literals;

thread_local bool is_communication_thread = false;

/// What a measured sum has, and the limits of what follows from it.
constexpr size_t kMeasuredBytes = size_t{1} << 20;
constexpr double kLeastBucket = 1 << 16, kMostBucket = 1 << 23;

/// An error as text, its parts separated by '\0': kind, file, line, message, notes.
std::string packed(const Error& error) {
  const Where where = error.where();
  std::string text = fmt::format("{}\0{}\0{}\0{}"sv, int(error.kind()), where ? where.file : "",
                                 where.line, error.message());
  for (const std::string& note : error.notes()) text += fmt::format("\0{}"sv, note);
  return text;
}

Error unpacked(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  GRAPHC_CHECK(parts.size() >= 4, "an error that a rank packed has {} parts", parts.size());
  const Where where =
      parts[1].empty() ? Where() : Where{intern_file_name(parts[1]), std::stoi(parts[2]), 0};
  Error error(ErrorKind(std::stoi(parts[0])), where, parts[3]);
  for (size_t i = 4; i < parts.size(); ++i) error.note(parts[i]);
  return error;
}

/// Calls the function; the text of its error, or nothing.
std::string fault_of(const std::function<void()>& function) {
  try {
    function();
    return "";
  } catch (const Error& error) {
    return packed(error);
  } catch (const std::bad_alloc&) {
    return packed(resource_error("out of memory"));
  } catch (const std::exception& error) {
    return packed(Error(ErrorKind::internal, {}, error.what()));
  }
}

}  // namespace

Ranks::Waiting::Waiting(Ranks& ranks) : ranks_(ranks), began_(steady_seconds()) {}

Ranks::Waiting::~Waiting() {
  if (!is_communication_thread) ranks_.seconds_ += steady_seconds() - began_;
}

void Ranks::mark_communication_thread() { is_communication_thread = true; }

void Ranks::measure() {
  if (count() == 1) return;
  const double waited = seconds_;
  // The fastest of some: the first prepares memory, and other programs may disturb one.
  const auto fastest = [&](std::span<float> values, int times) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < times; ++i) {
      barrier();
      const double begun = steady_seconds();
      all_reduce(values);
      least = std::min(least, steady_seconds() - begun);
    }
    return least;
  };
  std::vector<float> values(kMeasuredBytes / sizeof(float));
  const double begins = fastest(std::span(values).first(1), 9);
  const double takes = std::max(fastest(values, 4) - begins, 1e-9);
  const double bytes = double(kMeasuredBytes) * begins / takes;
  // A power of two, so that runs on one machine have one plan.
  bucket_bytes_ = int64_t(std::bit_floor(uint64_t(std::clamp(bytes, kLeastBucket, kMostBucket))));
  broadcast(std::as_writable_bytes(std::span(&bucket_bytes_, 1)), 0);
  seconds_ = waited;
}

void OneRank::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  std::ranges::copy(mine, all.begin());
}

void OneRank::abort(std::string_view message, int status) {
  write_message(message);
  _exit(status);
}

std::vector<std::string> gather_texts(Ranks& ranks, std::string_view mine) {
  const auto count = size_t(ranks.count());
  const auto size = uint64_t(mine.size());
  std::vector<uint64_t> sizes(count);
  ranks.all_gather(std::as_bytes(std::span(&size, 1)), std::as_writable_bytes(std::span(sizes)));
  const uint64_t longest = *std::ranges::max_element(sizes);
  std::string padded(mine), all(count * longest, '\0');
  padded.resize(longest);
  if (longest > 0) {
    ranks.all_gather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)));
  }
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < count; ++rank)
    texts.push_back(all.substr(rank * longest, sizes[rank]));
  return texts;
}

std::string broadcast_text(Ranks& ranks, std::string_view text, int root) {
  auto size = uint64_t(text.size());
  ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  std::string all(ranks.rank() == root ? text : "");
  all.resize(size);
  if (size > 0) ranks.broadcast(std::as_writable_bytes(std::span(all)), root);
  return all;
}

void together(Ranks& ranks, const std::function<void()>& function) {
  if (ranks.count() == 1) return function();
  const std::vector<std::string> faults = gather_texts(ranks, fault_of(function));
  const auto first = std::ranges::find_if(faults, [](const std::string& s) { return !s.empty(); });
  if (first == faults.end()) return;
  Error error = unpacked(*first);
  const bool is_everyones = std::ranges::all_of(faults, [&](const auto& s) { return s == *first; });
  if (!is_everyones)
    error.note(fmt::format("on rank {} of {}", first - faults.begin(), ranks.count()));
  throw AgreedError(std::move(error));
}

void on_first(Ranks& ranks, const std::function<void()>& function) {
  together(ranks, [&] {
    if (ranks.rank() == 0) function();
  });
}

bool any_of_ranks(Ranks& ranks, bool mine) {
  if (ranks.count() == 1) return mine;
  const auto flag = std::byte(mine ? 1 : 0);
  std::vector<std::byte> all(size_t(ranks.count()));
  ranks.all_gather(std::span(&flag, 1), all);
  return std::ranges::find(all, std::byte(1)) != all.end();
}

void check_same(Ranks& ranks, std::string_view what, std::string_view value) {
  if (ranks.count() == 1) return;
  const std::vector<std::string> values = gather_texts(ranks, value);
  const auto other = std::ranges::find_if(values, [&](const auto& v) { return v != values[0]; });
  if (other == values.end()) return;
  throw AgreedError(input_error(
      {}, "{}: rank {} has '{}', and rank 0 has '{}': wanted the same on all {} ranks", what,
      other - values.begin(), printable(*other), printable(values[0]), ranks.count()));
}

}  // namespace graphc::core
