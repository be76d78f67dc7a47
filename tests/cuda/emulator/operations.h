// SPDX-License-Identifier: Apache-2.0
// The operations that the text's own operators compile to.
#pragma once

#include "tests/cuda/emulator/code.h"
#include "tests/cuda/emulator/syntax.h"

namespace graphc::core::cuda_emulator {

// operations_arithmetic.cpp
Operation binary_of(char sign, Held held);  ///< of two such; a shift's second is u32
Operation unary_of(char sign, Held held);
Operation conversion_of(Held from, const Type& to);
Operation move_of(bool wide);
Operation selection_of(bool wide);  ///< a ? b : c
Operation logical_of(char sign);    ///< of booleans

// operations_memory.cpp
Operation load_of(const Type& type);   ///< at a + immediate
Operation store_of(const Type& type);  ///< b at a + immediate
Operation pointer_sum_of(Held index);  ///< a + b * immediate
Operation pointer_difference();        ///< (a - b) / immediate
/// a + b * (immediate's low half), where b is below its high half; c: the array's name.
Operation element_of(Held index);
Operation add_offset();   ///< a + immediate
Operation begin_local();  ///< `b` bytes from a + immediate count as never written
Operation zero_local();   ///< they are 0
Operation no_result();    ///< a function ended without its value

}  // namespace graphc::core::cuda_emulator
