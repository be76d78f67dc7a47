// SPDX-License-Identifier: Apache-2.0
// Sums and gathers of the ranks of one machine, through memory that they share.
//
// Each rank has a part of that memory, in two halves. It writes one half, meets the others, and
// then all read it; meanwhile the rank writes the other half. A half is written again only after
// the next meeting, which no rank reaches before it has read. So a piece of values costs one
// meeting, and between two of them there is always work. The sum of a rank's share is read one
// meeting later than what it is made of, while the half already takes the next piece. So it has a
// place of its own in the half, the same whatever the size of a piece.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace graphc::core {

class SharedExchange {
 public:
  /// Returns when all ranks have called it, and what they wrote to the memory before is there.
  using Meet = std::function<void()>;

  /// `parts[r]` is the part of rank r, of 2 * `half` bytes at a multiple of 64 bytes; `half` is at
  /// least 64 bytes for each rank.
  SharedExchange(size_t rank, std::vector<std::byte*> parts, size_t half, Meet meet);

  /// Sums as Ranks::all_reduce does. Values of at most `whole` bytes are added up by every rank,
  /// after one meeting; of more, every rank adds up its share of each piece.
  template <typename Number>
  void sum(std::span<const Number> mine, std::span<Number> sum, size_t whole);
  /// Gathers as Ranks::all_gather does.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all);

 private:
  std::byte* half_of(size_t rank, size_t turn) const;
  /// Where rank `rank` keeps what it has of the share of rank `of`.
  template <typename Number>
  Number* share_of(size_t rank, size_t of, size_t turn) const;
  size_t room_of_share() const;  ///< bytes
  template <typename Number>
  void sum_whole(std::span<const Number> mine, std::span<Number> sum);
  template <typename Number>
  void sum_shares(std::span<const Number> mine, std::span<Number> sum);
  // The three things that are done with a piece of a sum, each after a meeting.
  template <typename Number>
  void offer_shares(std::span<const Number> piece, size_t turn);
  template <typename Number>
  void add_own_share(std::span<const Number> piece, std::span<Number> sum, size_t turn);
  template <typename Number>
  void take_shares(std::span<Number> sum, size_t turn);

  const size_t rank_;
  const std::vector<std::byte*> parts_;
  const size_t half_;
  const Meet meet_;
  size_t turn_ = 0;  ///< the pieces exchanged so far: even ones are in the first half
};

}  // namespace graphc::core
