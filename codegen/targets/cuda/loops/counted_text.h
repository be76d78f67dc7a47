// SPDX-License-Identifier: Apache-2.0
// The text of a counted loop (counted_loop.h) around its nests: the functions it calls, its
// mbarriers, and what its shared memory and registers hold before the first step.
#pragma once

#include <string>
#include <string_view>

#include "codegen/targets/cuda/loops/counted_loop.h"
#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda::internal {

/// The first unit tile of a warp in a nest, its split of the terms, and the first step of a product
/// that it does, with a plus behind it; empty: 0.
std::string unit_tile_text(const CountedNest& nest);
std::string split_text(const CountedNest& nest);
std::string first_step_text(const CountedProduct& product);

/// The function that makes a word of a fragment of f32, or of two where factors have 16 bits.
std::string_view word_function(Factors factors);
/// The lane's number of a column of a unit tile, or of two terms of a strip, in the right fragments
/// of a product.
std::string_view column_lane_text(const CountedProduct& product);
std::string_view terms_lane_text(const CountedProduct& product);

/// The device functions, to be placed before the kernel.
std::string counted_functions(const CountedLoop& loop);

/// Declares the lanes of a thread and, of every product, its registers and the addresses of its
/// shared memory; initialises the mbarriers. The shared memory is `shared`, and memory through
/// which blocks exchange is `exchange`; `group` is the text of the number of the block's group.
void write_counted_beginning(TextWriter& text, const CountedLoop& loop, std::string_view group);

/// Fills the right fragments of a product from memory: registers by way of shared memory, where
/// nothing of this product and of later ones is yet. In scope are the nest's ranges and the pointer
/// to its matrix.
void write_right_fragments(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                           const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form);

/// Fills both copies of its left operand: the first with what the first step reads, if that is
/// given, and zeros. Of one in memory each block fills a share.
void write_left_fragments(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                          const NestProgram& program, const std::vector<Parameter>& parameters);

/// The body of a nest, for the block's elements: waits for the left operands of its products,
/// multiplies, computes and hands on; what it stores behind that, where the warps of the block meet
/// for it; loads what the next step finds in registers; and waits for the numbers of rows that the
/// nest exchanges, which the next nest has before its own work.
struct CountedNestParts {
  std::string body, stores, ahead, numbers;
};

/// In scope are `iteration`, the nest's ranges and parameters. `places` is text that brings `step`
/// and the nest's parameters into scope, given `iteration`: `ahead` has what it needs of it.
/// `meeting` is the text of a barrier of all blocks of a group that exchanges through memory.
/// `postponed` is `stores` and `ahead` of the nest before, if it postpones them
/// (CountedLoop::postpones); its scope is around this one then, and they are a part of `body`.
/// `numbers` is text that sets numbers of rows which this nest reads.
CountedNestParts counted_nest_parts(const CountedLoop& loop, size_t nest,
                                    const NestProgram& program,
                                    const std::vector<Parameter>& parameters,
                                    const std::string& places, const std::string& meeting,
                                    const std::string& postponed, const std::string& numbers);

/// The registers that hold the values of a store; those of a load, or of the store it loads from.
std::string held_name(const HeldStore& store);
std::string held_name(const HeldValues& held, const HeldLoad& load);
/// Declares the registers for what lanes keep between nests and steps.
void write_held_registers(TextWriter& text, const CountedLoop& loop, const LoopNests& nests);
/// Whether a nest reads values from registers in the first step.
bool has_beginning(const CountedLoop& loop, size_t nest);
/// Fills these registers before the first step. In scope are the nest's ranges.
std::string counted_nest_beginning(const CountedLoop& loop, size_t nest, const NestProgram& program,
                                   const std::vector<Parameter>& parameters,
                                   const std::string& places);

}  // namespace graphc::core::cuda::internal
