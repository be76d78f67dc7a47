// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/walk/nest_functions.h"

#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "ir/error.h"
#include "tests/codegen/interpreter/nest.h"

namespace graphc::core::testing {
namespace {

constexpr size_t kMostNests = 64;
const Plan* interpreted = nullptr;

/// An address of the walker's: the buffer's end is not known here.
CheckedPlace place_at(const void* address) {
  return {nullptr, std::numeric_limits<int64_t>::max(),
          int64_t(reinterpret_cast<intptr_t>(address))};
}

CallOperand operand_of(const NestOperand& form, const cpu::NestOperandArguments& given) {
  CallOperand operand;
  operand.row = given.row;
  operand.part = given.part;
  operand.column = given.column;
  if (form.kind == OperandKind::literal)
    std::memcpy(operand.literal.data(), given.base, operand.literal.size());
  if (form.kind == OperandKind::iota)
    operand.base = int64_t(reinterpret_cast<intptr_t>(given.base));
  return operand;
}

/// All products lie in panels: the walker has put those there that did not.
CallProduct product_of(const NestProgram& program, size_t index,
                       const cpu::NestProductArguments& given) {
  CallProduct product;
  product.a_row = given.a_row;
  product.a_k = given.a_k;
  product.in_panels = true;
  product.panels.k = given.k;
  product.panels.parts = program.products[index].parts;
  product.panels.width = program.tile.width();
  return product;
}

void interpret(const NestProgram& program, const cpu::NestArguments& arguments) {
  GRAPHC_CHECK(arguments.partial == nullptr, "a sum in pieces is not interpreted");
  NestCall call;
  NestPlaces places;
  for (size_t i = 0; i < program.operands.size(); ++i) {
    call.operands.push_back(operand_of(program.operands[i], arguments.operands[i]));
    places.operands.push_back(place_at(arguments.operands[i].base));
  }
  for (size_t i = 0; i < program.products.size(); ++i) {
    const cpu::NestProductArguments& given = arguments.products[i];
    call.products.push_back(product_of(program, i, given));
    // One block may be all that there is: then every column is in it.
    const PanelForm& form = call.products.back().panels;
    GRAPHC_CHECK(given.block == 0 || given.k == 0 || given.block == form.block_bytes(),
                 "blocks of {} bytes", given.block);
    const int64_t first = given.block == 0 ? arguments.column_begin / form.width : 0;
    places.left.push_back(place_at(given.a));
    places.right.push_back(place_at(given.panels).moved(-first * form.block_bytes()));
  }
  NestPart part;
  part.rows = {arguments.row_begin, arguments.row_end};
  part.columns = {arguments.column_begin, arguments.column_end};
  interpret_nest(program, call, places, part, program.tile.lanes);
}

template <size_t program>
void nest_function(const cpu::NestArguments* arguments) {
  interpret(interpreted->programs[program], *arguments);
}

template <size_t... programs>
constexpr std::array<cpu::NestFunction, sizeof...(programs)> functions(
    std::index_sequence<programs...>) {
  return {&nest_function<programs>...};
}

}  // namespace

std::vector<cpu::CompiledNest> interpreted_nests(const Plan& plan) {
  static constexpr auto all = functions(std::make_index_sequence<kMostNests>());
  GRAPHC_CHECK(plan.programs.size() <= all.size(), "{} programs", plan.programs.size());
  interpreted = &plan;
  std::vector<cpu::CompiledNest> nests;
  for (size_t i = 0; i < plan.programs.size(); ++i) nests.push_back({all[i], false});
  return nests;
}

}  // namespace graphc::core::testing
