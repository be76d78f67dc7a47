// SPDX-License-Identifier: Apache-2.0
// Makes instructions of a kernel: calls are inlined, variables have registers, and every jump goes
// forward but a loop's, so that the lanes at the lowest instruction are those that others wait for.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/cuda/emulator/code.h"
#include "tests/cuda/emulator/syntax.h"

namespace graphc::core::cuda_emulator {

class Compiler {
 public:
  explicit Compiler(const Function& kernel) : kernel_(kernel) {}
  std::unique_ptr<const Program> program();

 private:
  using Jumps = std::vector<size_t>;

  /// Where a variable is: a register, or `offset` from the address in a register.
  struct Place {
    bool in_register = true;
    uint32_t slot = 0;
    int64_t offset = 0;
  };
  /// A function being inlined.
  struct Call {
    const Function* function = nullptr;
    std::map<const Symbol*, Place> places;
    uint32_t result = 0;
    Jumps returns;
  };
  struct Loop {
    Jumps stops, nexts;
  };
  /// Registers and local memory in use, to go back to.
  struct Mark {
    uint32_t narrow, wide;
    uint64_t local;
  };

  // compiler.cpp
  void parameters();
  size_t emit(Operation operation, uint32_t result, uint32_t a, uint32_t b = 0, uint32_t c = 0,
              int64_t immediate = 0);
  size_t jump(Control control, uint32_t a = 0, int64_t target = 0);
  void land(const Jumps& jumps);  ///< they go to the next instruction
  uint32_t reserve(bool wide);
  uint64_t reserve_local(const Type& type);
  uint32_t preset(std::vector<Preset>& presets, bool wide, uint64_t bits);
  uint32_t special(uint64_t which);
  uint32_t constant(Held held, uint64_t bits);
  Mark mark() const { return {narrow_, wide_, local_}; }
  void back_to(const Mark& mark);
  void finish();

  // compile_statement.cpp
  void statement(const Statement& one);
  void declaration(const Statement& one);
  void choice(const Statement& one);
  void loop(const Statement& one);
  void do_while(const Statement& one);
  void give(const Statement& one);
  void assembly(const Statement& one);
  void branch(const Expression& condition, bool when, Jumps& jumps);

  // compile_expression.cpp. `into`: the register for the value, none: any.
  static constexpr uint32_t anywhere = ~0u;
  uint32_t value(const Expression& one, uint32_t into = anywhere);
  void discard(const Expression& one);
  uint32_t result_slot(const Expression& one, uint32_t into);
  uint32_t moved(uint32_t from, const Type& type, uint32_t into);
  uint32_t constant_value(const Expression& one);
  uint32_t unary(const Expression& one, uint32_t into);
  uint32_t binary(const Expression& one, uint32_t into);
  uint32_t arithmetic(char sign, const Type& type, uint32_t a, const Expression& b, uint32_t b_slot,
                      uint32_t into);
  uint32_t logical(const Expression& one, uint32_t into);
  uint32_t conditional(const Expression& one, uint32_t into);
  uint32_t assign(const Expression& one, uint32_t into);
  uint32_t step(const Expression& one, uint32_t into, bool old_value);
  uint32_t convert(const Expression& one, uint32_t into);
  uint32_t call(const Expression& one, uint32_t into);
  uint32_t builtin(const Expression& one, uint32_t into);
  void inline_body(const Function& function);
  Place argument(const Expression& one, const Symbol& parameter);

  // compile_place.cpp
  Place place(const Expression& one);
  Place element(const Expression& one);
  Place variable_place(const Symbol& symbol);
  uint32_t load(const Place& from, const Type& type, uint32_t into);
  void store(const Place& to, const Type& type, uint32_t value);
  uint32_t address(const Place& of, uint32_t into);

  const Function& kernel_;
  std::unique_ptr<Program> program_;
  std::vector<Call> calls_;
  std::vector<Loop> loops_;
  std::map<std::pair<bool, uint64_t>, uint32_t> constants_;
  std::map<uint64_t, uint32_t> specials_;
  // A wide register never takes the place of narrow ones: its lanes would lie over other lanes of
  // these, which may still need them.
  uint32_t narrow_ = 0, most_narrow_ = 0, wide_ = 0, most_wide_ = 0, presets_ = 0;
  uint64_t local_ = 0, most_local_ = 0;
  int line_ = 1;
};

/// Whether it costs little and cannot fail, so that it may be done for lanes that do not need it.
bool is_cheap(const Expression& one);

}  // namespace graphc::core::cuda_emulator
