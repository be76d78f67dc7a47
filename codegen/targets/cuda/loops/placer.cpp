// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/placer.h"

#include <algorithm>
#include <bit>
#include <set>

#include "codegen/targets/cuda/loops/loop_exchange.h"
#include "codegen/targets/cuda/loops/nest_owners.h"
#include "codegen/targets/cuda/loops/owned_ranges.h"
#include "codegen/targets/cuda/text/staging_text.h"

namespace graphc::core::cuda {
namespace {

/// Shared memory reserved for the compiler and for static arrays.
constexpr int64_t kSharedKept = 1 << 10;
/// Instructions that a thread executes to copy a number of an operand into shared memory, and
/// instructions that a multiprocessor executes per cycle, each for one number.
constexpr double kInstructionsOfNumber = 6, kInstructionsPerClock = 128;
/// An estimate of the registers that a thread of a loop has for numbers that it loads ahead and for
/// sums: of 255, what one product needs for its places and factors leaves so many, from which each
/// operand of a nest takes those of its place and stride, and each further product those of its own
/// places. The numbers are fitted to NVRTC 13.0, not counted: with more, loops of layer norm, of
/// projections and of GRUs (H 650) spill on sm_90a, which tests/codegen/cuda/nvrtc_test.cpp would
/// say. A constant of 32 or 48 for all loops is no substitute: pieces are shorter then, and loops
/// that exchange no fragments take up to twice as long by the model.
constexpr int kRegistersOfLoop = 166;
constexpr double kRegistersOfOperand = 1.5, kRegistersOfFurtherProduct = 80;
/// Numbers loaded ahead that no estimate forbids: those of the shortest pieces.
constexpr int kLeastAheadInLoop = 16;
/// Maximum size of static arrays of nests without products.
constexpr int64_t kMostStatic = 48 << 10;

int ceiling_power(int64_t count, int most) {
  return int(
      std::min<int64_t>(int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(count, 1)))), most));
}

int64_t rounded_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

}  // namespace

Placer::Placer(const LoopNests& nests, const Gpu& gpu)
    : nests_(nests), gpu_(gpu), owners_(owners_of(nests)), runs_(runs_beside_rows(nests)) {
  int64_t operands_in_memory = 0;
  for (size_t i = 0; i < nests_.nests.size(); ++i) {
    const bool is_batched = !nests_.nests[i]->outer.empty();
    has_outer_axes_ |= is_batched;
    for (const CallProduct& product : nests_.nests[i]->products)
      invariant_.push_back(!is_batched && is_invariant(nests_, product));
    operands_in_memory += std::ranges::count_if(nests_.program(i).operands, [](const auto& each) {
      return each.kind != OperandKind::literal && each.kind != OperandKind::iota;
    });
  }
  registers_ahead_ = int(kRegistersOfLoop - kRegistersOfOperand * double(operands_in_memory) -
                         kRegistersOfFurtherProduct * (double(invariant_.size()) - 1));
}

bool Placer::possible() const {
  std::set<DType> sums;
  for (size_t i = 0; i < nests_.nests.size(); ++i) {
    for (const NestProduct& product : nests_.program(i).products) sums.insert(product.sum);
  }
  return sums.size() <= 1;
}

bool Placer::rows_are_private() const {
  if (!nests_.has_private_rows()) return false;
  for (size_t i = 0; i < nests_.nests.size(); ++i) {
    if (nests_.program(i).kind == NestKind::column_wise) return false;
  }
  return !has_outer_axes_;
}

std::optional<LoopPlacement> Placer::place(Placement kind, int64_t row_groups,
                                           int64_t column_groups) const {
  LoopPlacement empty;
  empty.placement = kind;
  empty.groups = nests_.groups;
  empty.row_groups = row_groups;
  empty.column_groups = column_groups;
  std::vector<Owner> owners = owners_;
  std::optional<LoopPlacement> best = place(empty, owners);
  // A block that has all columns waits for none; where fragments are exchanged, elements have
  // owners.
  if (column_groups == 1 || !best || best->counted != nullptr) return best;
  for (const std::vector<size_t>& run : runs_) {
    std::vector<Owner> by_rows = owners;
    for (const size_t i : run) by_rows[i] = Owner::row;
    std::optional<LoopPlacement> other = place(empty, by_rows);
    if (!other || other->step_us >= best->step_us) continue;
    best = std::move(other);
    owners = std::move(by_rows);
  }
  return best;
}

