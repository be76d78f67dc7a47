// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_memory.h"

#include <fmt/format.h>

#include "codegen/targets/cuda/rows/row_parts.h"
#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda {
namespace {

/// Steps by which vectors and numbers are loaded ahead, and matrices, where registers suffice: a
/// step takes less time than a load.
constexpr int kVectorsAhead = 2, kMatricesAhead = 1;

/// The variables of the text that are no values, here and in the files beside this one.
constexpr std::string_view kOwnNames[] = {"steps",
                                          "iteration",
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
    : nests_(nests),
      loop_(loop),
      threads_(threads),
      rows_(rows),
      unique_(names),
      matrices_ahead_(kMatricesAhead),
      vectors_ahead_(kVectorsAhead) {
  while ((matrices_ahead_ > 0 || vectors_ahead_ > 1) &&
         threads.registers(loop, matrices_ahead_, vectors_ahead_) > threads.most_registers())
    --(matrices_ahead_ > 0 ? matrices_ahead_ : vectors_ahead_);
  for (const std::string_view own : kOwnNames) unique_.make(own);
  for (int dtype = 0; dtype <= int(DType::boolean); ++dtype)
    unique_.make(RowText::meeting_name(DType(dtype)));
  for (size_t v = 0; v < loop.values.size(); ++v) {
    const int buffer = loop.values[v].place.place.base.buffer;
    names_.push_back({unique_.make(nests.plan->buffers[size_t(buffer)].name)});
    for (int n = 1; n <= ahead(v); ++n)
      names_[v].push_back(unique_.make(fmt::format("{}_in_{}", names_[v][0], n)));
    apart_.emplace_back();
    if (!threads.division.is_share.empty() && threads.division.ends_whole[v])
      apart_[v] = {unique_.make(names_[v][0] + "_share"), unique_.make(names_[v][0] + "_whole")};
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
  for (const std::string& each : names_[v])
    text.line("{} {}{};", register_type_text(place.dtype), each, rows_.extents(value.spread));
  const bool is_stored = value.is_stored && !threads_.division.in_shares(v);
  if (value.origin == Origin::made && !is_stored) return;
  const std::string& own = name(v);
  const std::string type =
      fmt::format("{}{}*", value.is_stored ? "" : "const ", stored_type_text(place.dtype));
  const auto number = [&](std::string_view what, int64_t bytes) {
    if (bytes == 0) return std::string();
    const std::string unique = unique_.make(fmt::format("{}_{}", own, what));
    parameters.add_number(unique, elements_of_bytes(bytes, place.dtype));
    return unique;
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
  if (!place.place.first) return;
  const std::string first = unique_.make(own + "_first");
  parameters.add_place(type, first, *place.place.first);
  pointer.first = unique_.make(own + "_first_at");
  text.line("{} {} = {}{};", type, pointer.first, first, row);
}

void RowMemory::declare_shares(TextWriter& text, size_t v, const Shares& shares,
                               RowParameters& parameters) {
  const std::string& own = name(v);
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
  pointer.step = stays ? std::string() : fmt::format("({} * {})", rows, shares.elements);
  if (share_name(v).empty()) return;
  const Spread spread = loop_.values[v].spread;
  for (const std::string& each : {share_name(v), whole_name(v)})
    text.line("{} {}{};", register_type_text(shares.dtype), each, rows_.extents(spread));
  wholes_[v] = pointer;
  wholes_[v].here = unique_.make(own + "_whole_at");
  point(wholes_[v].here, std::to_string(shares.count - 1));
}

/// The pointer `ahead` iterations after the first one, or after the current one: "q_at +
/// (iteration + 2) * q_step".
std::string RowMemory::pointer_in(const Pointer& pointer, After after, int ahead) const {
  // After the steps: what moves with them is stored in each.
  if (after == After::last)
    return pointer.slot.empty()
               ? pointer.here
               : fmt::format("{} + (steps - 1) % 2 * {}", pointer.here, pointer.slot);
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

void RowMemory::load_from(TextWriter& text, size_t v, int ahead, const std::string& pointer) const {
  const RowValue& value = loop_.values[v];
  const DType dtype = value.place.dtype;
  text.open_block();
  text.line("const {}* from = {};", stored_type_text(dtype), pointer);
  const int scopes = rows_.open(text, value.spread);
  const std::string loaded = loaded_text(dtype, fmt::format("from[{}]", index(value.place)));
  const bool is_share = !threads_.division.is_share.empty() && threads_.division.starts_as_share[v];
  text.line("{} = {};", RowText::element(name(v, ahead), value.spread),
            is_share ? RowText::of_first_part(loaded, dtype) : loaded);
  RowText::close(text, scopes);
  text.close();
}

void RowMemory::load_before(TextWriter& text, size_t v) const {
  const RowValue& value = loop_.values[v];
  if (value.origin == Origin::made) return;
  const Pointer& pointer = pointers_.at(v);
  const std::string first =
      pointer.first.empty() ? pointer_in(pointers_.at(v), After::first) : pointer.first;
  if (value.origin != Origin::memory) return load_from(text, v, 0, first);
  for (int n = 1; n <= ahead(v); ++n) {
    if (n == 1) {
      load_from(text, v, n, first);
      continue;
    }
    text.open("if (steps > {})", n - 1);
    load_from(text, v, n, pointer_in(pointers_.at(v), After::first, n - 1));
    text.close();
  }
}

void RowMemory::load(TextWriter& text, size_t v, int ahead) const {
  const std::string& first = pointers_.at(v).first;
  const std::string here = pointer_in(pointers_.at(v), After::current, ahead);
  const bool may_be_first = ahead == 0 && !first.empty();
  load_from(text, v, ahead,
            may_be_first ? fmt::format("iteration == 0 ? {} : {}", first, here) : here);
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
}

}  // namespace graphc::core::cuda
