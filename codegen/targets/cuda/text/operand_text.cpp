// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/operand_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda {
namespace {

std::string_view type_of(DType dtype) { return register_type_text(dtype); }

/// The text of the sum of `text` and `more`.
std::string with(int more, std::string_view text) {
  return more == 0 ? std::string(text) : fmt::format("({} + {})", text, more);
}

/// The text of the lesser of two integers of the same type, or of a 64-bit one and a number.
std::string lesser(const std::string& x, const std::string& y) {
  return fmt::format("min({}, {})", x, y);
}
std::string lesser(const std::string& x, int y) {
  return fmt::format("min({}, (long long){})", x, y);
}

/// Words of a resident matrix that a thread copies at a time.
constexpr int kResidentAtOnce = 16;

}  // namespace

std::string rounded_terms(const std::string& terms, const ProductText& text) {
  const int group = text.term_group();
  return group == 1 ? terms : fmt::format("(({} + {}) / {} * {})", terms, group - 1, group, group);
}

std::string OperandText::resident_terms(int p) const { return rounded_terms(terms(p), product_); }

std::string OperandText::resident_words(int p) const {
  const int of_word = product_.terms_of_word(p);
  return of_word == 1 ? resident_terms(p) : fmt::format("({} / {})", resident_terms(p), of_word);
}

std::string OperandText::left_words(int p) const {
  return is_exchanged(p) ? resident_terms(p) : std::to_string(words_of_piece(p));
}

/// The pieces of all nests of a loop's kernel use the same shared memory, one after another.
void OperandText::declare_shared(TextWriter& text, int p) const {
  const NestProduct& product = form_of(p);
  const int64_t left = product_.left_elements(words_of_piece(p));
  const int64_t right =
      int64_t{words_of_piece(p)} * product_.right_stride(std::min(product.parts, kPartsAtOnce));
  const std::string_view type = type_of(product.sum);
  if (!form_.owned) {
    text.line("__shared__ {} left_{}[{}], right_{}[{}];", type, p, left, p, right);
    return;
  }
  int64_t at = 0;
  const auto declare = [&](std::string_view name, int64_t elements) {
    text.line("{}* {}_{} = &shared[{}];", type, name, p,
              at == 0 ? "staging" : fmt::format("staging + {}", at));
    at += elements;
  };
  if (!is_exchanged(p)) declare("left", left);
  if (!is_resident(p)) declare("right", right);
  if (product_.pieces_at_a_time() > 1) declare("handed", product_.handed_elements(p));
}

internal::StagingText OperandText::left(int p) const {
  const NestProduct& product = form_of(p);
  const std::string row_stride = body_.name_of(ParameterKind::left_row, p);
  const std::string k = body_.name_of(ParameterKind::left_k, p);
  const std::string name = body_.name_of(ParameterKind::left, p);
  const int numbers = product_.terms_of_word(p);
  internal::StagedPiece piece{fmt::format("left_{}", p),
                              stored_type_text(product.left),
                              tile_.block_rows(),
                              words_of_piece(p),
                              numbers,
                              ProductTile::kThreads};
  internal::StagedTexts texts;
  std::vector<std::string> index = body_.outer_terms(ParameterKind::left_outer, p);
  index.push_back("row * " + row_stride);
  // Nobody uses the sums of rows beyond the end: such a row may be any.
  texts.place = [=, this](TextWriter& text, const std::string& line, const std::string& at) {
    declare_term(text, p, at);
    text.line("const int line = {}, last_line = renewed((int){} - 1);", line,
              lesser(fmt::format("{} - first_row", loops_.row_end()), piece.lines));
    text.line("const long long row = first_row + min(line, last_line);");
    for (int number = 0; number < numbers; ++number)
      text.line("const {}* from_{} = &{}[{} + {} * {}];", stored_type_text(product.left), number,
                name, NestBody::sum_of(index),
                lesser(with(number * ProductText::kSecondTerm, "term"), terms(p) + " - 1"), k);
  };
  texts.number = [](int number) { return fmt::format("from_{}[0]", number); };
  texts.advance = [=, this](TextWriter& text) {
    const int step = piece.has_columns() ? piece.line_step() : 1;
    text.line("const {0} next = line + (at + 1) * {1} <= last_line ? {1} * {2} : 0;", offset_type(),
              step, offset(row_stride));
    for (int number = 0; number < numbers; ++number)
      text.line("from_{0} = &from_{0}[next];", number);
  };
  texts.there = [=, this](TextWriter& text, const std::string&, const std::string& at) {
    declare_term(text, p, at);
    for (int number = 0; number < numbers; ++number)
      text.line("const bool there_{} = {} < {};", number,
                with(number * ProductText::kSecondTerm, "term"), terms(p));
  };
  const LeftLayout layout = product_.left_layout(left_words(p));
  texts.put = [=, this](const std::string& line, const std::string& at, const std::string& first,
                        const std::string& second) {
    return fmt::format("left_{}[({}) * {} + ({}) * {}] = {}", p, line, layout.row, at, layout.word,
                       word(p, product.left, {first, second}, {"there_0", "there_1"}));
  };
  return {piece, texts};
}

