// SPDX-License-Identifier: Apache-2.0
// Nests with products: a block of threads sums a tile of rows x columns, with k in pieces in shared
// memory; then each thread runs the body for its elements.
#include <algorithm>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/operand_text.h"
#include "codegen/targets/cuda/text/tile_body.h"

namespace graphc::core::cuda {
namespace {

using internal::StagingText;

class TileText {
 public:
  TileText(const NestProgram& program, const std::vector<Parameter>& parameters,
           const NestForm& form, NestGrid& grid)
      : program_(program),
        form_(form),
        tile_(product_tile(program, form)),
        product_(product_text(program, tile_, grid)),
        loops_(form.owned),
        grid_(grid),
        body_(program, parameters,
              [](int product, int part) {
                return fmt::format("sums_{}[{}][at_row][at_column]", product, part);
              }),
        operands_(program_, form_, tile_, *product_, body_) {
    body_.hand_on(form.handed_on);
  }

  const std::string& write() {
    for (size_t p = 0; p < program_.products.size(); ++p) operands_.declare_shared(text_, int(p));
    if (counts_threads())
      text_.line("const int thread = {} * {} + {};", grid_.thread('y'), tile_.across,
                 grid_.thread('x'));
    product_->declare(text_);
    internal::open_outer(text_, form_.outer, grid_);
    open_blocks();
    internal::TileBody elements(body_, *product_, loops_);
    elements.read_ahead(text_, most_ahead_of_body());
    for (size_t p = 0; p < program_.products.size(); ++p) sum_product(int(p));
    elements.finish(text_);
    text_.close();
    text_.close();
    if (form_.outer > 0) text_.close();
    return text_.text();
  }

  const std::string& write_resident(int p) {
    operands_.write_resident(text_, p);
    return text_.text();
  }
  const std::string& write_exchange(int p, bool given) {
    operands_.write_exchange(text_, p, given);
    return text_.text();
  }

 private:
  static std::string_view type_of(DType dtype) { return register_type_text(dtype); }
  bool is_exchanged(int p) const { return operands_.is_exchanged(p); }
  bool is_resident(int p) const { return operands_.is_resident(p); }
  /// Whether the code needs the index of the thread in the block.
  bool counts_threads() const {
    bool counts = on_tensor_cores(program_);
    for (size_t p = 0; p < program_.products.size(); ++p)
      counts |= !is_exchanged(int(p)) || !is_resident(int(p));
    return counts;
  }

