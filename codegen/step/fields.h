// SPDX-License-Identifier: Apache-2.0
// The fields of a step's types, each named once: what writes, reads and compares steps goes through
// them. Internal to codegen/step.
//
//     fields(f, object)    calls f("name", object.member) for every member that is part of the step
#pragma once

#include <array>
#include <string_view>

#include "codegen/step/plan.h"

namespace graphc::core {

/// How many values an enum has, all of them with a name_of().
template <typename Enum>
inline constexpr int count_of = 0;
template <>
inline constexpr int count_of<DType> = int(DType::boolean) + 1;
template <>
inline constexpr int count_of<ScalarOp> = int(ScalarOp::select) + 1;
template <>
inline constexpr int count_of<Factors> = int(Factors::three_bf16) + 1;
template <>
inline constexpr int count_of<Family> = int(kFamilies.size());
template <>
inline constexpr int count_of<TableOp> = int(TableOp::check_labels) + 1;

/// The names of the values of other enums.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> enum_names{};
template <>
inline constexpr std::array<std::string_view, 6> enum_names<Place>{"arena",  "input",    "state",
                                                                   "output", "constant", "form"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<Split>{"rows", "columns", "any"};
template <>
inline constexpr std::array<std::string_view, 8> enum_names<Along>{
    "inside", "around", "rows", "columns", "outer", "panels", "indices", "table"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<NestKind>{"tiles", "row_wise",
                                                                      "column_wise"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<ColumnStep>{"contiguous", "none",
                                                                        "strided"};
template <>
inline constexpr std::array<std::string_view, 6> enum_names<OperandKind>{
    "load", "store", "iota", "literal", "reduce_sum", "reduce_max"};
template <>
inline constexpr std::array<std::string_view, 5> enum_names<NestOp>{"load", "product", "scalar",
                                                                    "store", "reduce"};

// --- nests ---

template <typename F>
void fields(F& f, NestOperand& x) {
  f("kind", x.kind), f("dtype", x.dtype), f("column", x.column), f("by_row", x.by_row);
  f("streaming", x.streaming);
}
template <typename F>
void fields(F& f, NestInstruction& x) {
  f("kind", x.kind), f("op", x.op), f("dtype", x.dtype);
  f("a", x.a), f("b", x.b), f("c", x.c), f("operand", x.operand), f("part", x.part);
}
template <typename F>
void fields(F& f, NestProduct& x) {
  f("left", x.left), f("right", x.right), f("sum", x.sum);
  f("parts", x.parts), f("factors", x.factors);
}
template <typename F>
void fields(F& f, TileShape& x) {
  f("lanes", x.lanes), f("vectors", x.vectors), f("rows", x.rows);
  f("accumulators", x.accumulators), f("matrix_tiles", x.matrix_tiles);
}
template <typename F>
void fields(F& f, NestProgram& x) {
  f("kind", x.kind), f("operands", x.operands), f("products", x.products), f("body", x.body);
  f("few_terms", x.few_terms), f("contracts", x.contracts), f("tile", x.tile);
}

// --- places ---

template <typename F>
void fields(F& f, Buffer& x) {
  f("name", x.name), f("place", x.place), f("index", x.index), f("bytes", x.bytes);
  f("scope", x.scope), f("first_phase", x.first_phase), f("last_phase", x.last_phase);
  f("offset", x.offset), f.bytes("data", x.data);
}
template <typename F>
void fields(F& f, Address::Term& x) {
  f("loop", x.loop), f("step", x.step), f("parity", x.parity);
}
template <typename F>
void fields(F& f, Address& x) {
  f("buffer", x.buffer), f("value", x.value), f("offset", x.offset), f("terms", x.terms);
  f("first_loop", x.first_loop), f("at_first", x.at_first);
}
template <typename F>
void fields(F& f, View& x) {
  f("address", x.address), f("dtype", x.dtype), f("shape", x.shape), f("strides", x.strides);
}
template <typename F>
void fields(F& f, PanelForm& x) {
  f("k", x.k), f("unit", x.unit), f("parts", x.parts), f("width", x.width), f("dtype", x.dtype);
  f("k_group", x.k_group), f("k_tile", x.k_tile), f("bf16_parts", x.bf16_parts);
  f("from", x.from);
}
template <typename F>
void fields(F& f, MatrixStrides& x) {
  f("k", x.k), f("column", x.column), f("part", x.part);
}
template <typename F>
void fields(F& f, Share& x) {
  f("along", x.along), f("extent", x.extent), f("grain", x.grain);
}

// --- calls ---

template <typename F>
void fields(F& f, CallOperand& x) {
  f("address", x.address), f("base", x.base), f.number("literal", x.literal);
  f("row", x.row), f("part", x.part), f("column", x.column), f("outer", x.outer);
}
template <typename F>
void fields(F& f, CallProduct& x) {
  f("a", x.a), f("a_row", x.a_row), f("a_k", x.a_k), f("b", x.b), f("in_panels", x.in_panels);
  f("b_strides", x.b_strides), f("panels", x.panels), f("outer", x.outer);
  f("right_outer", x.right_outer), f("zeros_at_first", x.zeros_at_first);
}
template <typename F>
void fields(F& f, NestCall& x) {
  f("name", x.name), f("program", x.program), f("operands", x.operands);
  f("products", x.products), f("outer", x.outer), f("rows", x.rows), f("unit", x.unit);
  f("split", x.split);
}
template <typename F>
void fields(F& f, PanelCall& x) {
  f("name", x.name), f("from", x.from), f("to", x.to), f("from_strides", x.from_strides);
  f("panels", x.panels), f("matrices", x.matrices), f("from_matrix", x.from_matrix);
}
template <typename F>
void fields(F& f, TableCall& x) {
  f("name", x.name), f("op", x.op), f("table", x.table), f("indices", x.indices);
  f("rows", x.rows), f("distinct", x.distinct), f("dtype", x.dtype);
  f("index_dtype", x.index_dtype), f("distinct_dtype", x.distinct_dtype);
  f("table_rows", x.table_rows), f("count", x.count), f("row_bytes", x.row_bytes);
  f("where", x.where);
}
template <typename F>
void fields(F& f, ExternOperand& x) {
  f("name", x.name), f("address", x.address), f("bytes", x.bytes), f("written", x.written);
}
template <typename F>
void fields(F& f, ExternCall& x) {
  f("name", x.name), f("function", x.function), f("parameters", x.parameters);
  f("operands", x.operands);
}
template <typename F>
void fields(F& f, Carry& x) {
  f("now", x.now), f("next", x.next), f("initial", x.initial), f("dtype", x.dtype);
  f("elements", x.elements), f("rows", x.rows);
}
template <typename F>
void fields(F& f, LoopCall& x) {
  f("name", x.name), f("id", x.id), f("steps", x.steps), f("reverse", x.reverse);
  f("private_rows", x.private_rows), f("rows", x.rows);
  f("matrices", x.matrices), f("rows_apart", x.rows_apart), f("carries", x.carries);
  f("body", x.body), f("where", x.where);
}
template <typename F>
void fields(F& f, BlockCall& x) {
  f("name", x.name), f("rows", x.rows), f("block_rows", x.block_rows), f("body", x.body);
}
template <typename F>
void fields(F& f, Record& x) {
  f.call(x.call);
  f("family", x.family), f("id", x.id), f("share", x.share), f("barrier", x.barrier);
  f("idle_at_last", x.idle_at_last);
}

/// The word for each kind of call, in the order of Record::call.
inline constexpr std::array<std::string_view, 6> kCallNames{"nest",   "panels", "table",
                                                            "extern", "loop",   "block"};

// --- steps ---

template <typename F>
void fields(F& f, PlanForm& x) {
  f("buffer", x.buffer), f("states", x.states), f("make", x.make);
}
template <typename F>
void fields(F& f, RemovedCopy& x) {
  f("from", x.from), f("to", x.to), f("id", x.id), f("scope", x.scope);
}
template <typename F>
void fields(F& f, Plan& x) {
  f("name", x.name), f("programs", x.programs), f("buffers", x.buffers), f("forms", x.forms);
  f("records", x.records), f("removed", x.removed), f("results", x.results);
  f("arena_bytes", x.arena_bytes), f("phases", x.phases), f("loop_depth", x.loop_depth);
  f("workers", x.workers);
}

}  // namespace graphc::core
