// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/pipelined_form.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "codegen/nest/levels.h"
#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda {
namespace {

constexpr int kPadding = 16;

/// The greatest number of bytes, at most `most`, of whose multiples an address is in every step.
int64_t alignment_of(const Plan& plan, const Address& address, int64_t most) {
  const Buffer& buffer = plan.buffers[size_t(address.buffer)];
  int64_t together = address.offset | (buffer.place == Place::arena ? buffer.offset : 0);
  for (const Address::Term& term : address.terms) together |= term.step | term.parity;
  if (address.at_first) most = alignment_of(plan, *address.at_first, most);
  while (together % most != 0) most /= 2;
  return most;
}
/// The same for strides.
int64_t alignment_of(const std::vector<int64_t>& strides, int64_t most) {
  while (std::ranges::any_of(strides, [&](int64_t stride) { return stride % most != 0; }))
    most /= 2;
  return most;
}

/// How an operand is copied, given its strides in bytes along terms and lines.
std::optional<CopiedOperand> copied(const Plan& plan, const Address& address,
                                    const std::vector<int64_t>& outer, int64_t term, int64_t line,
                                    int64_t element_bytes) {
  CopiedOperand operand;
  operand.along_terms = term == element_bytes;
  if (!operand.along_terms && line != element_bytes) return std::nullopt;
  int64_t bytes = alignment_of(plan, address, 16);
  bytes = alignment_of(outer, bytes);
  bytes = alignment_of({operand.along_terms ? line : term}, bytes);
  if (bytes < 4) return std::nullopt;
  operand.bytes = int(bytes);
  return operand;
}

/// Stores of elements that begin at an even column, with a next one, at memory aligned for both.
std::vector<size_t> paired_stores(const Plan& plan, const NestCall& call) {
  const NestProgram& program = plan.programs[size_t(call.program)];
  const std::vector<Level> levels = levels_of(program);
  std::vector<size_t> stores;
  if (call.unit % 2 != 0) return stores;
  for (size_t i = 0; i < program.body.size(); ++i) {
    const NestInstruction& in = program.body[i];
    if (in.kind != NestOp::store || levels[i] != Level::element) continue;
    const NestOperand& form = program.operands[size_t(in.operand)];
    const CallOperand& operand = call.operands[size_t(in.operand)];
    if (form.column != ColumnStep::contiguous || !form.by_row ||
        (form.dtype != DType::f32 && form.dtype != DType::bf16))
      continue;
    const int64_t both = 2 * size_of(form.dtype);
    if (alignment_of(plan, operand.address, both) == both && operand.row % both == 0 &&
        operand.part % both == 0 && alignment_of(operand.outer, both) == both)
      stores.push_back(i);
  }
  return stores;
}

std::optional<PipelinedForm> pipelined(const Plan& plan, const NestCall& call) {
  const NestProgram& program = plan.programs[size_t(call.program)];
  if (program.kind != NestKind::tiles || program.products.size() != 1 || !on_tensor_cores(program))
    return std::nullopt;
  const NestProduct& product = program.products[0];
  const CallProduct& of_call = call.products[0];
  if ((product.parts != 1 && !of_call.in_panels) || product.parts > 4 || product.sum != DType::f32)
    return std::nullopt;
  // Those of bf16 are multiplied as they are.
  const auto is_ready = [&](DType dtype) {
    return dtype == DType::bf16 && product.factors == Factors::bf16;
  };
  if ((product.left != DType::f32 && !is_ready(product.left)) ||
      (product.right != DType::f32 && !is_ready(product.right)))
    return std::nullopt;
  // Few rows or columns have smaller tiles than there are here.
  if (std::min(call.rows, call.unit) <= kMmaRows) return std::nullopt;
  const int64_t size = size_of(product.right);
  const auto left =
      copied(plan, of_call.a, of_call.outer, of_call.a_k, of_call.a_row, size_of(product.left));
  const int64_t of_term = of_call.panels.width * of_call.panels.parts * size;
  const auto right = of_call.in_panels
                         ? copied(plan, of_call.b, of_call.right_outer, of_term, size, size)
                         : copied(plan, of_call.b, of_call.right_outer, of_call.b_strides.k,
                                  of_call.b_strides.column, size);
  if (!left || !right) return std::nullopt;
  // Lanes take terms of f32 in another order than pairs of bf16 along terms.
  if (product.left != product.right && (product.left != DType::f32 || right->along_terms))
    return std::nullopt;
  return PipelinedForm{{*left, *right}, paired_stores(plan, call), of_call.in_panels};
}

/// Tiles of so many rows and columns of all parts, and the cycles of a multiprocessor for a step of
/// such a tile: loads from shared memory, of 128 bytes a cycle, and copies to it.
struct TileSize {
  int rows = 64, columns = 64;
  double step_cycles = 0;
};
constexpr TileSize kTileSizes[] = {{128, 128, 256}, {128, 64, 176}, {64, 128, 176}, {64, 64, 128}};

/// Parts of a block of panels, with place for a fourth one of three.
int places_of_parts(const NestProduct& product) {
  return int(std::bit_ceil(unsigned(product.parts)));
}

double cycles_of(const NestProduct& product, const NestCall& call, const TileSize& size) {
  const auto tiles = [](int64_t extent, int of) { return (extent + of - 1) / of; };
  int64_t all =
      tiles(call.rows, size.rows) * tiles(call.unit, size.columns / places_of_parts(product));
  for (const int64_t extent : call.outer) all *= extent;
  const double rounds = double((all + 127) / 128);
  double steps =
      double(call.products[0].panels.k * size_of(product.right)) / PipelineLayout::kStepBytes;
  if (product.left != product.right) steps *= 1.5;  // twice the bytes of rows
  // The first loads, and the body of the elements.
  const double beside = 1500 + size.rows * size.columns / 8.0;
  return rounds * (steps * size.step_cycles + beside);
}

/// Gives the form the tile whose blocks are done first, of those whose stages fit so many bytes of
/// shared memory; one of panels has a block of them. False if there is none.
bool choose_tile(const NestProgram& program, const NestCall& call, int64_t shared_bytes,
                 NestForm& form) {
  const NestProduct& product = program.products[0];
  std::optional<NestForm> best;
  double fewest = 0;
  for (const TileSize& size : kTileSizes) {
    form.tile_rows = size.rows;
    form.tile_columns = size.columns / places_of_parts(product);
    const double cycles = cycles_of(product, call, size);
    if ((best && cycles >= fewest) || PipelineLayout(program, form).all() > shared_bytes ||
        (form.pipelined->in_panels && form.tile_columns != form.panel_widths[0]))
      continue;
    best = form;
    fewest = cycles;
  }
  if (best) form = *best;
  return best.has_value();
}

}  // namespace

