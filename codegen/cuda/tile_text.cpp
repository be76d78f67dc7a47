// SPDX-License-Identifier: Apache-2.0
// Nests with products: a block of threads sums a tile of rows x columns, k in pieces that lie in
// shared memory, then each thread does the body for its elements.
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/cuda/kernel_text.h"
#include "codegen/cuda/nest_body.h"
#include "codegen/cuda/scalar_text.h"
#include "ir/error.h"

namespace graphc::cuda {
namespace {

/// What a number of terms takes where an operand lies in shared memory as a whole.
std::string rounded_terms(const std::string& terms, const ProductText& text) {
  const int group = text.term_group();
  return group == 1 ? terms : fmt::format("(({} + {}) / {} * {})", terms, group - 1, group, group);
}

class TileText {
 public:
  TileText(const NestProgram& program, const std::vector<Parameter>& parameters,
           const NestForm& form)
      : program_(program),
        form_(form),
        tile_(product_tile(program, form)),
        product_(product_text(program, tile_)),
        loops_(form.owned),
        body_(program, parameters, [](int product, int part) {
          return fmt::format("sums_{}[{}][at_row][at_column]", product, part);
        }) {
    body_.hand_on(form.handed_on);
  }

  const std::string& write() {
    for (size_t p = 0; p < program_.products.size(); ++p) declare_shared(int(p));
    product_->declare(text_);
    internal::open_outer(text_, form_.outer);
    open_blocks();
    for (size_t p = 0; p < program_.products.size(); ++p) sum_product(int(p));
    finish();
    text_.close();
    text_.close();
    if (form_.outer > 0) text_.close();
    return text_.text();
  }

  /// hold_text().
  const std::string& write_hold(int p) {
    const NestProduct& product = program_.products[size_t(p)];
    const std::string terms = body_.name_of(ParameterKind::terms, p);
    const int width = tile_.block_columns();
    text_.line("const long long terms_there = {};", held_terms(p));
    text_.line("const long long slots = (column_end - column_begin + {}) / {} * {} * terms_there;",
               width - 1, width, product.parts * width);
    text_.open("for (long long slot = threadIdx.x; slot < slots; slot += {})",
               ProductTile::kThreads);
    text_.line("const long long at_column = slot % {0}, at_part = slot / {0} % {1};", width,
               product.parts);
    text_.line("const long long term = slot / {} % terms_there;", product.parts * width);
    text_.line("const long long of_block = slot / {} / terms_there;", product.parts * width);
    text_.line("const long long column = column_begin + of_block * {} + at_column;", width);
    const std::string element =
        fmt::format("{}[{}]", body_.name_of(ParameterKind::right, p), right_index(p, "at_part"));
    text_.line("{}[{}] = {}column < column_end ? {} : {};", form_.held[size_t(p)],
               right_slot(product.parts, "(of_block * terms_there + term)"),
               product_->term_group() == 1 ? "" : fmt::format("term < {} && ", terms),
               loaded_text(product.right, element), literal_text(product.sum, 0));
    text_.close();
    return text_.text();
  }

  /// exchange_text().
  const std::string& write_exchange(int p, bool given) {
    const NestProduct& product = program_.products[size_t(p)];
    const std::string& to = form_.exchanged[size_t(p)];
    const std::string terms = body_.name_of(ParameterKind::terms, p);
    const int rows = tile_.block_rows(), stride = product_->left_stride();
    text_.open("for (long long slot = threadIdx.x; slot < {}_size; slot += {})", to,
               ProductTile::kThreads);
    std::string first = literal_text(product.sum, 0);
    if (given) {
      text_.line("const long long at_row = slot % {0}, term = slot / {0} % ({1});", stride,
                 held_terms(p));
      text_.line("const long long row = row_begin + slot / {} / ({}) * {} + at_row;", stride,
                 held_terms(p), rows);
      const std::string element = fmt::format(
          "{}[row * {} + term * {}]", body_.name_of(ParameterKind::left, p),
          body_.name_of(ParameterKind::left_row, p), body_.name_of(ParameterKind::left_k, p));
      first = fmt::format("at_row < {} && row < row_end && term < {} ? {} : {}", rows, terms,
                          loaded_text(product.left, element), first);
    }
    text_.line("shared[{}_at + slot] = {};", to, first);
    text_.line("shared[{0}_at + {0}_size + slot] = {1};", to, literal_text(product.sum, 0));
    text_.close();
    return text_.text();
  }

 private:
  static std::string_view type_of(DType dtype) { return register_type_text(dtype); }