  /// Opens the loops over the block's tiles.
  void open_blocks() {
    text_.open("{}", loops_.over_rows(grid_, "first_row", std::to_string(tile_.block_rows())));
    text_.open("{}",
               loops_.over_columns(grid_, "first_column", std::to_string(tile_.block_columns())));
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

  /// The sums of a few parts over all terms. A stage, the terms in shared memory at a time,
  /// contains pieces that are summed separately; or a piece contains several stages if it is
  /// longer.
  void sum_parts(int p, int part, int parts) {
    const std::string terms = body_.name_of(ParameterKind::k, p);
    text_.open_block();
    std::vector<StagingText> staged;
    if (!is_exchanged(p)) staged.push_back(operands_.left(p));
    if (!is_resident(p)) staged.push_back(operands_.right(p, part, parts));
    for (const StagingText& operand : staged) operand.declare(text_);
    if (!staged.empty()) text_.line("long long loaded_term = 0;");
    load_ahead(staged, terms);
    const int stage = tile_.k;
    const auto open = [&](std::string_view name, std::string_view begin, std::string_view end,
                          int step) {
      text_.open("for (long long {0} = {1}; {0} < {2}; {0} += {3})", name, begin, end, step);
    };
    if (stage > kPiece) {
      open("first_term", "0", terms, stage);
      text_.line("const long long stage_end = first_term + {0} < {1} ? first_term + {0} : {1};",
                 stage, terms);
      begin_stage(staged, terms);
      open("turn", "first_term", "stage_end", kPiece * product_->pieces_at_a_time());
      text_.line("const long long piece = turn{};", product_->piece_of_turn(kPiece));
      open_piece(p, parts, "stage_end");
      multiply(p, part, parts);
      close_piece(p, part, parts);
      end_stage(staged);
      text_.close();
    } else {
      open("piece", "0", terms, kPiece);
      open_piece(p, parts, terms);
      open("first_term", "piece", "end", stage);
      begin_stage(staged, terms);
      multiply(p, part, parts);
      end_stage(staged);
      text_.close();
      close_piece(p, part, parts);
    }
    text_.close();
  }

  void open_piece(int p, int parts, std::string_view limit) {
    text_.line("{} sums[{}][{}][{}] = {{}};", type_of(program_.products[size_t(p)].sum), parts,
               product_->rows(), product_->columns());
    text_.line("const long long end = piece + {0} < {1} ? piece + {0} : {1};", kPiece, limit);
  }
  void close_piece(int p, int part, int parts) {
    const auto add = [&](const std::string& sum) {
      const std::string all =
          fmt::format("sums_{}[{}][at_row][at_column]", p, ProductText::part_text(part));
      text_.line("{0} = {0} + {1};", all, sum);
    };
    const std::string own = "sums[at_part][at_row][at_column]";
    if (product_->pieces_at_a_time() == 1) {
      product_->each_sum(text_, parts, [&] { add(own); });
    } else {
      // The sums of the pieces of a turn, in order.
      const std::string slot = product_->handed_slot(parts);
      text_.open("if ({})", product_->hands_over());
      product_->each_sum(text_, parts, [&] { text_.line("handed_{}[{}] = {};", p, slot, own); });
      text_.close();
      text_.line("__syncthreads();");
      text_.open("if ({})", product_->has_sums());
      product_->each_sum(text_, parts, [&] { add(own); });
      text_.open("for (int from = 1; from < {}; ++from)", product_->pieces_at_a_time());
      const std::string other = product_->handed_slot_of("from", parts);
      product_->each_sum(text_, parts, [&] { add(fmt::format("handed_{}[{}]", p, other)); });
      text_.close();
      text_.close();
      // The next sums must not be handed over before these are read; the end of a stage ensures
      // that too.
      if (tile_.k / kPiece > product_->pieces_at_a_time()) text_.line("__syncthreads();");
    }
    text_.close();
  }

  /// Copies the operands' terms from `first_term` on into shared memory, and starts to read those
  /// of the next stage.
  void begin_stage(const std::vector<StagingText>& staged, std::string_view terms) {
    for (const StagingText& operand : staged) {
      if (operand.reads_ahead())
        operand.put(text_);
      else
        operand.bring(text_);
    }
    if (staged.empty()) return;
    text_.line("__syncthreads();");
    text_.line("loaded_term = first_term + {};", tile_.k);
    load_ahead(staged, terms);
  }
  /// Starts to read the operands' terms from `loaded_term` on, if there are any.
  void load_ahead(const std::vector<StagingText>& staged, std::string_view terms) {
    if (std::ranges::none_of(staged, &StagingText::reads_ahead)) return;
    text_.open("if (loaded_term < {})", terms);
    for (const StagingText& operand : staged) {
      if (operand.reads_ahead()) operand.load(text_);
    }
    text_.close();
  }
  void end_stage(const std::vector<StagingText>& staged) {
    if (!staged.empty()) text_.line("__syncthreads();");
  }

  /// Multiplies the terms from `first_term` on, or those of `piece` in a stage of several pieces.
  void multiply(int p, int part, int parts) {
    const NestProduct& product = program_.products[size_t(p)];
    const bool in_stage = tile_.k > kPiece;
    const std::string_view first = in_stage ? "piece" : "first_term";
    ProductPieces pieces;
    pieces.product = p;
    pieces.parts = parts;
    pieces.left_is_ready = !is_exchanged(p);
    pieces.left_words = operands_.left_words(p);
    const LeftLayout layout = product_->left_layout(pieces.left_words);
    const std::string word =
        fmt::format("({} - first_term) / {}", first, product_->terms_of_word(p));
    pieces.left = fmt::format("left_{}", p);
    if (is_exchanged(p)) {
      text_.line("const {}* {} = &{}[(first_row - row_begin) / {} * {} + {} * {}];",
                 type_of(product.sum), pieces.left, form_.exchanged_name(size_t(p)),
                 tile_.block_rows(), layout.tile, first, layout.word);
    } else if (in_stage) {
      pieces.left = fmt::format("left_piece_{}", p);
      text_.line("const {}* {} = &left_{}[{} * {}];", type_of(product.sum), pieces.left, p, word,
                 layout.word);
    }
    set_right(p, part, first, word, pieces);
    text_.line("const int there = end - {0} < {1} ? (int)(end - {0}) : {1};", first,
               std::min(tile_.k, kPiece));
    product_->multiply(text_, pieces, loops_.row_end(), loops_.column_end());
  }

  void set_right(int p, int part, std::string_view first, const std::string& word,
                 ProductPieces& pieces) {
    const NestProduct& product = program_.products[size_t(p)];
    pieces.right = fmt::format("right_{}", p);
    pieces.right_parts = pieces.parts;
    if (is_resident(p)) {
      pieces.right = "resident_tile";
      pieces.right_parts = product.parts;
      pieces.first_part = part;
      text_.line(
          "const {}* resident_tile = &{}[((first_column - column_begin) / {} * {} + {} / {}) * "
          "{}];",
          type_of(product.sum), form_.resident_name(size_t(p)), tile_.block_columns(),
          operands_.resident_words(p), first, product_->terms_of_word(p),
          product_->right_stride(product.parts));
    } else if (tile_.k > kPiece) {
      pieces.right = fmt::format("right_piece_{}", p);
      text_.line("const {}* {} = &right_{}[{} * {}];", type_of(product.sum), pieces.right, p, word,
                 product_->right_stride(pieces.parts));
    }
  }

  /// Registers of a thread for the operands of its elements' bodies; fewer where other blocks
  /// multiply meanwhile.
  int most_ahead_of_body() const { return form_.owned ? 32 : 8; }

  const NestProgram& program_;
  const NestForm form_;
  const ProductTile tile_;
  const std::unique_ptr<const ProductText> product_;
  const internal::BlockLoops loops_;
  NestGrid& grid_;
  NestBody body_;
  const OperandText operands_;
  TextWriter text_{1};
};

}  // namespace

HandedOn internal::exchanged_form(const NestProgram& program, const NestForm& form,
                                  const std::string& terms) {
  const ProductTile tile = product_tile(program, form);
  const auto text = product_text(program, tile);
  HandedOn made;
  const LeftLayout layout = text->left_layout(rounded_terms(terms, *text));
  made.tile_rows = tile.block_rows();
  made.tile_stride = layout.tile;
  made.row_stride = layout.row;
  made.term_stride = layout.word;
  return made;
}

std::string internal::exchange_text(const NestProgram& program,
                                    const std::vector<Parameter>& parameters, const NestForm& form,
                                    int product, bool given) {
  NestGrid grid(NestGrid::Of::launch);
  return TileText(program, parameters, form, grid).write_exchange(product, given);
}

std::string internal::resident_text(const NestProgram& program,
                                    const std::vector<Parameter>& parameters, const NestForm& form,
                                    int product) {
  NestGrid grid(NestGrid::Of::launch);
  return TileText(program, parameters, form, grid).write_resident(product);
}

std::string internal::tile_body(const NestProgram& program,
                                const std::vector<Parameter>& parameters, const NestForm& form,
                                NestGrid& grid) {
  return TileText(program, parameters, form, grid).write();
}

}  // namespace graphc::core::cuda
