// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda {
namespace {

constexpr bool has_rows(Spread spread) {
  return spread == Spread::by_row || spread == Spread::matrix;
}
constexpr bool has_columns(Spread spread) {
  return spread == Spread::by_column || spread == Spread::matrix;
}

/// "first_row + i * 8", without the term that is always 0.
std::string position(std::string_view first, std::string_view i, const ThreadAxis& axis) {
  return axis.elements() == 1 ? std::string(first)
                              : fmt::format("{} + {} * {}", first, i, axis.threads());
}

std::string in_brackets(const std::string& sum) {
  return sum.find(' ') == std::string::npos ? sum : "(" + sum + ")";
}

/// An index along an axis; 64 bits wide where 32 might not hold it.
std::string times(const std::string& sum, int64_t stride, const ThreadAxis& axis) {
  if (stride == 1) return sum;
  const bool is_wide = std::abs(stride) > std::numeric_limits<int32_t>::max() / axis.extent / 2;
  return fmt::format("{} * {}{}", in_brackets(sum), stride, is_wide ? "ll" : "");
}

}  // namespace

std::string RowText::extents(Spread spread) const {
  std::string text;
  if (has_rows(spread)) text += fmt::format("[{}]", threads_.rows.elements());
  if (has_columns(spread)) text += fmt::format("[{}]", threads_.columns.elements());
  return text;
}

std::string RowText::element(const std::string& name, Spread spread) {
  return name + (has_rows(spread) ? "[i]" : "") + (has_columns(spread) ? "[j]" : "");
}

int RowText::open(TextWriter& text, Spread domain, bool checked) const {
  int scopes = 0;
  std::string inside;
  const auto along = [&](std::string_view i, const ThreadAxis& axis, const std::string& index) {
    text.line("#pragma unroll");
    text.open("for (int {0} = 0; {0} < {1}; ++{0})", i, axis.elements());
    ++scopes;
    if (!axis.is_exact())
      inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ", index, axis.extent);
  };
  if (has_rows(domain)) along("i", threads_.rows, position("first_row", "i", threads_.rows));
  if (has_columns(domain))
    along("j", threads_.columns, position("first_column", "j", threads_.columns));
  if (!inside.empty() && checked) {
    text.open("if ({})", inside);
    ++scopes;
  }
  return scopes;
}

void RowText::close(TextWriter& text, int scopes) {
  for (int i = 0; i < scopes; ++i) text.close();
}

std::string RowText::index(int64_t of_row, int64_t of_column) const {
  std::string text;
  if (of_row != 0) text = times(position("first_row", "i", threads_.rows), of_row, threads_.rows);
  if (of_column != 0)
    text += (text.empty() ? "" : " + ") +
            times(position("first_column", "j", threads_.columns), of_column, threads_.columns);
  return text.empty() ? "0" : text;
}

std::string RowText::row() const {
  return fmt::format("({}(long long)({}))", begin_of(threads_.rows),
                     position("first_row", "i", threads_.rows));
}
std::string RowText::column() const {
  return fmt::format("({}(long long)({}))", begin_of(threads_.columns),
                     position("first_column", "j", threads_.columns));
}

std::string RowText::begin_of(const ThreadAxis& axis) {
  return axis.parts == 1 ? std::string() : fmt::format("part * {} + ", axis.extent);
}

std::string RowText::offset_of_part(int64_t of_row, int64_t of_column) const {
  if (threads_.rows.parts > 1 && of_row != 0)
    return fmt::format(" + part * {}", threads_.rows.extent * of_row);
  if (threads_.columns.parts > 1 && of_column != 0)
    return fmt::format(" + part * {}", threads_.columns.extent * of_column);
  return {};
}

std::string RowText::of_first_part(const std::string& number, DType dtype) {
  return fmt::format("(part == 0 ? {} : {})", number, literal_text(dtype, 0));
}

std::string_view RowText::is_first(Spread spread) {
  switch (spread) {
    case Spread::number:
      return "first_row == 0 && first_column == 0";
    case Spread::by_row:
      return "first_column == 0";
    case Spread::by_column:
      return "first_row == 0";
    case Spread::matrix:
      return "";
  }
  return "";
}

std::string RowText::is_storing(Spread spread) const {
  std::string text(is_first(spread));
  // Of the blocks that have all of a value, the first stores it.
  if ((threads_.rows.parts > 1 && !has_rows(spread)) ||
      (threads_.columns.parts > 1 && !has_columns(spread)))
    text += text.empty() ? "part == 0" : " && part == 0";
  return text;
}

