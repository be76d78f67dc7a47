// SPDX-License-Identifier: Apache-2.0
// What a text means once read: functions of typed statements and expressions, every conversion
// written out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace graphc::core::cuda_emulator {

struct Builtin;
struct Function;
struct PtxInstruction;

enum class Scalar : uint8_t { nothing, boolean, i8, u8, u16, i32, u32, i64, u64, f32, f64 };

size_t bytes_of(Scalar scalar);
bool is_floating(Scalar scalar);
bool is_integer(Scalar scalar);  ///< boolean included
bool is_signed(Scalar scalar);
/// As the text writes it: "unsigned long long".
const char* spelled(Scalar scalar);

/// A scalar, a pointer to scalars, or an array of either.
struct Type {
  Scalar scalar = Scalar::nothing;
  bool pointer = false;
  bool to_const = false;         ///< of a pointer or an array: what it leads to is not written
  std::vector<int64_t> extents;  ///< of an array, outermost first

  bool is_array() const { return !extents.empty(); }
  bool is_scalar() const { return !pointer && extents.empty(); }
  bool is(Scalar other) const { return is_scalar() && scalar == other; }
  bool is_arithmetic() const { return is_scalar() && scalar != Scalar::nothing; }
  bool is_integral() const { return is_arithmetic() && is_integer(scalar); }
  Type element() const;  ///< of an array of arrays the inner array, of a pointer the scalar
  size_t bytes() const;  ///< all of an array
  size_t align() const;  ///< of a scalar or pointer
  std::string to_string() const;
};
inline Type type_of(Scalar scalar) {
  Type type;
  type.scalar = scalar;
  return type;
}

/// What an expression of the type holds in a register.
enum class Held : uint8_t { i32, u32, i64, u64, f32, f64 };
Held held(const Type& type);
bool is_wide(Held held);  ///< eight bytes

struct Position {
  int line = 1, column = 1;
};

enum class Storage : uint8_t { parameter, local, shared, dynamic_shared };

/// A variable.
struct Symbol {
  std::string name;
  Type type;
  Storage storage = Storage::local;
  bool is_const = false;
  bool assigned = false;   ///< somewhere after its declaration
  bool in_memory = false;  ///< not in registers: arrays, what has an address or no first value
  std::optional<int64_t> known;  ///< the value of a constant integer
  uint64_t offset = 0;           ///< in shared memory
};

enum class ExpressionKind : uint8_t {
  constant,     // integer or floating
  variable,     // symbol
  special,      // integer: 0 to 2 threadIdx.x.., 3 blockIdx, 6 blockDim, 9 gridDim
  unary,        // sign: '-' '~' '!'
  binary,       // sign
  logical,      // sign: '&' for &&, '|' for ||
  conditional,  // three
  assign,       // place, value; sign of a compound one, whose arithmetic has the type `common`
  step,         // place; sign '+' or '-'; integer 1 when the old value is the result
  index,        // array or pointer, integer
  dereference,  // pointer
  address,      // place
  convert,      // to the type
  call,         // function
  builtin,      // builtin
  sequence,     // each, the last is the value
};

/// Signs of two characters: '<' '>' compare, l and r shift, L and G are <= and >=, E and N are ==
/// and !=.
struct Expression {
  ExpressionKind kind = ExpressionKind::constant;
  char sign = 0;
  Type type;
  Type common;
  Position position;
  std::vector<std::unique_ptr<Expression>> parts;
  Symbol* symbol = nullptr;
  const Function* function = nullptr;
  const Builtin* builtin = nullptr;
  int64_t integer = 0;
  double floating = 0;
};
using ExpressionPtr = std::unique_ptr<Expression>;

enum class StatementKind : uint8_t {
  block,        // body
  declaration,  // symbol; first: its first value; zeroed: `= {}`
  expression,   // first
  choice,       // first; body: what is done, and else
  loop,         // first: condition; second: step; body: before the loop, what is repeated
  do_while,     // first: condition; body: what is repeated
  stop,         // break
  next,         // continue
  give,         // return; first
  assembly,     // ptx on operands
};

struct Statement {
  StatementKind kind = StatementKind::block;
  Position position;
  ExpressionPtr first, second;
  Symbol* symbol = nullptr;
  bool zeroed = false;
  std::vector<std::unique_ptr<Statement>> body;  ///< null: nothing there
  const PtxInstruction* ptx = nullptr;
  std::vector<ExpressionPtr> operands;  ///< of inlined assembly, places that it writes first
  std::vector<int> order;               ///< which of them each operand of the instruction is
};
using StatementPtr = std::unique_ptr<Statement>;

struct Function {
  std::string name;
  Type result;
  std::vector<Symbol*> parameters;
  std::vector<std::unique_ptr<Symbol>> symbols;  ///< all of its variables
  StatementPtr body;
  Position position;
  bool is_kernel = false;
  unsigned most_threads = 1024;
  uint64_t shared_bytes = 0;  ///< static, this function's own
};

}  // namespace graphc::core::cuda_emulator
