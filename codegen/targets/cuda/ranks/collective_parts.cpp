// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/ranks/collective_parts.h"

#include <algorithm>

#include "codegen/step/collectives.h"
#include "codegen/targets/cuda/ranks/collective_text.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// Sums of at most so many bytes on all ranks together are gathered: one exchange less. An exchange
/// takes about 10 us to begin, in which NVLink moves some megabytes and a network a tenth of that.
constexpr int64_t kGathered = 256 << 10;
/// Alignment of what is exchanged, and of the shares of ranks: NCCL copies 16 bytes at a time.
constexpr int64_t kAlignment = 256;

int64_t aligned_bytes(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// One value of a sum: its terms, and where the sum is written.
struct Piece {
  std::vector<const Address*> terms;
  const Address* to = nullptr;
  int64_t count = 0;
};

class Sum {
 public:
  explicit Sum(const ExternCall& call)
      : ranks_(call.parameter("ranks")),
        dtype_(DType(call.parameter("dtype"))),
        // What is not sent is not rounded.
        sent_(ranks_ == 1 ? dtype_ : DType(call.parameter("sent"))) {
    const size_t reads = reads_of(call), terms = size_t(call.parameter("terms"));
    for (size_t i = 0; i < reads; ++i) {
      if (i % terms == 0) {
        pieces_.push_back({.terms = {},
                           .to = &call.operands[reads + i / terms].address,
                           .count = call.operands[i].bytes / size_of(dtype_)});
      }
      pieces_.back().terms.push_back(&call.operands[i].address);
    }
    for (const Piece& piece : pieces_) count_ += piece.count;
    share_ = aligned_bytes((count_ + ranks_ - 1) / ranks_ * size_of(sent_)) / size_of(sent_);
  }

  std::vector<CollectivePart> parts() {
    if (ranks_ == 1) {
      for (const Piece& piece : pieces_)
        sum_terms(piece, KernelArgument::of(*piece.to), piece.count);
      return std::move(parts_);
    }
    pack();
    is_gathered() ? gather() : share_out();
    return std::move(parts_);
  }

  int64_t bytes() const {
    if (ranks_ == 1) return 0;
    return is_gathered() ? received() + ranks_ * sent_bytes()
                         : share_place() + share_ * size_of(sent_);
  }

 private:
  bool is_gathered() const { return ranks_ * sent_bytes() <= kGathered; }
  /// What a rank sends, in bytes: of all values, or the shares of all ranks.
  int64_t sent_bytes() const { return aligned_bytes(count_ * size_of(sent_)); }
  int64_t shares_bytes() const { return ranks_ * share_ * size_of(sent_); }
  /// Places in the memory of exchanges: what is sent is at 0.
  int64_t received() const { return std::max(sent_bytes(), shares_bytes()); }
  int64_t share_place() const { return received() + shares_bytes(); }

  static KernelArgument at(int64_t byte) {
    return {KernelArgument::Kind::exchanged, byte, nullptr};
  }

  void add(KernelText kernel, int64_t count, std::vector<KernelArgument> arguments) {
    parts_.push_back({{std::move(kernel), elements_grid(count), std::move(arguments)}, {}});
  }

  void exchange(DeviceExchange::Kind kind, int64_t from, int64_t to, int64_t bytes) {
    parts_.push_back({{{}, {}, {at(from), at(to)}}, DeviceExchange{kind, bytes}});
  }

  /// The sum of a piece's terms.
  void sum_terms(const Piece& piece, const KernelArgument& to, int64_t padded) {
    std::vector<KernelArgument> arguments;
    for (const Address* term : piece.terms) arguments.push_back(KernelArgument::of(*term));
    arguments.push_back(to);
    arguments.push_back(KernelArgument::of(piece.count));
    arguments.push_back(KernelArgument::of(padded));
    add(terms_kernel(int(piece.terms.size()), dtype_, sent_), padded, std::move(arguments));
  }

  /// All pieces behind each other, as they are sent, and zeros behind them.
  void pack() {
    const int64_t whole = (is_gathered() ? sent_bytes() : shares_bytes()) / int64_t(size_of(sent_));
    int64_t begin = 0;
    for (const Piece& piece : pieces_) {
      const bool is_last = &piece == &pieces_.back();
      sum_terms(piece, at(begin * int64_t(size_of(sent_))), is_last ? whole - begin : piece.count);
      begin += piece.count;
    }
  }

  void gather() {
    exchange(DeviceExchange::Kind::all_gather, 0, received(), sent_bytes());
    int64_t begin = 0;
    for (const Piece& piece : pieces_) {
      add(parts_kernel(int(ranks_), sent_, dtype_), piece.count,
          {at(received() + begin * int64_t(size_of(sent_))), KernelArgument::of(*piece.to),
           KernelArgument::of(piece.count),
           KernelArgument::of(sent_bytes() / int64_t(size_of(sent_)))});
      begin += piece.count;
    }
  }

  void share_out() {
    const int64_t bytes = share_ * size_of(sent_);
    exchange(DeviceExchange::Kind::all_to_all, 0, received(), bytes);
    add(parts_kernel(int(ranks_), sent_, sent_), share_,
        {at(received()), at(share_place()), KernelArgument::of(share_),
         KernelArgument::of(share_)});
    exchange(DeviceExchange::Kind::all_gather, share_place(), 0, bytes);
    int64_t begin = 0;
    for (const Piece& piece : pieces_) {
      add(copied_kernel(sent_, dtype_), piece.count,
          {at(begin * int64_t(size_of(sent_))), KernelArgument::of(*piece.to),
           KernelArgument::of(piece.count)});
      begin += piece.count;
    }
  }

  const int64_t ranks_;
  const DType dtype_, sent_;
  std::vector<Piece> pieces_;
  int64_t count_ = 0;  ///< elements of all pieces
  int64_t share_ = 0;  ///< elements that a rank adds
  std::vector<CollectivePart> parts_;
};

/// A gather of one rank is a copy of its bytes.
std::vector<CollectivePart> gather_parts(const ExternCall& call) {
  GRAPHC_CHECK(reads_of(call) == 1, "a gather of {} values", reads_of(call));
  const ExternOperand &from = call.operands[0], &to = call.operands[1];
  CollectivePart part;
  part.use.arguments = {KernelArgument::of(from.address), KernelArgument::of(to.address)};
  if (call.parameter("ranks") > 1) {
    part.exchange = DeviceExchange{DeviceExchange::Kind::all_gather, from.bytes};
  } else {
    part.use.kernel = copied_kernel(DType::u8, DType::u8);
    part.use.grid = elements_grid(from.bytes);
    part.use.arguments.push_back(KernelArgument::of(from.bytes));
  }
  return {part};
}

}  // namespace

std::vector<CollectivePart> collective_parts(const ExternCall& call) {
  return call.function == kAllGather ? gather_parts(call) : Sum(call).parts();
}

int64_t exchange_bytes(const ExternCall& call) {
  return call.function == kAllGather ? 0 : Sum(call).bytes();
}

}  // namespace graphc::core::cuda