std::optional<LoopPlacement> Placer::place(LoopPlacement p,
                                           const std::vector<Owner>& owners) const {
  for (size_t i = 0; i < nests_.nests.size(); ++i) {
    NestShare share = share_of(i, p, owners[i]);
    if (nests_.program(i).kind == NestKind::tiles && !fits_registers(nests_.program(i), share.form))
      return std::nullopt;
    p.nests.push_back(std::move(share));
  }
  if (!lay_out(p, owners)) return std::nullopt;
  std::vector<Exchange> exchanges;
  for (const ExchangedOperand& each : p.exchanged) exchanges.push_back(each.exchange);
  const size_t count = nests_.nests.size();
  if (p.counted != nullptr)
    for (size_t i = 0; i < count; ++i) p.barrier_after.push_back(p.counted->meetings_after(i) > 0);
  else
    p.barrier_after = barriers_of(nests_, owners, p.column_groups, exchanges);
  p.step_us = step_us(p);
  return p;
}

double Placer::streamed_us() const {
  double us = 0;
  for (size_t i = 0; i < nests_.nests.size(); ++i) {
    const NestCall& call = *nests_.nests[i];
    const NestProgram& program = nests_.program(i);
    us += gpu_.barrier_us + gpu_.memory_latency_us;
    if (program.kind != NestKind::tiles) continue;
    const NestForm form = streamed_form_of(call);
    const ProductTile tile = product_tile(program, form);
    const int64_t tiles = nests_.groups * outer_indices(call) *
                          rounded_up(call.rows, tile.block_rows()) / tile.block_rows() *
                          (rounded_up(call.unit, tile.block_columns()) / tile.block_columns());
    const double waves = double(rounded_up(tiles, gpu_.multiprocessors) / gpu_.multiprocessors);
    for (size_t p = 0; p < call.products.size(); ++p)
      us += waves * product_us(program, p, call.products[p].panels.k, form, false, false);
  }
  return us;
}

NestShare Placer::share_of(size_t i, const LoopPlacement& p, Owner owner) const {
  const NestCall& call = *nests_.nests[i];
  const NestProgram& program = nests_.program(i);
  NestShare share;
  share.form = form_of(call);
  share.form.owned = true;
  share.form.nest = i;
  share.form.resident.resize(call.products.size());
  share.form.exchanged.resize(call.products.size());
  share.columns_of_block = (call.unit + p.column_groups - 1) / p.column_groups;
  // Such a number of blocks is that of whole unit tiles.
  if (p.placement == Placement::cluster && !std::has_single_bit(uint64_t(p.column_groups)))
    share.columns_of_block = rounded_up(share.columns_of_block, kUnits);
  share.owner = owner;
  if (owner == Owner::outer) share.columns_of_block = call.unit;
  if (program.kind == NestKind::tiles) set_tile(program, p.rows_of_block(call.rows), share);
  return share;
}

void Placer::set_tile(const NestProgram& program, int64_t rows, NestShare& share) {
  NestForm& form = share.form;
  form.staged_k = 16;
  form.tile_rows = ceiling_power(rows, 128);
  form.tile_columns = ceiling_power(share.columns_of_block, ProductTile::kThreads);
  if (on_tensor_cores(program)) {
    form.tile_rows = std::max(form.tile_rows, kMmaRows);
    form.tile_columns = std::max(form.tile_columns, kMmaColumns);
  }
  while (form.tile_rows * form.tile_columns > ProductTile::kThreads &&
         !fits_registers(program, form))
    (form.tile_columns > form.tile_rows ? form.tile_columns : form.tile_rows) /= 2;
  // Threads beyond the tile's rows or columns would be idle.
  while (form.tile_rows * form.tile_columns < ProductTile::kThreads)
    (form.tile_rows < 16 ? form.tile_rows : form.tile_columns) *= 2;
}

bool Placer::lay_out_shared(LoopPlacement& p) const {
  const int64_t room = gpu_.shared_bytes - kSharedKept - static_bytes(p);
  p.dtype = dtype();
  const int64_t size = size_of(p.dtype);
  int64_t used = 0;
  for (ExchangedOperand& operand : p.exchanged) {
    operand.offset = used;
    used += 2 * operand.elements;
  }
  size_t number = 0;
  for (size_t i = 0; i < p.nests.size(); ++i) {
    const NestCall& call = *nests_.nests[i];
    NestShare& share = p.nests[i];
    for (size_t product = 0; product < call.products.size(); ++product) {
      if (!invariant_[number++]) continue;
      const int64_t elements =
          internal::resident_elements(nests_.program(i), share.form, product,
                                      share.columns_of_block, call.products[product].panels.k);
      const int64_t least = staging_bytes(p);
      if ((used + elements) * size + least > room) continue;
      share.form.resident[product] = true;
      p.resident.push_back({i, product, used, elements});
      used += elements;
    }
  }
  p.staging = used;
  if (used * size + staging_bytes(p) > room) return false;
  grow_pieces(p, room - used * size);
  p.shared_bytes = used * size + staging_bytes(p);
  return true;
}

