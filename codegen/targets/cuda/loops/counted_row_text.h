// SPDX-License-Identifier: Apache-2.0
// Numbers of rows (counted_rows.h) in the nests of a counted loop, as text.
#pragma once

#include <string>
#include <string_view>

#include "codegen/targets/cuda/loops/counted_loop.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda::internal {

/// The number of a warp among those that have elements of a tile of rows.
std::string warp_of_tile(const CountedNest& nest);
/// The register of a lane for its rows that has a number.
std::string number_name(const RowNumber& number);
/// Declares them all.
void write_number_registers(TextWriter& text, const CountedLoop& loop);
/// Lets a nest's accesses of numbers be of registers, for `at_row`, and keeps what squares are of.
void hold_numbers(NestBody& body, const RowNumbers& rows, size_t nest);

/// Writes what a nest does to reduce its rows. In scope are its `row_tile` and its ranges; the
/// constructor's arguments must outlive it.
class CountedRowText {
 public:
  CountedRowText(const CountedLoop& loop, size_t nest, const NestBody& body)
      : loop_(loop), nest_(loop.nests[nest]), exchange_(loop.rows.exchange_of(nest)), body_(body) {}

  /// The array that keeps what the squares of a number are of.
  static std::string summed_name(size_t square);
  bool reduces() const { return exchange_ != nullptr; }
  /// Declares what a lane has of its rows.
  void declare(TextWriter& text) const;
  /// Around the elements of a row: begins the reductions, and keeps their results.
  void begin_row(TextWriter& text) const;
  void end_row(TextWriter& text) const;
  /// Gives the block what a warp has of its rows.
  void give(TextWriter& text) const;
  /// The block's warps meet, and it sends to all blocks what they have.
  void send(TextWriter& text) const;
  /// Waits for all blocks, and sets the registers. In scope are the nest's rows and parameters.
  /// `meeting` is the text of a barrier of blocks that exchange through memory.
  void take(TextWriter& text, const std::string& meeting) const;

 private:
  const RowNumber& number(size_t i) const { return loop_.rows.numbers[i]; }
  const Reduction& reduction_of(const RowNumber& number) const;
  /// Calls `write` with each number and its place among the words of a row.
  template <typename Write>
  void each_number(const Write& write) const;
  /// A reduction of the kind of those in a chunk.
  Reduction kind_of(int chunk) const;
  /// Chunks of all rows of a tile.
  int places() const { return exchange_->chunks() * loop_.tile_rows(); }
  std::string warps_before(std::string_view row_tile) const;
  void count_of_warp(TextWriter& text, const std::string& warp) const;
  void count_of_block(TextWriter& text) const;
  std::string of_warp(std::string_view warp, std::string_view place) const;
  void meet(TextWriter& text, const std::string& mine, const Reduction& reduction) const;
  void load_chunk(TextWriter& text, std::string_view into, const std::string& address) const;
  void load_of_block(TextWriter& text, std::string_view into, int chunk) const;
  void open_blocks(TextWriter& text) const;
  void close_blocks(TextWriter& text, int first, int end) const;
  void join_place(TextWriter& text) const;
  void join_warps(TextWriter& text) const;
  void join_blocks(TextWriter& text) const;
  void add_squares(TextWriter& text, std::string_view into, int first) const;
  void add_squares_of_warps(TextWriter& text) const;
  void add_squares_of_blocks(TextWriter& text) const;
  void write_inbox(TextWriter& text) const;

  const CountedLoop& loop_;
  const CountedNest& nest_;
  const RowExchange* exchange_;
  const NestBody& body_;
};

/// A nest with one column: every lane computes the numbers of its rows. In scope are the nest's
/// ranges and parameters.
std::string row_nest_text(const CountedLoop& loop, size_t nest, const NestProgram& program,
                          const std::vector<Parameter>& parameters);

}  // namespace graphc::core::cuda::internal
