// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "codegen/targets/cuda/rows/row_parts.h"
#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda {
namespace {

/// By how many steps matrices, and vectors and numbers, are loaded ahead: the first of these for
/// which registers suffice, or the last. A step takes less time than a load.
constexpr std::pair<int, int> kAhead[] = {{2, 2}, {1, 1}, {0, 2}, {0, 1}};

/// The variables of the text that are no values, here and in the files beside this one.
constexpr std::string_view kOwnNames[] = {"steps",
                                          "iteration",
                                          "phase",
                                          "more",
                                          "first",
                                          "row",
                                          "part",
                                          "lane",
                                          "warp",
                                          "lanes",
                                          "turn",
                                          "lane_of_rows",
                                          "lane_of_columns",
                                          "warp_of_rows",
                                          "warp_of_columns",
                                          "i",
                                          "j",
                                          "first_row",
                                          "first_column",
                                          "from",
                                          "to",
                                          "whole_to",
                                          "other",
                                          "blockIdx",
                                          "threadIdx"};

int64_t elements_of_bytes(int64_t bytes, DType dtype) { return bytes / size_of(dtype); }

}  // namespace

void RowParameters::add_number(const std::string& name, int64_t number, std::string_view type) {
  listed.push_back(fmt::format("\n    {} {}", type, name));
  arguments.push_back({KernelArgument::Kind::number, number, {}});
}

void RowParameters::add_place(const std::string& type, const std::string& name,
                              const BufferPlace& place) {
  listed.push_back(fmt::format("\n    {} {}", type, name));
  arguments.push_back({KernelArgument::Kind::address, 0, place});
}

RowMemory::RowMemory(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads,
                     const RowText& rows, Names& names)
    : nests_(nests), loop_(loop), threads_(threads), rows_(rows), unique_(names) {
  for (const auto& [matrices, vectors] : kAhead) {
    matrices_ahead_ = matrices;
    vectors_ahead_ = vectors;
    if (threads.registers(loop, matrices, vectors) <= threads.most_registers()) break;
  }
  for (size_t v = 0; v < loop.values.size(); ++v) phases_ = std::max(phases_, 1 + ahead(v));
  for (const std::string_view own : kOwnNames) unique_.make(own);
  for (int dtype = 0; dtype <= int(DType::boolean); ++dtype)
    unique_.make(RowText::meeting_name(DType(dtype)));
  for (size_t v = 0; v < loop.values.size(); ++v) {
    const int buffer = loop.values[v].place.place.base.buffer;
    names_.push_back(unique_.make(nests.plan->buffers[size_t(buffer)].name));
    apart_.emplace_back();
    if (!threads.division.is_share.empty() && threads.division.ends_whole[v])
      apart_[v] = {unique_.make(names_[v] + "_share"), unique_.make(names_[v] + "_whole")};
  }
}

int RowMemory::ahead(size_t v) const {
  const RowValue& value = loop_.values[v];
  if (value.origin != Origin::memory) return 0;
  return value.spread == Spread::matrix ? matrices_ahead_ : vectors_ahead_;
}

void RowMemory::declare(TextWriter& text, size_t v, RowParameters& parameters) {
  const RowValue& value = loop_.values[v];
  const RowPlace& place = value.place;
  text.line("{} {}{}{};", register_type_text(place.dtype), names_[v],
            ahead(v) > 0 ? fmt::format("[{}]", phases_) : std::string(),
            rows_.extents(value.spread));
  const bool is_stored = value.is_stored && !threads_.division.in_shares(v);
  if (value.origin == Origin::made && !is_stored) return;
  const std::string& own = names_[v];
  const std::string type =
      fmt::format("{}{}*", value.is_stored ? "" : "const ", stored_type_text(place.dtype));
  const auto number = [&](std::string_view what, int64_t bytes) {
    return bytes == 0 ? std::string()
                      : this->number(parameters, fmt::format("{}_{}", own, what),
                                     elements_of_bytes(bytes, place.dtype));
  };
  // What is carried is loaded before the first step alone.
  const bool is_first_alone =
      value.origin == Origin::carried && !is_stored && place.place.first.has_value();
  const std::string base = unique_.make(own + "_base");
  parameters.add_place(type, base, is_first_alone ? *place.place.first : place.place.base);
  const std::string of_row = number("of_row", place.of_loop_row);
  const std::string row = (of_row.empty() ? of_row : " + row * " + of_row) +
                          rows_.offset_of_part(elements_of_bytes(place.of_row, place.dtype),
                                               elements_of_bytes(place.of_column, place.dtype));
  Pointer& pointer = pointers_[v];
  pointer.here = unique_.make(own + "_at");
  text.line("{} {} = {}{};", type, pointer.here, base, row);
  if (is_first_alone) return;
  pointer.step = number("step", place.place.step);
  pointer.slot = number("slot", place.place.slot);
  if (ahead(v) > 0 && !place.place.first && pointer.slot.empty() && !pointer.step.empty()) {
    pointer.next = unique_.make(own + "_next");
    add_moving(text, type, pointer.next, pointer);
  }
  if (is_stored && pointer.slot.empty() && !pointer.step.empty()) {
    pointer.to = unique_.make(own + "_to");
    add_moving(text, type, pointer.to, pointer);
  }
  if (!place.place.first) return;
  const std::string first = unique_.make(own + "_first");
  parameters.add_place(type, first, *place.place.first);
  pointer.first = unique_.make(own + "_first_at");
  text.line("{} {} = {}{};", type, pointer.first, first, row);
}