bool Placer::count_exchange(LoopPlacement& p) const {
  CountedPlan plan =
      plan_counted(nests_, p, invariant_, gpu_.shared_bytes - kSharedKept - static_bytes(p));
  if (p.placement == Placement::cluster) p.not_counted = plan.reason;
  if (!plan.loop) return false;
  p.dtype = DType::f32;
  p.shared_bytes = plan.loop->words * 4;
  for (NestShare& share : p.nests) share.owner = Owner::element;
  for (const CountedProduct& product : plan.loop->products) {
    NestForm& form = p.nests[product.nest].form;
    form.resident[product.product] = form.exchanged[product.product] = true;
  }
  for (CountedProduct& product : plan.loop->products)
    product.cycles = plan.loop->cycles_of(product, gpu_);
  plan.loop->beside_us = plan.loop->time_beside_products(nests_, gpu_);
  p.counted = std::make_shared<const CountedLoop>(std::move(*plan.loop));
  return true;
}

bool Placer::lay_out(LoopPlacement& p, const std::vector<Owner>& owners) const {
  // Blocks that share columns exchange fragments wherever they can.
  const bool is_shared = p.placement == Placement::grid && p.column_groups > 1;
  if ((is_shared || p.placement == Placement::cluster) && count_exchange(p)) return true;
  return p.placement == Placement::cluster ? lay_out_cluster(p, owners) : lay_out_shared(p);
}

bool Placer::lay_out_cluster(LoopPlacement& p, const std::vector<Owner>& owners) const {
  const auto invariant = size_t(std::ranges::count(invariant_, true));
  LoopPlacement with = p;
  add_exchanges(with, find_exchanges(nests_, owners));
  if (lay_out_shared(with) && with.resident.size() == invariant) {
    p = std::move(with);
    return true;
  }
  return lay_out_shared(p) && p.resident.size() == invariant;
}

void Placer::add_exchanges(LoopPlacement& p, const std::vector<Exchange>& exchanges) const {
  for (const Exchange& exchange : exchanges) {
    const NestCall& call = *nests_.nests[exchange.nest];
    const NestProgram& program = nests_.program(exchange.nest);
    NestForm& form = p.nests[exchange.nest].form;
    form.exchanged[exchange.product] = true;
    p.exchanged.push_back({exchange, 0,
                           internal::exchanged_elements(program, form, p.rows_of_block(call.rows),
                                                        call.products[exchange.product].panels.k)});
  }
}

void Placer::grow_pieces(LoopPlacement& p, int64_t room) const {
  for (size_t i = 0; i < p.nests.size(); ++i) {
    const NestCall& call = *nests_.nests[i];
    int64_t terms = 0;
    for (const CallProduct& product : call.products) terms = std::max(terms, product.panels.k);
    NestForm& form = p.nests[i].form;
    const NestProgram& program = nests_.program(i);
    while (terms > form.staged_k) {
      NestForm larger = form;
      larger.staged_k *= 2;
      if (internal::shared_bytes(program, larger) > room || !reads_ahead(program, larger)) break;
      form = larger;
    }
  }
}

bool Placer::reads_ahead(const NestProgram& program, const NestForm& form) const {
  const ProductTile tile = product_tile(program, form);
  const auto text = product_text(program, tile);
  bool stages = false;
  for (size_t p = 0; p < program.products.size(); ++p) {
    const int parts = std::min(program.products[p].parts, kPartsAtOnce);
    const bool resident = form.owned && form.resident[p];
    const bool exchanged = form.owned && form.exchanged[p];
    const int right = resident ? 0 : parts * tile.block_columns();
    const int left = exchanged ? 0 : tile.block_rows();
    const int sums = int(text->sums(int(p)));
    // Two factors of each number are kept beside the sums then.
    const bool is_split = program.products[p].factors == Factors::split_tf32;
    const int most_ahead = std::clamp(registers_ahead_ - (is_split ? 3 : 1) * sums,
                                      kLeastAheadInLoop, 2 * internal::kMostAhead);
    const int staged = right == 0 ? 0 : internal::staged_width(right, ProductTile::kThreads);
    if ((left + staged) * tile.k > most_ahead * ProductTile::kThreads ||
        std::max(left, staged) * tile.k > internal::kMostAhead * ProductTile::kThreads)
      return false;
    stages |= left > 0 || right > 0;
  }
  return stages || tile.k <= kPiece;
}

int64_t Placer::staging_bytes(const LoopPlacement& p) const {
  int64_t most = 0;
  for (size_t i = 0; i < p.nests.size(); ++i) {
    if (nests_.program(i).kind == NestKind::tiles)
      most = std::max(most, internal::shared_bytes(nests_.program(i), p.nests[i].form));
  }
  return most;
}