  /// The pieces of both operands. A loop's kernel has one stretch for the pieces of all its nests,
  /// which come one after another.
  void declare_shared(int p) {
    const NestProduct& product = program_.products[size_t(p)];
    const int64_t left = int64_t{tile_.terms} * product_->left_stride();
    const int64_t right = int64_t{tile_.terms} * product_->right_stride(parts_at_once(product));
    const std::string_view type = type_of(product.sum);
    if (!form_.owned) {
      text_.line("__shared__ {} left_{}[{}], right_{}[{}];", type, p, left, p, right);
      return;
    }
    if (!is_exchanged(p)) text_.line("{}* left_{} = &shared[staging];", type, p);
    if (!is_held(p))
      text_.line("{}* right_{} = &shared[staging + {}];", type, p, is_exchanged(p) ? 0 : left);
  }

  /// Where a part and a column of a term lie: beside the term before, unless that has gaps.
  std::string right_slot(int parts, std::string_view term) const {
    const int stride = product_->right_stride(parts), width = tile_.block_columns();
    if (stride == parts * width) return "slot";
    return fmt::format("{} * {} + at_part * {} + at_column", term, stride, width);
  }
  bool is_exchanged(int p) const { return form_.owned && !form_.exchanged[size_t(p)].empty(); }
  bool is_held(int p) const { return form_.owned && !form_.held[size_t(p)].empty(); }
  static int parts_at_once(const NestProduct& product) {
    return std::min(product.parts, kPartsAtOnce);
  }

  /// The block's tiles.
  void open_blocks() {
    text_.open("{}", loops_.over_rows("first_row", std::to_string(tile_.block_rows())));
    text_.open("{}", loops_.over_columns("first_column", std::to_string(tile_.block_columns())));
  }

  void sum_product(int p) {
    const NestProduct& product = program_.products[size_t(p)];
    text_.line("// {} by {}: k in pieces that lie in shared memory.",
               body_.name_of(ParameterKind::left, p), body_.name_of(ParameterKind::right, p));
    text_.line("{} sums_{}[{}][{}][{}] = {{}};", type_of(product.sum), p, product.parts,
               product_->rows(), product_->columns());
    for (int part = 0; part < product.parts; part += kPartsAtOnce)
      sum_parts(p, part, std::min(kPartsAtOnce, product.parts - part));
  }

  /// The sums of a few parts over all terms.
  void sum_parts(int p, int part, int parts) {
    const std::string terms = body_.name_of(ParameterKind::terms, p);
    text_.open("for (long long piece = 0; piece < {}; piece += {})", terms, internal::kPiece);
    text_.line("{} sums[{}][{}][{}] = {{}};", type_of(program_.products[size_t(p)].sum), parts,
               product_->rows(), product_->columns());
    text_.line("const long long end = piece + {0} < {1} ? piece + {0} : {1};", internal::kPiece,
               terms);
    text_.open("for (long long first_term = piece; first_term < end; first_term += {})",
               tile_.terms);
    if (is_exchanged(p))
      text_.line(
          "const {}* left_{} = &{}[((first_row - row_begin) / {} * ({}) + first_term) * {}];",
          type_of(program_.products[size_t(p)].sum), p, form_.exchanged[size_t(p)],
          tile_.block_rows(), held_terms(p), product_->left_stride());
    else
      load_left(p);
    if (!is_held(p)) load_right(p, part, parts);
    const bool loads = !is_exchanged(p) || !is_held(p);
    if (loads) text_.line("__syncthreads();");
    multiply(p, part, parts);
    if (loads) text_.line("__syncthreads();");
    text_.close();
    product_->each_sum(text_, parts, [&] {
      const std::string all = fmt::format("sums_{}[{}][at_row][at_column]", p, part_text(part));
      text_.line("{0} = {0} + sums[at_part][at_row][at_column];", all);
    });
    text_.close();
  }

  void load_left(int p) {
    const NestProduct& product = program_.products[size_t(p)];
    std::vector<std::string> index = body_.outer_terms(ParameterKind::left_outer, p);
    index.push_back("row * " + body_.name_of(ParameterKind::left_row, p));
    index.push_back("term * " + body_.name_of(ParameterKind::left_k, p));
    open_slots(tile_.terms * tile_.block_rows());
    text_.line("const long long row = first_row + slot / {0}, term = first_term + slot % {0};",
               tile_.terms);
    const std::string element =
        fmt::format("{}[{}]", body_.name_of(ParameterKind::left, p), NestBody::sum_of(index));
    text_.line("left_{0}[slot % {1} * {2} + slot / {1}] = row < {3} && term < end ? {4} : {5};", p,
               tile_.terms, product_->left_stride(), loops_.row_end(),
               loaded_text(product.left, element), literal_text(product.sum, 0));
    text_.close();
  }

  /// A loop of the block's threads over places of shared memory.
  void open_slots(int count) {
    text_.open("for (int slot = threadIdx.y * {} + threadIdx.x; slot < {}; slot += {})",
               tile_.across, count, ProductTile::kThreads);
  }