void OperandText::declare_term(TextWriter& text, int p, const std::string& word) const {
  text.line("const int word = {};", word);
  text.line("const long long term = loaded_term + {};", product_.term_of(p, "word"));
}

std::string OperandText::word(int p, DType dtype, const std::array<std::string, 2>& loaded,
                              const std::array<std::string, 2>& there) const {
  std::array<std::string, 2> numbers;
  for (size_t i = 0; i < size_t(product_.terms_of_word(p)); ++i)
    numbers[i] = fmt::format("({} ? {} : {})", there[i], loaded_text(dtype, loaded[i]),
                             literal_text(form_of(p).sum, 0));
  return product_.ready(p, numbers[0], numbers[1]);
}

internal::StagingText OperandText::right(int p, int part, int parts) const {
  const int stride = product_.right_stride(parts);
  return right(p, part, parts, words_of_piece(p), loops_.column_end(),
               [=](const std::string& line, const std::string& at, const std::string& word) {
                 return fmt::format("right_{}[({}) * {} + {}] = {}", p, line, stride, at, word);
               });
}

internal::StagingText OperandText::right(int p, int part, int parts, int words,
                                         std::string_view column_end, const PutWord& put) const {
  const int width = tile_.block_columns(), numbers = product_.terms_of_word(p);
  RightPiece right{p, part, parts, words, std::string(column_end), {}, {}, {}};
  right.piece = {fmt::format("right_{}", p),
                 stored_type_text(form_of(p).right),
                 words,
                 internal::staged_width(parts * width, ProductTile::kThreads),
                 numbers,
                 ProductTile::kThreads};
  right.further = terms_between(right.piece, "at");
  right.term = right.piece.has_columns()
                   ? fmt::format("(loaded_term + {})",
                                 product_.term_of(
                                     p, fmt::format("(word + at * {})", right.piece.line_step())))
                   : std::string("term");
  internal::StagedTexts texts;
  texts.place = [=, this](TextWriter& text, const std::string& in, const std::string& at) {
    place(text, right, in, at);
  };
  texts.number = [=, this](int number) { return this->number(right, number); };
  texts.advance = [=, this](TextWriter& text) {
    if (right.further.empty()) return;
    const std::string next = terms_between(right.piece, "(at + 1)");
    text.line("from = &from[{0} <= last_term ? ({0} - {1}) * {2} : 0];", next, right.further,
              offset(right_term_stride(program_, form_, body_, p)));
  };
  texts.there = [=, this](TextWriter& text, const std::string& in, const std::string&) {
    declare_term(text, p, in);
    if (right.further.empty()) return;
    text.line("const int terms_there = (int)({});",
              lesser(fmt::format("{} - term", terms(p)), words * numbers));
  };
  texts.put = [=, this](const std::string& in, const std::string& at, const std::string& first,
                        const std::string& second) {
    const bool is_wider = right.piece.width > parts * width;
    return (is_wider ? fmt::format("if ({} < {}) ", at, parts * width) : std::string()) +
           put(in, at,
               word(p, form_of(p).right, {first, second},
                    {is_there(right, 0), is_there(right, ProductText::kSecondTerm)}));
  };
  return {right.piece, texts};
}

