// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/collectives.h"

#include <cstring>

#include "codegen/step/collectives.h"
#include "codegen/step/visit.h"
#include "ir/error.h"
#include "runtime/clock.h"
#include "runtime/ranks/thread_ranks.h"
#include "runtime/ranks/tree.h"

namespace graphc::core::cpu {
namespace {

/// What is written by a collective, and what is read for it: terms of a sum, or one value.
struct Piece {
  std::vector<const std::byte*> from;
  std::byte* to = nullptr;
  size_t bytes = 0;  ///< of what is read
};

/// From so many bytes on, an exchange of its own costs less than the way into a bucket and back.
constexpr size_t kLargePiece = size_t{1} << 17;

/// Adds the terms of a piece in the tree of Ranks::all_reduce.
template <typename Number, typename Sum>
void add_terms(const Piece& piece, std::span<Sum> to) {
  std::vector<const Number*> terms;
  for (const std::byte* from : piece.from) terms.push_back(reinterpret_cast<const Number*>(from));
  sum_parts(terms, to);
}

template <typename Number>
void add_terms(const Piece& piece, std::byte* to) {
  add_terms<Number>(piece, std::span(reinterpret_cast<Number*>(to), piece.bytes / sizeof(Number)));
}

template <typename Number>
void sum_piece(Ranks& ranks, const Piece& piece) {
  const std::span sum(reinterpret_cast<Number*>(piece.to), piece.bytes / sizeof(Number));
  const bool is_one = piece.from.size() == 1;
  if (!is_one || ranks.count() == 1) add_terms<Number>(piece, piece.to);
  if (ranks.count() == 1) return;
  const auto* mine = is_one ? reinterpret_cast<const Number*>(piece.from[0]) : sum.data();
  ranks.all_reduce(std::span(mine, sum.size()), sum);
}

/// The sums of pieces: of a single or large one by itself, of the others through a bucket.
template <typename Number>
void sum_pieces(Ranks& ranks, std::vector<Piece> pieces, std::vector<std::byte>& bucket) {
  const bool alone = pieces.size() == 1 || ranks.count() == 1;
  const auto small = std::ranges::stable_partition(
      pieces, [&](const Piece& piece) { return alone || piece.bytes >= kLargePiece; });
  for (auto piece = pieces.begin(); piece != small.begin(); ++piece)
    sum_piece<Number>(ranks, *piece);
  pieces.erase(pieces.begin(), small.begin());
  size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  bucket.resize(bytes);
  size_t at = 0;
  for (const Piece& piece : pieces) {
    add_terms<Number>(piece, bucket.data() + at);
    at += piece.bytes;
  }
  if (bytes > 0)
    ranks.all_reduce(std::span(reinterpret_cast<Number*>(bucket.data()), bytes / sizeof(Number)));
  at = 0;
  for (const Piece& piece : pieces) {
    std::memcpy(piece.to, bucket.data() + at, piece.bytes);
    at += piece.bytes;
  }
}

/// One sum of all pieces, whose terms are f32, sent in bf16 through a bucket.
void sum_pieces_in_bf16(Ranks& ranks, const std::vector<Piece>& pieces,
                        std::vector<std::byte>& bucket) {
  // What is not sent is not rounded.
  if (ranks.count() == 1) return sum_pieces<float>(ranks, pieces, bucket);
  size_t count = 0;
  for (const Piece& piece : pieces) count += piece.bytes / sizeof(float);
  bucket.resize(count * sizeof(BFloat16));
  const std::span all(reinterpret_cast<BFloat16*>(bucket.data()), count);
  const auto each = [&](const auto& function) {
    size_t at = 0;
    for (const Piece& piece : pieces) {
      const std::span own = all.subspan(at, piece.bytes / sizeof(float));
      function(piece, own);
      at += own.size();
    }
  };
  each([](const Piece& piece, std::span<BFloat16> own) { add_terms<float>(piece, own); });
  ranks.all_reduce(all);
  each([](const Piece& piece, std::span<BFloat16> own) {
    widen(own, reinterpret_cast<float*>(piece.to));
  });
}

void gather(Ranks& ranks, const Piece& piece) {
  ranks.all_gather({piece.from[0], piece.bytes}, {piece.to, piece.bytes * size_t(ranks.count())});
}

}  // namespace

std::unique_ptr<Collectives> Collectives::of(const Plan& plan,
                                             const std::shared_ptr<Ranks>& ranks) {
  int64_t wanted = 0;
  const auto find = [&](const auto& self, const std::vector<Record>& records) -> void {
    for (const Record& record : records) {
      if (const ExternCall* call = collective_of(record)) wanted = call->parameter("ranks");
      if (const LoopCall* loop = loop_of_phases(record)) self(self, loop->body);
    }
  };
  find(find, plan.records);
  if (wanted == 0) return nullptr;
  const int found = ranks == nullptr ? 1 : ranks->count();
  if (wanted != found) {
    throw input_error({}, "graph @{} is that of one of {} ranks: found {}", plan.name, wanted,
                      found);
  }
  return std::make_unique<Collectives>(
      Communicator::of(ranks != nullptr ? ranks : thread_ranks(1)[0]));
}

void Collectives::begin(const ExternCall& call, const std::vector<char*>& operands,
                        PlanProfile* profile) {
  std::vector<Piece> pieces;
  const size_t reads = reads_of(call);
  const size_t terms = size_t(call.parameter("terms"));
  for (size_t i = 0; i < reads; ++i) {
    if (i % terms == 0) {
      pieces.push_back({.from = {},
                        .to = reinterpret_cast<std::byte*>(operands[reads + i / terms]),
                        .bytes = size_t(call.operands[i].bytes)});
    }
    pieces.back().from.push_back(reinterpret_cast<const std::byte*>(operands[i]));
  }
  begun_as_[call.parameter("call")] = ++begun_;
  const bool wide = DType(call.parameter("dtype")) == DType::f64;
  const bool narrow = DType(call.parameter("sent")) == DType::bf16;
  const bool gathers = call.function == kAllGather;
  auto exchange = [this, wide, narrow, gathers, pieces = std::move(pieces)](Ranks& ranks) {
    if (gathers) return gather(ranks, pieces[0]);
    if (narrow) return sum_pieces_in_bf16(ranks, pieces, bucket_);
    wide ? sum_pieces<double>(ranks, pieces, bucket_) : sum_pieces<float>(ranks, pieces, bucket_);
  };
  if (profile == nullptr) return communicator_->start(std::move(exchange));
  communicator_->start([exchange = std::move(exchange), profile, &call](Ranks& ranks) {
    const double begun = steady_seconds();
    exchange(ranks);
    profile->exchanged(call, begun, steady_seconds());
  });
}

void Collectives::wait(const ExternCall& call) {
  communicator_->wait(begun_as_.at(call.parameter("call")));
}

void Collectives::finish() {
  begun_ = 0;
  communicator_->finish();
}

void Collectives::abandon() noexcept {
  begun_ = 0;
  communicator_->abandon();
}

}  // namespace graphc::core::cpu
