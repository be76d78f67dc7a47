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
                              type_of(product.sum),
                              tile_.block_rows(),
                              words_of_piece(p),
                              numbers,
                              ProductTile::kThreads};
  internal::StagedTexts texts;
  std::vector<std::string> index = body_.outer_terms(ParameterKind::left_outer, p);
  index.push_back("row * " + row_stride);
  index.push_back("term * " + k);
  texts.place = [=, this](TextWriter& text, const std::string& line, const std::string& at) {
    text.line("const int word = {};", at);
    text.line("const long long row = first_row + {}, term = loaded_term + {};", line,
              product_.term_of(p, "word"));
    text.line("const int rows_there = {0} - row < {1} ? (int)({0} - row) : {1};", loops_.row_end(),
              piece.lines);
    for (int number = 0; number < numbers; ++number)
      text.line("const bool there_{} = {} < {};", number,
                with(number * ProductText::kSecondTerm, "term"), terms(p));
    text.line("const {}* from = &{}[{}];", stored_type_text(product.left), name,
              NestBody::sum_of(index));
  };
  const int step = piece.has_columns() ? piece.line_step() : int{piece.has_many_columns()};
  texts.number = [=](int number) {
    const std::string at = number == 0 ? "0" : fmt::format("{} * {}", ProductText::kSecondTerm, k);
    return fmt::format("{} < rows_there && there_{} ? {} : {}",
                       step == 0 ? "0" : fmt::format("at * {}", step), number,
                       loaded_text(product.left, fmt::format("from[{}]", at)),
                       literal_text(product.sum, 0));
  };
  texts.advance = fmt::format("from = &from[{} * {}]", step, row_stride);
  const LeftLayout layout = product_.left_layout(left_words(p));
  texts.put = [=, this](const std::string& line, const std::string& at, const std::string& first,
                        const std::string& second) {
    return fmt::format("left_{}[({}) * {} + ({}) * {}] = {}", p, line, layout.row, at, layout.word,
                       product_.ready(p, first, second));
  };
  return {piece, texts};
}

internal::StagingText OperandText::right(int p, int part, int parts) const {
  const int stride = product_.right_stride(parts);
  return right(p, part, parts, words_of_piece(p), loops_.column_end(),
               [=, this](const std::string& line, const std::string& at, const std::string& first,
                         const std::string& second) {
                 return fmt::format("right_{}[({}) * {} + {}] = {}", p, line, stride, at,
                                    product_.ready(p, first, second));
               });
}

internal::StagingText OperandText::right(int p, int part, int parts, int words,
                                         std::string_view column_end,
                                         decltype(internal::StagedTexts::put) put) const {
  const NestProduct& product = form_of(p);
  const int numbers = product_.terms_of_word(p), width = tile_.block_columns();
  const int line = internal::staged_width(parts * width, ProductTile::kThreads);
  const bool is_wider = line > parts * width;
  internal::StagedPiece piece{
      fmt::format("right_{}", p), type_of(product.sum), words, line, numbers,
      ProductTile::kThreads};
  // The terms between a thread's words are equally spaced in all turns where words come in fours.
  const bool walks = piece.has_columns() && (numbers == 1 || piece.line_step() % 4 == 0);
  internal::StagedTexts texts;
  texts.put = std::move(put);
  if (is_wider)
    texts.put = [=, put = std::move(texts.put)](const std::string& in, const std::string& at,
                                                const std::string& first,
                                                const std::string& second) {
      return fmt::format("if ({} < {}) {}", at, parts * width, put(in, at, first, second));
    };
  const std::string term_stride = right_term_stride(p);
  texts.place = [=, this](TextWriter& text, const std::string& in, const std::string& at) {
    text.line("const int in_line = {}, word = {};", at, in);
    text.line("const int at_column = in_line % {0}, at_part = in_line / {0};", width);
    text.line("const long long column = first_column + at_column;");
    text.line("const bool column_there = {}column < {};",
              is_wider ? fmt::format("in_line < {} && ", parts * width) : std::string(),
              column_end);
    text.line("const long long term = loaded_term + {};", product_.term_of(p, "word"));
    if (walks)
      text.line("const {}* from = &{}[{}];", stored_type_text(product.right),
                body_.name_of(ParameterKind::right, p),
                right_index(program_, form_, body_, p, ProductText::part_text(part), "term"));
  };
  const int step = walks ? piece.line_step() * numbers : 0;
  texts.number = [=, this](int number) {
    const int further = number * ProductText::kSecondTerm;
    if (walks) {
      const std::string at = further == 0 ? "0" : fmt::format("{} * {}", further, term_stride);
      return fmt::format("column_there && {} + at * {} < {} ? {} : {}", with(further, "term"), step,
                         terms(p), loaded_text(product.right, fmt::format("from[{}]", at)),
                         literal_text(product.sum, 0));
    }
    // The term of the word in this turn.
    const std::string term =
        piece.has_columns()
            ? fmt::format("(loaded_term + {})",
                          product_.term_of(p, fmt::format("(word + at * {})", piece.line_step())))
            : std::string("term");
    const std::string here = with(further, term);
    const std::string element =
        fmt::format("{}[{}]", body_.name_of(ParameterKind::right, p),
                    right_index(program_, form_, body_, p, ProductText::part_text(part), here));
    return fmt::format("column_there && {} < {} ? {} : {}", here, terms(p),
                       loaded_text(product.right, element), literal_text(product.sum, 0));
  };
  if (walks) texts.advance = fmt::format("from = &from[{} * {}]", step, term_stride);
  return {piece, texts};
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

std::string OperandText::right_term_stride(int p) const {
  const int64_t width = form_.panel_widths[size_t(p)];
  return width > 0 ? std::to_string(form_of(p).parts * width)
                   : body_.name_of(ParameterKind::right_k, p);
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
  const auto put = [=, this](const std::string& line, const std::string& at,
                             const std::string& first, const std::string& second) {
    return fmt::format(
        "if (resident_word + {0} < words_there) to[(resident_word + {0}) * {1} + {2}] = {3}", line,
        stride, at, product_.ready(p, first, second));
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