/// Nobody uses the sums of columns beyond the end: such a column may be any.
void OperandText::place(TextWriter& text, const RightPiece& right, const std::string& in,
                        const std::string& at) const {
  const int p = right.p, width = tile_.block_columns();
  text.line("const int in_line = {};", at);
  text.line("const int at_part = {};",
            right.parts == 1 ? std::string("0")
                             : fmt::format("min(in_line / {}, {})", width, right.parts - 1));
  text.line("const long long column = {};",
            lesser(fmt::format("first_column + in_line % {}", width),
                   fmt::format("{} - 1", right.column_end)));
  declare_term(text, p, in);
  if (right.further.empty()) return;
  text.line("const long long near_term = {};", lesser("term", terms(p) + " - 1"));
  text.line(
      "const int last_term = renewed((int)({}));",
      lesser(fmt::format("{} - 1 - near_term", terms(p)), right.words * product_.terms_of_word(p)));
  text.line(
      "const {}* from = &{}[{}];", stored_type_text(form_of(p).right),
      body_.name_of(ParameterKind::right, p),
      right_index(program_, form_, body_, p, ProductText::part_text(right.part), "near_term"));
}

std::string OperandText::number(const RightPiece& right, int number) const {
  const int p = right.p, second = number * ProductText::kSecondTerm;
  if (right.further.empty())
    return fmt::format("{}[{}]", body_.name_of(ParameterKind::right, p),
                       right_index(program_, form_, body_, p, ProductText::part_text(right.part),
                                   lesser(with(second, right.term), terms(p) + " - 1")));
  if (second == 0) return "from[0]";
  return fmt::format("from[{} <= last_term ? {} * {} : 0]", with(second, right.further), second,
                     offset(right_term_stride(program_, form_, body_, p)));
}

std::string OperandText::is_there(const RightPiece& right, int more) const {
  return right.further.empty() ? fmt::format("{} < {}", with(more, right.term), terms(right.p))
                               : fmt::format("{} < terms_there", with(more, right.further));
}

std::string OperandText::terms_between(const internal::StagedPiece& piece, std::string_view at) {
  // Words of two terms come in fours (term_of()).
  const bool in_fours = piece.numbers > 1;
  if (piece.has_many_columns())
    return in_fours ? fmt::format("({0} / 4 * 8 + {0} % 4)", at) : std::string(at);
  if (!piece.has_columns() || (in_fours && piece.line_step() % 4 != 0)) return {};
  return fmt::format("{} * {}", at, piece.line_step() * piece.numbers);
}

std::string right_index(const NestProgram& program, const NestForm& form, const NestBody& body,
                        int p, const std::string& part, const std::string& term) {
  const int64_t width = form.panel_widths[size_t(p)];
  const int all = program.products[size_t(p)].parts;
  // Panels are [blocks][k][parts][width]; a matrix has a stride for each.
  std::vector<std::string> index = body.outer_terms(ParameterKind::right_outer, p);
  if (width > 0) {
    index.push_back(fmt::format("column / {0} * {1} + ({2} * {3} + {4}) * {0} + column % {0}",
                                width, body.name_of(ParameterKind::right_block, p), term, all,
                                part));
    return NestBody::sum_of(index);
  }
  index.push_back(term + " * " + body.name_of(ParameterKind::right_k, p));
  if (all > 1) index.push_back(part + " * " + body.name_of(ParameterKind::right_part, p));
  index.push_back("column * " + body.name_of(ParameterKind::right_column, p));
  return NestBody::sum_of(index);
}

