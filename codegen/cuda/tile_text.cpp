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

/// Sums that a thread keeps in registers, those of a piece and those of all pieces.
constexpr int kSums = 64;
/// Shared memory for the two operands' pieces.
constexpr int64_t kSharedOfTiles = 40 << 10;
/// Parts of a product that are summed at a time.
constexpr int kPartsAtOnce = 8;

int parts_of(const NestProgram& program) {
  int parts = 0;
  for (const NestProduct& product : program.products) parts += product.parts;
  return parts;
}

/// Bytes of shared memory for one term of k of every product.
int64_t bytes_of_a_term(const NestProgram& program, const ProductTile& tile) {
  int64_t bytes = 0;
  for (const NestProduct& product : program.products) {
    const int parts = std::min(product.parts, kPartsAtOnce);
    bytes += (tile.block_rows() + 1 + parts * tile.block_columns()) * size_of(product.sum);
  }
  return bytes;
}

class TileText {
 public:
  TileText(const NestProgram& program, const std::vector<Parameter>& parameters,
           const NestForm& form)
      : program_(program),
        form_(form),
        tile_(product_tile(program, form)),
        body_(program, parameters, [](int product, int part) {
          return fmt::format("sums_{}[{}][at_row][at_column]", product, part);
        }) {}

  const std::string& write() {
    for (size_t p = 0; p < program_.products.size(); ++p) declare_shared(int(p));
    internal::open_outer(text_, form_.outer);
    open_blocks();
    for (size_t p = 0; p < program_.products.size(); ++p) sum_product(int(p));
    finish();
    text_.close();
    text_.close();
    if (form_.outer > 0) text_.close();
    return text_.text();
  }

 private:
  static std::string_view type_of(DType dtype) { return register_type_text(dtype); }

  void declare_shared(int p) {
    const NestProduct& product = program_.products[size_t(p)];
    // A column more than the tile has, so that the threads that write one meet in no bank.
    text_.line("__shared__ {} left_{}[{}][{}];", type_of(product.sum), p, tile_.terms,
               tile_.block_rows() + 1);
    text_.line("__shared__ {} right_{}[{}][{}][{}];", type_of(product.sum), p, tile_.terms,
               std::min(product.parts, kPartsAtOnce), tile_.block_columns());
  }

  /// Where the block's tile begins.
  void open_blocks() {
    text_.open(
        "for (long long first_row = (long long)blockIdx.y * {0}; first_row < rows; first_row += "
        "(long long)gridDim.y * {0})",
        tile_.block_rows());
    text_.open(
        "for (long long first_column = (long long)blockIdx.x * {0}; first_column < columns; "
        "first_column += (long long)gridDim.x * {0})",
        tile_.block_columns());
  }

  void sum_product(int p) {
    const NestProduct& product = program_.products[size_t(p)];
    text_.line("// {} by {}: k in pieces that lie in shared memory.",
               body_.name_of(ParameterKind::left, p), body_.name_of(ParameterKind::right, p));
    text_.line("{} sums_{}[{}][{}][{}] = {{}};", type_of(product.sum), p, product.parts, tile_.rows,
               tile_.columns);
    for (int part = 0; part < product.parts; part += kPartsAtOnce)
      sum_parts(p, part, std::min(kPartsAtOnce, product.parts - part));
  }

