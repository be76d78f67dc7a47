// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/shared_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/error.h"
#include "ir/stored.h"
#include "runtime/ranks/tree.h"

namespace graphc::core {
namespace {

/// Shares begin at multiples of a cache line, so that no two ranks write one.
constexpr size_t kLine = 64;

template <typename Element>
void copy(std::span<const Element> from, void* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size_bytes());
}

/// The share of a rank in a piece: whole lines; the last shares may be shorter, or empty.
template <typename Element>
std::span<Element> share_in(std::span<Element> piece, size_t ranks, size_t rank) {
  const size_t lines = ranks * (kLine / sizeof(Element));
  const size_t share = (piece.size() + lines - 1) / lines * (kLine / sizeof(Element));
  const size_t begin = std::min(rank * share, piece.size());
  return piece.subspan(begin, std::min(share, piece.size() - begin));
}

}  // namespace

SharedExchange::SharedExchange(size_t rank, std::vector<std::byte*> parts, size_t half, Meet meet)
    : rank_(rank), parts_(std::move(parts)), half_(half), meet_(std::move(meet)) {
  GRAPHC_CHECK(rank < parts_.size() && half >= kLine * parts_.size() && half % kLine == 0,
               "{} bytes of rank {} of {}", half, rank, parts_.size());
}

std::byte* SharedExchange::half_of(size_t rank, size_t turn) const {
  return parts_[rank] + (turn % 2 == 0 ? 0 : half_);
}

template <typename Number>
Number* SharedExchange::share_of(size_t rank, size_t of, size_t turn) const {
  return reinterpret_cast<Number*>(half_of(rank, turn) + of * room_of_share());
}

template <typename Number>
void SharedExchange::sum(std::span<const Number> mine, std::span<Number> sum, size_t whole) {
  if (mine.size_bytes() <= std::min(whole, half_)) return sum_whole(mine, sum);
  sum_shares(mine, sum);
}

template <typename Number>
void SharedExchange::sum_whole(std::span<const Number> mine, std::span<Number> sum) {
  copy(mine, half_of(rank_, turn_));
  meet_();
  std::vector<const Number*> terms;
  for (size_t rank = 0; rank < parts_.size(); ++rank)
    terms.push_back(reinterpret_cast<const Number*>(half_of(rank, turn_)));
  sum_parts(terms, sum);
  ++turn_;
}

size_t SharedExchange::room_of_share() const { return half_ / parts_.size() / kLine * kLine; }

template <typename Number>
void SharedExchange::sum_shares(std::span<const Number> mine, std::span<Number> sum) {
  const size_t most = parts_.size() * room_of_share() / sizeof(Number);
  const size_t pieces = (mine.size() + most - 1) / most;
  const auto piece = [&](auto values, size_t i) {
    return values.subspan(i * most, std::min(most, values.size() - i * most));
  };
  for (size_t step = 0; step < pieces + 2; ++step) {
    if (step < pieces) offer_shares(piece(mine, step), turn_ + step);
    if (step >= 1 && step <= pieces)
      add_own_share(piece(mine, step - 1), piece(sum, step - 1), turn_ + step - 1);
    if (step >= 2) take_shares(piece(sum, step - 2), turn_ + step - 2);
    if (step <= pieces) meet_();
  }
  turn_ += pieces;
}

template <typename Number>
void SharedExchange::offer_shares(std::span<const Number> piece, size_t turn) {
  for (size_t other = 0; other < parts_.size(); ++other) {
    if (other == rank_) continue;
    copy(share_in(piece, parts_.size(), other), share_of<Number>(rank_, other, turn));
  }
}

template <typename Number>
void SharedExchange::add_own_share(std::span<const Number> piece, std::span<Number> sum,
                                   size_t turn) {
  const std::span<const Number> own = share_in(piece, parts_.size(), rank_);
  const std::span<Number> to = share_in(sum, parts_.size(), rank_);
  std::vector<const Number*> terms;
  for (size_t rank = 0; rank < parts_.size(); ++rank)
    terms.push_back(rank == rank_ ? own.data() : share_of<Number>(rank, rank_, turn));
  sum_parts(terms, to);
  // Where this rank's share of the piece would be, which it does not send.
  copy(std::span<const Number>(to), share_of<Number>(rank_, rank_, turn));
}

template <typename Number>
void SharedExchange::take_shares(std::span<Number> sum, size_t turn) {
  for (size_t other = 0; other < parts_.size(); ++other) {
    if (other == rank_) continue;
    const std::span<Number> to = share_in(sum, parts_.size(), other);
    if (!to.empty()) std::memcpy(to.data(), share_of<Number>(other, other, turn), to.size_bytes());
  }
}

void SharedExchange::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const size_t pieces = (mine.size() + half_ - 1) / half_;
  const auto size = [&](size_t i) { return std::min(half_, mine.size() - i * half_); };
  for (size_t step = 0; step <= pieces; ++step) {
    if (step < pieces) copy(mine.subspan(step * half_, size(step)), half_of(rank_, turn_ + step));
    for (size_t rank = 0; step >= 1 && rank < parts_.size(); ++rank) {
      std::memcpy(all.data() + rank * mine.size() + (step - 1) * half_,
                  half_of(rank, turn_ + step - 1), size(step - 1));
    }
    if (step < pieces) meet_();
  }
  turn_ += pieces;
}

template void SharedExchange::sum(std::span<const float>, std::span<float>, size_t);
template void SharedExchange::sum(std::span<const double>, std::span<double>, size_t);
template void SharedExchange::sum(std::span<const BFloat16>, std::span<BFloat16>, size_t);

}  // namespace graphc::core
