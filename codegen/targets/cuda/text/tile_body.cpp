// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/tile_body.h"

#include <string>
#include <vector>

namespace graphc::core::cuda::internal {

void TileBody::read_ahead(TextWriter& text, int most) {
  const size_t of_element = body_.element_loads();
  if (of_element == 0 || int(of_element) * sums_.rows() * sums_.columns() > most) return;
  body_.declare_ahead(text, sums_.rows(), sums_.columns());
  open_rows(text);
  open_columns(text);
  text.open("if (there)");
  body_.load_ahead(text);
  for (int i = 0; i < 3; ++i) text.close();
}

void TileBody::read_columns(TextWriter& text) {
  const std::vector<size_t> loads = body_.loads_of_columns();
  if (loads.empty()) return;
  body_.share_rows(loads);
  for (const size_t load : loads) {
    const int operand = body_.program().body[load].operand;
    const std::string name =
        body_.make_name("ahead_" + body_.name_of(ParameterKind::base, operand));
    text.line("{} = {{}};", body_.registers_of(load, name).declaration(1, sums_.columns()));
    body_.hold_load_ahead(load, name);
  }
  open_column(text);
  define_column(text);
  text.open("if ({})", column_there());
  for (const size_t load : loads) body_.load_held(text, load, Columns::one);
  for (int i = 0; i < 2; ++i) text.close();
}

void TileBody::open_rows(TextWriter& text) const {
  text.line("#pragma unroll");
  text.open("for (int at_row = 0; at_row < {}; ++at_row)", sums_.rows());
  text.line("const long long row = first_row + renewed({});", sums_.row());
  const std::string has_sums = sums_.has_sums();
  text.line("const bool row_there = {}{};", has_sums.empty() ? "" : has_sums + " && ",
            counted_ ? fmt::format("{} < rows_there", sums_.row())
                     : fmt::format("row < {}", loops_.row_end()));
}

void TileBody::open_column(TextWriter& text, Columns columns) const {
  text.line("#pragma unroll");
  text.open("for (int at_column = 0; at_column < {}; {})", sums_.columns(),
            columns == Columns::one ? "++at_column" : "at_column += 2");
}

void TileBody::define_column(TextWriter& text, Columns columns) const {
  text.line("const long long column = first_column + {};", column_of(columns));
}

void TileBody::define_there(TextWriter& text, Columns columns) const {
  text.line("const bool there = row_there && {};", column_there(columns));
}

std::string TileBody::column_of(Columns columns) const {
  return columns == Columns::two ? sums_.even_column() : sums_.column();
}

std::string TileBody::column_there(Columns columns) const {
  return counted_ ? fmt::format("{} < columns_there", column_of(columns))
                  : fmt::format("column < {}", loops_.column_end());
}

void TileBody::open_columns(TextWriter& text, Columns columns) const {
  open_column(text, columns);
  define_column(text, columns);
  define_there(text, columns);
}

/// Computes the elements of a row beside each other: a branch for each would let a thread compute
/// one after the other.
void TileBody::finish(TextWriter& text) {
  text.line("// The body, on finished sums.");
  open_rows(text);
  const std::string when =
      fmt::format("row_there && first_column + {} < {}", sums_.first_column(), loops_.column_end());
  body_.write(text, Level::once, when);
  body_.write(text, Level::row, when);
  body_.declare_kept(text, sums_.rows(), sums_.columns());
  TextWriter body(1);
  body_.write(body, Level::element, "there");
  open_column(text);
  const bool asks = has_word(body.text(), "there");
  if (asks || has_word(body.text(), "column")) define_column(text);
  if (asks) define_there(text);
  text.lines(body.text());
  text.close();
  for (const Columns columns : {Columns::two, Columns::one}) store(text, columns);
  text.close();
}

void TileBody::store(TextWriter& text, Columns columns) const {
  TextWriter stores(1);
  body_.store_kept(stores, columns);
  if (stores.text().empty()) return;
  open_columns(text, columns);
  text.open("if (there)");
  text.lines(stores.text());
  for (int i = 0; i < 2; ++i) text.close();
}

}  // namespace graphc::core::cuda::internal