  void load_right(int p, int part, int parts) {
    const NestProduct& product = program_.products[size_t(p)];
    open_slots(tile_.terms * parts * tile_.block_columns());
    text_.line("const int at_column = slot % {}, rest = slot / {};", tile_.block_columns(),
               tile_.block_columns());
    text_.line("const int at_part = rest % {0}, at_term = rest / {0};", parts);
    text_.line("const long long column = first_column + at_column, term = first_term + at_term;");
    const std::string element = fmt::format("{}[{}]", body_.name_of(ParameterKind::right, p),
                                            right_index(p, part_text(part)));
    text_.line("right_{}[{}] = column < {} && term < end ? {} : {};", p,
               right_slot(parts, "at_term"), loops_.column_end(),
               loaded_text(product.right, element), literal_text(product.sum, 0));
    text_.close();
  }

  /// The part that `at_part` is where the first of those at hand is `part`.
  static std::string part_text(int part) {
    return part == 0 ? "at_part" : fmt::format("(at_part + {})", part);
  }

  /// Panels are [blocks][k][parts][width]; a matrix has a stride for each.
  std::string right_index(int p, const std::string& part) const {
    const int64_t width = form_.panel_widths[size_t(p)];
    const int all = program_.products[size_t(p)].parts;
    if (width > 0) {
      return fmt::format("column / {0} * {1} + (term * {2} + {3}) * {0} + column % {0}", width,
                         body_.name_of(ParameterKind::right_block, p), all, part);
    }
    std::vector<std::string> terms{"term * " + body_.name_of(ParameterKind::right_k, p)};
    if (all > 1) terms.push_back(part + " * " + body_.name_of(ParameterKind::right_part, p));
    terms.push_back("column * " + body_.name_of(ParameterKind::right_column, p));
    return NestBody::sum_of(terms);
  }

  /// How many terms of a matrix the block holds.
  std::string held_terms(int p) const {
    return rounded_terms(body_.name_of(ParameterKind::terms, p), *product_);
  }

  void multiply(int p, int part, int parts) {
    const NestProduct& product = program_.products[size_t(p)];
    ProductPieces pieces{p, fmt::format("right_{}", p), parts, 0, parts};
    if (is_held(p)) {
      pieces = {p, "held_tile", product.parts, part, parts};
      text_.line(
          "const {}* held_tile = &{}[((first_column - column_begin) / {} * ({}) + first_term) * "
          "{}];",
          type_of(product.sum), form_.held[size_t(p)], tile_.block_columns(), held_terms(p),
          product_->right_stride(product.parts));
    }
    text_.line("const int there = end - first_term < {0} ? (int)(end - first_term) : {0};",
               tile_.terms);
    product_->multiply(text_, pieces, loops_.row_end(), loops_.column_end());
  }

  void finish() {
    text_.line("// The body, on finished sums.");
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < {}; ++at_row)", product_->rows());
    text_.line("const long long row = first_row + {};", product_->row());
    const std::string has_sums = product_->has_sums();
    text_.open("if ({}row < {})", has_sums.empty() ? "" : has_sums + " && ", loops_.row_end());
    const std::string when =
        fmt::format("first_column + {} < {}", product_->first_column(), loops_.column_end());
    body_.write(text_, Level::once, when);
    body_.write(text_, Level::row, when);
    text_.line("#pragma unroll");
    text_.open("for (int at_column = 0; at_column < {}; ++at_column)", product_->columns());
    text_.line("const long long column = first_column + {};", product_->column());
    text_.open("if (column < {})", loops_.column_end());
    body_.write(text_, Level::element);
    text_.close();
    text_.close();
    text_.close();
    text_.close();
  }

  const NestProgram& program_;
  const NestForm form_;
  const ProductTile tile_;
  const std::unique_ptr<const ProductText> product_;
  const internal::BlockLoops loops_;
  NestBody body_;
  TextWriter text_{1};
};

}  // namespace

HandedOn internal::exchanged_form(const NestProgram& program, const NestForm& form,
                                  const std::string& terms) {
  const ProductTile tile = product_tile(program, form);
  const auto text = product_text(program, tile);
  HandedOn made;
  made.terms = rounded_terms(terms, *text);
  made.tile_rows = tile.block_rows();
  made.stride = text->left_stride();
  return made;
}

std::string internal::exchange_text(const NestProgram& program,
                                    const std::vector<Parameter>& parameters, const NestForm& form,
                                    int product, bool given) {
  return TileText(program, parameters, form).write_exchange(product, given);
}

std::string internal::hold_text(const NestProgram& program,
                                const std::vector<Parameter>& parameters, const NestForm& form,
                                int product) {
  return TileText(program, parameters, form).write_hold(product);
}

std::string internal::tile_body(const NestProgram& program,
                                const std::vector<Parameter>& parameters, const NestForm& form) {
  return TileText(program, parameters, form).write();
}

}  // namespace graphc::cuda
