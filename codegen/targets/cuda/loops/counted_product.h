// SPDX-License-Identifier: Apache-2.0
// The products of a nest of a counted loop (counted_loop.h) as text: a lane's sums, from fragments.
#pragma once

#include <string>
#include <string_view>

#include "codegen/targets/cuda/loops/counted_loop.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda::internal {

/// The function that loads a lane's left fragment, or as many partial sums.
std::string_view load_of(const CountedProduct& product);

/// Writes into a text in whose scope are the nest's `row_tile`, `unit_tile` and, where warps share
/// terms, `split`. Products are identified by their index in the nest. The constructor's arguments
/// must outlive it.
class CountedProductText {
 public:
  CountedProductText(const CountedLoop& loop, size_t nest, const NestProgram& program,
                     const NestBody& body, TextWriter& text)
      : loop_(loop),
        index_(nest),
        nest_(loop.nests[nest]),
        program_(program),
        columns_(2 * nest_.tiles_of_warp),
        body_(body),
        text_(text) {}

  const CountedProduct& product(size_t p) const;
  /// Whether any hands partial sums on.
  bool scatters() const;
  /// The condition under which a warp finishes the elements of a tile of rows; empty: always.
  std::string finishes() const;

  /// Multiplies the block's own terms by all columns, and sends each block the sums of its own.
  void scatter();
  /// Of operands that came through memory, multiplies the warp's terms of all rows by the block's
  /// columns, and gives the block the sums.
  void multiply_terms();
  /// Declares and computes `sums_P` of the products that gather their left operands, for the terms
  /// of the warp's split; hands them to the warp that finishes the tile.
  void gather();
  /// The sums of a warp that finishes the tile: those of all splits, warps or blocks, in their
  /// order.
  void take_over();

 private:
  void multiply(size_t p, std::string_view into);
  /// Where fused multiply-adds have the right fragments of a step.
  enum class Right : uint8_t { in_registers, in_shared, either };
  void multiply_by_mma(size_t p, std::string_view into);
  void multiply_by_fma(size_t p, std::string_view into);
  void open_columns_of_fma(const CountedProduct& of);
  void close_columns_of_fma(const CountedProduct& of, std::string_view into);
  void open_each_column(const CountedProduct& of);
  void step_of_fma(const CountedProduct& of, std::string_view left, Right right);
  void take_right_of_fma(const CountedProduct& of);
  void load_right_of_fma(const CountedProduct& of);
  void batch_of_fma(size_t p, Right right);
  void multiply_terms(size_t p);
  void multiply_terms_by_mma(size_t p);
  void multiply_terms_by_fma(size_t p);
  void load_ahead(size_t p, std::string_view batch, std::string_view into);
  void open_step_from_memory(const CountedProduct& of);
  void step_from_memory(size_t p, const std::string& sums);
  void give_sums(size_t p);
  /// Whether warps that multiply nothing run through the text of a product.
  bool has_idle_warps(size_t p) const;
  void declare_sums(size_t p, std::string_view into);
  void instructions(size_t p, const std::string& sums, const std::string& right);
  void add_piece(size_t p, std::string_view into, bool again);
  template <typename Write>
  void each_sum(int parts, int columns, const Write& write);
  void step(size_t p, int begin, const std::string& sums);
  void split_words(std::string_view words, std::string_view side, std::string_view count);
  void instruction(Factors factors, const std::string& sums, std::string_view left,
                   std::string_view first, std::string_view second);
  std::string handed_place(size_t p, std::string_view split) const;
  void hand_over();
  void take_over(size_t p);
  void take_sent(size_t p);
  void scatter(size_t p);
  std::string inbox_place(size_t p, std::string_view from, std::string_view tile,
                          std::string_view part) const;

  const CountedLoop& loop_;
  const size_t index_;
  const CountedNest& nest_;
  const NestProgram& program_;
  const int columns_;  ///< of a lane
  const NestBody& body_;
  TextWriter& text_;
};

}  // namespace graphc::core::cuda::internal