/// The name of a parameter, an int where that suffices: it moves a pointer by fewer instructions.
std::string RowMemory::number(RowParameters& parameters, const std::string& name,
                              int64_t elements) {
  const std::string unique = unique_.make(name);
  parameters.add_number(
      unique, elements,
      std::abs(elements) <= std::numeric_limits<int32_t>::max() ? "int" : "long long");
  return unique;
}

/// Declares a pointer that is in each step where the value is.
void RowMemory::add_moving(TextWriter& text, const std::string& type, const std::string& pointer,
                           const Pointer& of) const {
  text.line("{} {} = {};", type, pointer, pointer_in(of, After::first));
}

/// Moves such a pointer on, by `more` steps if that is given.
void RowMemory::advance(TextWriter& text, const std::string& pointer, const std::string& step,
                        std::string_view more) const {
  text.line("{0} = &{0}[{1}{2}{3}{4}];", pointer, nests_.loop->reverse ? "-" : "", more,
            more.empty() ? "" : " * ", step);
}

void RowMemory::declare_shares(TextWriter& text, size_t v, const Shares& shares,
                               RowParameters& parameters) {
  const std::string& own = names_[v];
  const std::string type = fmt::format("{}*", register_type_text(shares.dtype));
  const std::string base = unique_.make(own + "_shares"), rows = unique_.make(own + "_rows"),
                    offset = unique_.make(own + "_offset");
  Pointer& pointer = shares_[v];
  pointer.here = unique_.make(own + "_share_at");
  parameters.listed.push_back(fmt::format("\n    {} {}", type, base));
  parameters.arguments.push_back({KernelArgument::Kind::scratch, 0, {}});
  parameters.add_number(offset, shares.offset / size_of(shares.dtype));
  parameters.add_number(rows, loop_.loop_rows);
  const bool stays = loop_.values[v].place.is_of_last();
  const auto point = [&](const std::string& here, const std::string& share) {
    text.line("{} {} = {} + {} + ({} * {}{} + row) * {};", type, here, base, offset, share,
              stays ? "" : "steps * ", rows, shares.elements);
  };
  point(pointer.here, "part");
  if (!stays) {
    pointer.step = number(parameters, own + "_share_step", loop_.loop_rows * shares.elements);
    pointer.to = unique_.make(own + "_share_to");
    add_moving(text, type, pointer.to, pointer);
  }
  if (share_name(v).empty()) return;
  const Spread spread = loop_.values[v].spread;
  for (const std::string& each : {share_name(v), whole_name(v)})
    text.line("{} {}{};", register_type_text(shares.dtype), each, rows_.extents(spread));
  wholes_[v] = pointer;
  wholes_[v].here = unique_.make(own + "_whole_at");
  point(wholes_[v].here, std::to_string(shares.count - 1));
  if (stays) return;
  wholes_[v].to = unique_.make(own + "_whole_to");
  add_moving(text, type, wholes_[v].to, wholes_[v]);
}

/// The pointer `ahead` iterations after the first one, or after the current one: "q_at +
/// (iteration + 2) * q_step".
std::string RowMemory::pointer_in(const Pointer& pointer, After after, int ahead) const {
  // After the steps: what moves with them is stored in each.
  if (after == After::last)
    return pointer.slot.empty()
               ? pointer.here
               : fmt::format("{} + (steps - 1) % 2 * {}", pointer.here, pointer.slot);
  if (after == After::current && ahead == 0 && !pointer.to.empty()) return pointer.to;
  const bool in_steps = after == After::current;
  std::string iteration = in_steps ? "iteration" : "";
  if (in_steps && ahead > 0) iteration = fmt::format("(iteration + {})", ahead);
  if (!in_steps && ahead > 0) iteration = std::to_string(ahead);
  std::string step = iteration;
  if (nests_.loop->reverse)
    step = fmt::format("(steps - {}{})", ahead + 1, in_steps ? " - iteration" : "");
  std::string text = pointer.here;
  if (!pointer.step.empty() && !step.empty()) text += fmt::format(" + {} * {}", step, pointer.step);
  if (!pointer.slot.empty() && !iteration.empty())
    text += fmt::format(" + {} % 2 * {}", iteration, pointer.slot);
  return text;
}

std::string RowMemory::index(const RowPlace& place) const {
  return rows_.index(elements_of_bytes(place.of_row, place.dtype),
                     elements_of_bytes(place.of_column, place.dtype));
}