NestForm launched_form_of(const Plan& plan, const NestCall& call, int64_t shared_bytes) {
  NestForm form = form_of(call);
  form.pipelined = pipelined(plan, call);
  if (!form.pipelined) return form;
  const NestProgram& program = plan.programs[size_t(call.program)];
  if (!choose_tile(program, call, shared_bytes, form)) return form_of(call);
  // Offsets within a stage count up to 128 lines, or as many terms.
  const CallProduct& product = call.products[0];
  const auto is_far = [](int64_t stride) {
    return std::abs(stride) > std::numeric_limits<int32_t>::max() / 1024;
  };
  form.far |= is_far(product.a_row) || is_far(product.a_k);
  if (!product.in_panels)
    form.far |= is_far(product.b_strides.k) || is_far(product.b_strides.column);
  return form;
}

double pipelined_cycles(const NestProgram& program, const NestCall& call, const NestForm& form) {
  const NestProduct& product = program.products[0];
  const int columns = form.tile_columns * places_of_parts(product);
  const auto size = std::ranges::find_if(kTileSizes, [&](const TileSize& each) {
    return each.rows == form.tile_rows && each.columns == columns;
  });
  return cycles_of(product, call, *size);
}

std::vector<Parameter> parameters_of(const Plan& plan, const NestCall& call, const NestForm& form) {
  std::vector<Parameter> parameters = parameters_of(plan, call);
  if (!form.pipelined) return parameters;
  const auto [left, right] = form.pipelined->operands;
  const std::array known{left.along_terms ? ParameterKind::left_k : ParameterKind::left_row,
                         right.along_terms ? ParameterKind::right_k : ParameterKind::right_column};
  std::erase_if(parameters, [&](const Parameter& parameter) {
    return std::ranges::find(known, parameter.kind) != known.end();
  });
  return parameters;
}

PipelineLayout::PipelineLayout(const NestProgram& program, const NestForm& form)
    : form_(form),
      element_bytes_{size_of(program.products[0].left), size_of(program.products[0].right)},
      parts_(program.products[0].parts) {
  if (lines(0) + lines(1) <= 128) stage_bytes_ = 128;
}

int64_t PipelineLayout::pitch(int side) const {
  if (operand(side).along_terms) return terms() * element_bytes(side) + kPadding;
  // Lanes that read words of eight neighbours and four terms have banks of their own with eight
  // words more, those that read rows of 16 bytes with four.
  return lines(side) * element_bytes(side) + (element_bytes(side) == 4 ? 2 * kPadding : kPadding);
}

int64_t PipelineLayout::bytes(int side) const {
  return pitch(side) * (operand(side).along_terms ? lines(side) : terms());
}

int PipelineLayout::copies_of_line(int side) const {
  const int64_t line = operand(side).along_terms ? terms() : lines(side);
  return int(line * element_bytes(side) / operand(side).bytes);
}

int PipelineLayout::copies_of_thread(int side) const {
  return copies_of_line(side) * (operand(side).along_terms ? lines(side) : terms()) / kThreads;
}

MmaLayout PipelineLayout::sums() const {
  const int warp_columns = lines(0) > lines(1) ? 2 : 4;
  const int warp_rows = kMmaWarps / warp_columns;
  return {rows() / warp_rows / 8, columns() / warp_columns / 4, warp_columns};
}

double PipelineLayout::moved_bytes() const {
  const MmaLayout of_warp = sums();
  const auto moved = [&](int side, int lines_of_warp) {
    return double(kMmaWarps * lines_of_warp + lines(side)) * double(terms() * element_bytes(side));
  };
  return moved(0, of_warp.rows * 8) + moved(1, instructions() * 8);
}

}  // namespace graphc::core::cuda