std::string RowText::meeting_place(TextWriter& text, DType dtype, int64_t elements) {
  int64_t& most = meeting_[dtype];
  most = std::max(most, elements);
  text.line("turn = 1 - turn;");
  return meeting_name(dtype) + "[turn]";
}

std::string RowText::joined(const std::function<std::string(int)>& part, int first, int count,
                            const Join& join) {
  if (count == 1) return part(first);
  const int half = count / 2;
  return join(joined(part, first, half, join), joined(part, first + half, count - half, join));
}

void RowText::meet(TextWriter& text, bool along_rows, const std::string& name, Spread spread,
                   DType dtype, const Join& join) {
  const ThreadAxis& axis = along_rows ? threads_.rows : threads_.columns;
  const std::string own = element(name, spread);
  const std::string_view type = register_type_text(dtype);
  if (axis.lanes > 1) {
    // Lanes along the columns are neighbours, lanes along the rows that far apart.
    const int apart = along_rows ? threads_.columns.lanes : 1;
    text.line("#pragma unroll");
    text.open("for (int lanes = {}; lanes < {}; lanes = lanes * 2)", apart, apart * axis.lanes);
    const int scopes = open(text, spread, false);
    const bool is_narrow = size_of(dtype) < 4;
    const std::string other =
        fmt::format("__shfl_xor_sync(0xffffffffu, {}{}, lanes)", is_narrow ? "(int)" : "", own);
    text.line("const {} other = {};", type, is_narrow ? fmt::format("({}){}", type, other) : other);
    text.line("{} = {};", own, join(own, "other"));
    close(text, scopes);
    text.close();
  }
  if (axis.warps == 1) return;
  text.line("// The warps meet.");
  text.open_block();
  const int64_t count = spread == Spread::number ? 1 : threads_.axis(spread).extent;
  const std::string place = meeting_place(text, dtype, count * axis.warps);
  const std::string warp = along_rows ? "warp_of_rows" : "warp_of_columns";
  const std::string_view lane = along_rows ? "lane_of_rows" : "lane_of_columns";
  const std::string at = spread == Spread::number ? std::string("0")
                                                  : index(int64_t(spread == Spread::by_row),
                                                          int64_t(spread == Spread::by_column));
  text.open("if ({} == 0)", lane);
  int scopes = open(text, spread);
  text.line("{}[{} * {} + {}] = {};", place, warp, count, at, own);
  close(text, scopes);
  text.close();
  text.line("__syncthreads();");
  scopes = open(text, spread);
  const auto of_warp = [&](int each) {
    return fmt::format("{}[{} + {}]", place, each * count, at);
  };
  text.line("{} = {};", own, joined(of_warp, 0, axis.warps, join));
  close(text, scopes);
  text.close();
}

void RowText::turn(TextWriter& text, const std::string& from, const std::string& to, Spread wanted,
                   DType dtype) {
  const Spread given = wanted == Spread::by_row ? Spread::by_column : Spread::by_row;
  text.line("// A vector of rows and columns: each thread gets the elements of its other axis.");
  text.line("{} {}{};", register_type_text(dtype), to, extents(wanted));
  const std::string place = meeting_place(text, dtype, threads_.axis(given).extent);
  const auto at = [&](Spread spread) {
    return index(int64_t(spread == Spread::by_row), int64_t(spread == Spread::by_column));
  };
  text.open("if ({})", is_first(given));
  int scopes = open(text, given);
  text.line("{}[{}] = {};", place, at(given), element(from, given));
  close(text, scopes);
  text.close();
  text.line("__syncthreads();");
  scopes = open(text, wanted);
  text.line("{} = {}[{}];", element(to, wanted), place, at(wanted));
  close(text, scopes);
}

std::string RowText::meeting_name(DType dtype) { return fmt::format("meeting_{}", name_of(dtype)); }

std::string RowText::declarations() const {
  if (meeting_.empty()) return {};
  TextWriter text(1);
  text.line("// Threads meet in one half and the other in turn: so nobody overwrites what others");
  text.line("// still read.");
  for (const auto& [dtype, elements] : meeting_)
    text.line("__shared__ {} {}[2][{}];", register_type_text(dtype), meeting_name(dtype), elements);
  text.line("int turn = 0;");
  return text.text();
}

int64_t RowText::shared_bytes() const {
  int64_t bytes = 0;
  for (const auto& [dtype, elements] : meeting_) bytes += 2 * elements * size_of(dtype);
  return bytes;
}

}  // namespace graphc::core::cuda