std::string RowMemory::name(size_t v, std::string_view phase) const {
  return phase.empty() ? names_[v] : fmt::format("{}[{}]", names_[v], phase);
}

void RowMemory::load_from(TextWriter& text, size_t v, const std::string& to,
                          const std::string& pointer) const {
  const RowValue& value = loop_.values[v];
  const DType dtype = value.place.dtype;
  text.open_block();
  text.line("const {}* from = {};", stored_type_text(dtype), pointer);
  const int scopes = rows_.open(text, value.spread);
  const std::string loaded = loaded_text(dtype, fmt::format("from[{}]", index(value.place)));
  const bool is_share = !threads_.division.is_share.empty() && threads_.division.starts_as_share[v];
  text.line("{} = {};", RowText::element(to, value.spread),
            is_share ? RowText::of_first_part(loaded, dtype) : loaded);
  RowText::close(text, scopes);
  text.close();
}

void RowMemory::load_before(TextWriter& text, size_t v) const {
  const RowValue& value = loop_.values[v];
  if (value.origin == Origin::made) return;
  const Pointer& pointer = pointers_.at(v);
  const std::string first =
      pointer.first.empty() ? pointer_in(pointer, After::first) : pointer.first;
  if (value.origin != Origin::memory) return load_from(text, v, names_[v], first);
  for (int n = 0; n < ahead(v); ++n) {
    const std::string to = name(v, std::to_string(n));
    if (!pointer.next.empty()) {
      load_from(text, v, to, pointer.next);
      advance(text, pointer.next, pointer.step, fmt::format("(steps > {} ? 1 : 0)", n + 1));
    } else {
      load_from(text, v, to, n == 0 ? first : pointer_in(pointer, After::first, n));
    }
  }
}

void RowMemory::load(TextWriter& text, size_t v) const {
  const Pointer& pointer = pointers_.at(v);
  const int ahead = this->ahead(v);
  const std::string here = pointer_in(pointer, After::current, ahead);
  if (ahead == 0)
    return load_from(text, v, names_[v],
                     pointer.first.empty()
                         ? here
                         : fmt::format("iteration == 0 ? {} : {}", pointer.first, here));
  const std::string to = name(v, fmt::format("(phase + {}) % {}", ahead, phases_));
  if (!pointer.next.empty()) {
    // Where there is none the last one again: a load that has a condition waits for it.
    load_from(text, v, to, pointer.next);
    return advance(text, pointer.next, pointer.step, "more");
  }
  text.open("if (iteration + {} < steps)", ahead);
  load_from(text, v, to, here);
  text.close();
}

void RowMemory::store(TextWriter& text, size_t v, After after) const {
  const RowValue& value = loop_.values[v];
  const DType dtype = value.place.dtype;
  if (shares_.contains(v)) return store_share(text, v, after);
  const std::string who = rows_.is_storing(value.spread);
  if (who.empty()) {
    text.open_block();
  } else {
    text.open("if ({})", who);
  }
  text.line("{}* to = {};", stored_type_text(dtype), pointer_in(pointers_.at(v), after));
  const int scopes = rows_.open(text, value.spread);
  text.line("to[{}] = {};", index(value.place),
            stored_text(dtype, RowText::element(name(v), value.spread)));
  RowText::close(text, scopes);
  text.close();
  const Pointer& pointer = pointers_.at(v);
  if (after == After::current && !pointer.to.empty()) advance(text, pointer.to, pointer.step);
}

/// Every part stores its share, in the type in which they are added, and the elements side by side.
void RowMemory::store_share(TextWriter& text, size_t v, After after) const {
  const RowValue& value = loop_.values[v];
  const bool by_row = value.spread == Spread::by_row, by_column = value.spread == Spread::by_column;
  text.open("if ({})", RowText::is_first(value.spread));
  text.line("{}* to = {};", register_type_text(value.place.dtype),
            pointer_in(shares_.at(v), after));
  const bool ends_whole = !share_name(v).empty();
  if (ends_whole)
    text.line("{}* whole_to = {};", register_type_text(value.place.dtype),
              pointer_in(wholes_.at(v), after));
  const int scopes = rows_.open(text, value.spread);
  const std::string index = rows_.index(int64_t(by_row), int64_t(by_column));
  const std::string own = RowText::element(ends_whole ? share_name(v) : name(v), value.spread);
  const bool is_whole = !threads_.division.is_share[v];
  text.line("to[{}] = {};", index, is_whole ? RowText::of_first_part(own, value.place.dtype) : own);
  if (ends_whole)
    text.line("if (part == 0) whole_to[{}] = {};", index,
              RowText::element(whole_name(v), value.spread));
  RowText::close(text, scopes);
  text.close();
  if (after == After::last) return;
  for (const auto* pointers : {&shares_, &wholes_}) {
    const auto of = pointers->find(v);
    if (of != pointers->end()) advance(text, of->second.to, of->second.step);
  }
}

}  // namespace graphc::core::cuda
