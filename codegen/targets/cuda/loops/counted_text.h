// SPDX-License-Identifier: Apache-2.0
// The text of a counted loop (counted_loop.h) around its nests: the functions it calls, its
// mbarriers, and what its shared memory and registers hold before the first step.
#pragma once

#include <string>

#include "codegen/targets/cuda/loops/counted_loop.h"
#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda::internal {

/// The first unit tile of a warp in a nest, and the first step of a product that it does, with a
/// plus behind it; empty: 0.
std::string unit_tile_text(const CountedNest& nest);
std::string first_step_text(const CountedProduct& product);

/// The device functions, to be placed before the kernel.
std::string counted_functions(const CountedLoop& loop);

/// Declares the lanes of a thread and, of every product, its registers and the addresses of its
/// shared memory; initialises the mbarriers. The shared memory is `shared`.
void write_counted_beginning(TextWriter& text, const CountedLoop& loop);

/// Fills the right fragments of a product from memory: registers by way of shared memory, where
/// nothing of this product and of later ones is yet. In scope are the nest's ranges and the pointer
/// to its matrix.
void write_right_fragments(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                           const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form);

/// Fills both copies of its left operand: the first with what the first step reads, if that is
/// given, and zeros.
void write_left_fragments(TextWriter& text, const CountedProduct& product,
                          const NestProgram& program, const std::vector<Parameter>& parameters);

/// The body of a nest, for the block's elements: waits for the left operands of its products,
/// multiplies, computes, hands on and stores; the warps of the block meet at its end if they must.
/// In scope are `iteration`, the nest's ranges and parameters. `places` is text that brings `step`
/// and the nest's parameters into scope, given `iteration`. `postponed` has what the nest before
/// postpones (CountedLoop::postpones), whose scope is around this one; what this nest postpones
/// replaces it.
std::string counted_nest_text(const CountedLoop& loop, size_t nest, const NestProgram& program,
                              const std::vector<Parameter>& parameters, const std::string& places,
                              std::string& postponed);

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