std::string right_term_stride(const NestProgram& program, const NestForm& form,
                              const NestBody& body, int p) {
  const int64_t width = form.panel_widths[size_t(p)];
  return width > 0 ? std::to_string(program.products[size_t(p)].parts * width)
                   : body.name_of(ParameterKind::right_k, p);
}

void OperandText::write_resident(TextWriter& text, int p) const {
  const NestProduct& product = form_of(p);
  const int width = tile_.block_columns();
  const int staged = internal::staged_width(product.parts * width, ProductTile::kThreads);
  const int stride = product_.right_stride(product.parts);
  // Words of two terms come in fours (term_of()): a turn begins with the first of four. Where a
  // thread has not the same word of each four, every load has an address of its own, two registers.
  const bool has_addresses =
      product_.terms_of_word(p) > 1 && ProductTile::kThreads / staged % 4 != 0;
  const int at_once = has_addresses ? kResidentAtOnce / 2 : kResidentAtOnce;
  const int words = std::max(at_once * ProductTile::kThreads / staged / 4, 1) * 4;
  text.line("const int words_there = (int)({});", resident_words(p));
  text.line("const int thread = threadIdx.x;");
  const auto put = [=](const std::string& line, const std::string& at, const std::string& word) {
    return fmt::format(
        "if (resident_word + {0} < words_there) to[(resident_word + {0}) * {1} + {2}] = {3}", line,
        stride, at, word);
  };
  const internal::StagingText words_of_turn = right(p, 0, product.parts, words, "column_end", put);
  words_of_turn.declare(text);
  text.open(
      "for (long long first_column = column_begin; first_column < column_end; first_column += {})",
      width);
  text.line("{}* to = &{}[(first_column - column_begin) / {} * words_there * {}];",
            type_of(product.sum), form_.resident_name(size_t(p)), width, stride);
  text.open("for (int resident_word = 0; resident_word < words_there; resident_word += {})", words);
  text.line("const long long loaded_term = resident_word * {};", product_.terms_of_word(p));
  words_of_turn.bring(text);
  text.close();
  text.close();
}

void OperandText::write_exchange(TextWriter& text, int p, bool given) const {
  const NestProduct& product = form_of(p);
  const std::string to = form_.exchanged_name(size_t(p));
  const int rows = tile_.block_rows();
  const LeftLayout layout = product_.left_layout(resident_terms(p));
  text.open("for (long long slot = threadIdx.x; slot < {}_size; slot += {})", to,
            ProductTile::kThreads);
  std::string first = literal_text(product.sum, 0);
  if (given) {
    // In term order, or in row order.
    const bool by_term = layout.row == "1";
    const std::string& outer = by_term ? layout.word : layout.row;
    text.line("const long long in_tile = slot % {};", layout.tile);
    text.line("const long long at_row = in_tile {} {}, term = in_tile {} {};", by_term ? "%" : "/",
              outer, by_term ? "/" : "%", outer);
    text.line("const long long row = row_begin + slot / {} * {} + at_row;", layout.tile, rows);
    const std::string element = fmt::format(
        "{}[row * {} + term * {}]", body_.name_of(ParameterKind::left, p),
        body_.name_of(ParameterKind::left_row, p), body_.name_of(ParameterKind::left_k, p));
    first = fmt::format("at_row < {} && row < row_end && term < {} ? {} : {}", rows, terms(p),
                        loaded_text(product.left, element), first);
  }
  text.line("shared[{}_at + slot] = {};", to, first);
  text.line("shared[{0}_at + {0}_size + slot] = {1};", to, literal_text(product.sum, 0));
  text.close();
}

}  // namespace graphc::core::cuda