  /// The sums of a few parts over all terms.
  void sum_parts(int p, int part, int parts) {
    const std::string terms = body_.name_of(ParameterKind::terms, p);
    text_.open("for (long long piece = 0; piece < {}; piece += {})", terms, internal::kPiece);
    text_.line("{} sums[{}][{}][{}] = {{}};", type_of(program_.products[size_t(p)].sum), parts,
               tile_.rows, tile_.columns);
    text_.line("const long long end = piece + {0} < {1} ? piece + {0} : {1};", internal::kPiece,
               terms);
    text_.open("for (long long first_term = piece; first_term < end; first_term += {})",
               tile_.terms);
    load_left(p);
    load_right(p, part, parts);
    text_.line("__syncthreads();");
    multiply(p, parts);
    text_.line("__syncthreads();");
    text_.close();
    each_sum(parts, [&] {
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
    text_.open("for (int slot = threadIdx.y * {0} + threadIdx.x; slot < {1}; slot += {2})",
               ProductTile::kSide, tile_.terms * tile_.block_rows(), threads());
    text_.line("const long long row = first_row + slot / {0}, term = first_term + slot % {0};",
               tile_.terms);
    const std::string element =
        fmt::format("{}[{}]", body_.name_of(ParameterKind::left, p), NestBody::sum_of(index));
    text_.line("left_{0}[slot % {1}][slot / {1}] = row < rows && term < end ? {2} : {3};", p,
               tile_.terms, loaded_text(product.left, element), literal_text(product.sum, 0));
    text_.close();
  }

  void load_right(int p, int part, int parts) {
    const NestProduct& product = program_.products[size_t(p)];
    text_.open("for (int slot = threadIdx.y * {0} + threadIdx.x; slot < {1}; slot += {2})",
               ProductTile::kSide, tile_.terms * parts * tile_.block_columns(), threads());
    text_.line("const int at_column = slot % {}, rest = slot / {};", tile_.block_columns(),
               tile_.block_columns());
    text_.line("const int at_part = rest % {0}, at_term = rest / {0};", parts);
    text_.line("const long long column = first_column + at_column, term = first_term + at_term;");
    const std::string element = fmt::format("{}[{}]", body_.name_of(ParameterKind::right, p),
                                            right_index(p, part_text(part)));
    text_.line("right_{}[at_term][at_part][at_column] = column < columns && term < end ? {} : {};",
               p, loaded_text(product.right, element), literal_text(product.sum, 0));
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

  /// One term after another into each sum, with one rounding for each.
  void multiply(int p, int parts) {
    const std::string_view function =
        program_.products[size_t(p)].sum == DType::f64 ? "fma" : "fmaf";
    text_.open("for (int at_term = 0; at_term < {}; ++at_term)", tile_.terms);
    each_sum(parts, [&] {
      text_.line(
          "sums[at_part][at_row][at_column] = {0}(left_{1}[at_term][threadIdx.y + at_row * {2}], "
          "right_{1}[at_term][at_part][threadIdx.x + "
          "at_column * {2}], sums[at_part][at_row][at_column]);",
          function, p, ProductTile::kSide);
    });
    text_.close();
  }

  /// A thread's sums of `parts` parts, unrolled so that they lie in registers.
  template <typename Write>
  void each_sum(int parts, const Write& write) {
    text_.line("#pragma unroll");
    text_.open("for (int at_part = 0; at_part < {}; ++at_part)", parts);
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < {}; ++at_row)", tile_.rows);
    text_.line("#pragma unroll");
    text_.open("for (int at_column = 0; at_column < {}; ++at_column)", tile_.columns);
    write();
    text_.close();
    text_.close();
    text_.close();
  }

  void finish() {
    text_.line("// The body, on finished sums.");
    text_.line("#pragma unroll");
    text_.open("for (int at_row = 0; at_row < {}; ++at_row)", tile_.rows);
    text_.line("const long long row = first_row + threadIdx.y + at_row * {};", ProductTile::kSide);
    text_.open("if (row < rows)");
    const std::string when = "first_column + threadIdx.x < columns";
    body_.write(text_, Level::once, when);
    body_.write(text_, Level::row, when);
    text_.line("#pragma unroll");
    text_.open("for (int at_column = 0; at_column < {}; ++at_column)", tile_.columns);
    text_.line("const long long column = first_column + threadIdx.x + at_column * {};",
               ProductTile::kSide);
    text_.open("if (column < columns)");
    body_.write(text_, Level::element);
    text_.close();
    text_.close();
    text_.close();
    text_.close();
  }

  static constexpr int threads() { return ProductTile::kSide * ProductTile::kSide; }

  const NestProgram& program_;
  const NestForm form_;
  const ProductTile tile_;
  NestBody body_;
  TextWriter text_{1};
};

}  // namespace

ProductTile product_tile(const NestProgram& program, const NestForm& form) {
  const int parts = parts_of(program);
  ProductTile tile;
  tile.rows = form.tile_rows / ProductTile::kSide;
  tile.columns = form.tile_columns / ProductTile::kSide;
  const auto fits = [&] {
    const int at_once = std::min(parts, kPartsAtOnce);
    return (parts + at_once) * tile.rows * tile.columns <= kSums;
  };
  while (!fits() && tile.columns * tile.rows > 1) {
    (tile.columns >= tile.rows ? tile.columns : tile.rows) /= 2;
  }
  const int64_t bytes = bytes_of_a_term(program, tile);
  while (tile.terms > 1 && tile.terms * bytes > kSharedOfTiles) tile.terms /= 2;
  GRAPHC_CHECK(tile.terms * bytes <= kSharedOfTiles, "products that need {} bytes a term", bytes);
  return tile;
}

int64_t internal::tile_shared_bytes(const NestProgram& program, const NestForm& form) {
  const ProductTile tile = product_tile(program, form);
  return tile.terms * bytes_of_a_term(program, tile);
}

std::string internal::tile_body(const NestProgram& program,
                                const std::vector<Parameter>& parameters, const NestForm& form) {
  return TileText(program, parameters, form).write();
}

}  // namespace graphc::cuda