int64_t Placer::static_bytes(const LoopPlacement& p) const {
  int64_t bytes = OwnedRanges::shared_bytes(nests_, p);
  for (size_t i = 0; i < p.nests.size(); ++i) {
    if (nests_.program(i).kind != NestKind::tiles)
      bytes += internal::shared_bytes(nests_.program(i), p.nests[i].form);
  }
  return bytes <= kMostStatic ? bytes : gpu_.shared_bytes;
}

DType Placer::dtype() const {
  for (size_t i = 0; i < nests_.nests.size(); ++i) {
    for (const NestProduct& product : nests_.program(i).products) return product.sum;
  }
  return DType::f32;
}

double Placer::product_us(const NestProgram& program, size_t product, int64_t k,
                          const NestForm& shape, bool resident, bool exchanged) const {
  const ProductTile tile = product_tile(program, shape);
  const NestProduct& form = program.products[product];
  const auto text = product_text(program, tile);
  // Four warps multiply per cycle; one reads.
  const double multiplying =
      std::max(text->sums(int(product)) * 32 / multiplied_per_clock(program, form),
               text->loads_of_term(int(product))) *
      text->warps();
  const double numbers = double((exchanged ? 0 : tile.block_rows()) +
                                (resident ? 0 : int64_t{form.parts} * tile.block_columns()));
  const double staging = numbers * kInstructionsOfNumber / kInstructionsPerClock;
  const double ingest = numbers * size_of(form.left) / gpu_.bytes_per_clock;
  const double pieces = double(rounded_up(k, tile.k) / tile.k);
  const double cycles = multiplying + staging;
  if (resident && exchanged) return multiplying * double(k) / gpu_.clock_per_us;
  // The first piece is waited for, and all others too unless they are read ahead.
  if (reads_ahead(program, shape))
    return std::max(cycles, ingest) * double(k) / gpu_.clock_per_us + gpu_.memory_latency_us;
  return (cycles + ingest) * double(k) / gpu_.clock_per_us + pieces * gpu_.memory_latency_us;
}

double Placer::multiplied_per_clock(const NestProgram& program, const NestProduct& form) const {
  if (!on_tensor_cores(program)) return gpu_.fma_per_clock;
  const TensorCost cost = tensor_cost(form.factors).value();
  return gpu_.mma_per_clock * (cost.is_half ? 2 : 1) / cost.products;
}

/// A step waits for its exchange or its barriers; what it loads from shared memory, 128 bytes a
/// cycle, or multiplies, whichever takes longer, comes after that.
double Placer::counted_step_us(const LoopPlacement& p) const {
  double us = p.counted->beside_us + double(p.counted->meetings()) * barrier_us(p);
  for (const CountedProduct& product : p.counted->products)
    us += std::max(product.cycles, p.counted->loaded_bytes(product) / 128) / gpu_.clock_per_us;
  return us;
}

double Placer::step_us(const LoopPlacement& p) const {
  if (p.counted != nullptr) return counted_step_us(p) * double(p.rounds(gpu_));
  double us = 0;
  for (size_t i = 0; i < p.nests.size(); ++i) {
    const NestCall& call = *nests_.nests[i];
    const NestProgram& program = nests_.program(i);
    us += gpu_.memory_latency_us + (p.barrier_after[i] ? barrier_us(p) : 0);
    const NestShare& share = p.nests[i];
    const double turns = double(p.turns_of_block(call));
    const double elements =
        turns * double(share.owner == Owner::row
                           ? p.whole_rows_of_block(call.rows) * call.unit
                           : p.rows_of_block(call.rows) * share.columns_of_block);
    us += elements * double(program.operands.size()) * 4 / gpu_.bytes_per_clock / gpu_.clock_per_us;
    if (program.kind != NestKind::tiles) continue;
    const ProductTile tile = product_tile(program, share.form);
    const double tiles =
        double(rounded_up(p.rows_of_block(call.rows), tile.block_rows()) / tile.block_rows()) *
        double(rounded_up(share.columns_of_block, tile.block_columns()) / tile.block_columns());
    for (size_t product = 0; product < call.products.size(); ++product)
      us += turns * tiles *
            product_us(program, product, call.products[product].panels.k, share.form,
                       share.form.resident[product], share.form.exchanged[product]);
  }
  return us * double(p.rounds(gpu_));
}

double Placer::barrier_us(const LoopPlacement& p) const {
  return p.placement == Placement::cluster ? gpu_.cluster_barrier_us : gpu_.barrier_us;
}

}  // namespace graphc::core::cuda
