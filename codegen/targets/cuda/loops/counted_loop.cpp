// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <utility>

#include "codegen/nest/levels.h"
#include "codegen/targets/cuda/loops/counted_layout.h"
#include "codegen/targets/cuda/loops/loop_exchange.h"
#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda {
namespace {

/// Registers of a lane for values that it keeps between nests and steps: what an LSTM's derivative
/// has. With 28 a load of each of its steps is hidden by nothing.
constexpr int kHeldRegisters = 32;
/// What an mbarrier counts in a phase (PTX ISA, "mbarrier").
constexpr int64_t kMostCountedBytes = (1 << 20) - 1;

bool is_access(const NestInstruction& in) {
  return in.kind == NestOp::load || in.kind == NestOp::store;
}

class CountedPlanning {
 public:
  CountedPlanning(const LoopNests& nests, const LoopPlacement& placement,
                  const std::vector<bool>& invariant, int64_t room)
      : nests_(nests), placement_(placement), invariant_(invariant), room_(room) {}

  CountedPlan plan() {
    CountedPlan plan;
    plan.reason = make();
    // Numbers of rows that no block sums up need no exchange.
    if (!plan.reason.empty() && !loop_.rows.numbers.empty() && loop_.rows.exchanges.empty()) {
      has_numbers_ = false;
      plan.reason = make_again();
    }
    // Fused multiply-adds have tiles of either size.
    if (!plan.reason.empty() && uses_fma()) {
      has_other_tiles_ = true;
      const std::string reason = make_again();
      if (reason.empty()) plan.reason = reason;
    }
    if (plan.reason.empty()) plan.loop = std::move(loop_);
    return plan;
  }

 private:
  std::string make_again() {
    loop_ = {};
    owners_.clear();
    return make();
  }

  const std::string& name_of(size_t nest) const { return nests_.nests[nest]->name; }

  /// Why not; empty if it is made.
  std::string make() {
    if (std::string reason = find_owners(); !reason.empty()) return reason;
    loop_.blocks = int(placement_.column_groups);
    loop_.through_memory = placement_.placement == Placement::grid;
    loop_.rows_of_lane = has_small_tiles() != has_other_tiles_ ? 1 : 2;
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      if (std::string reason = add_nest(i); !reason.empty()) return reason;
    }
    for (size_t i = 0; loop_.through_memory && i < nests_.nests.size(); ++i) {
      if (loop_.row_tiles > loop_.nests[i].splits())
        return fmt::format("a warp would compute more than one tile of rows of %{}", name_of(i));
    }
    const std::vector<Exchange> exchanges = find_exchanges(nests_, owners_);
    for (size_t i = 0, number = 0; i < nests_.nests.size(); ++i) {
      for (size_t p = 0; p < nests_.nests[i]->products.size(); ++p, ++number) {
        const auto found = std::ranges::find_if(
            exchanges, [&](const Exchange& each) { return each.nest == i && each.product == p; });
        if (found == exchanges.end())
          return fmt::format("the left operand of %{} is not what blocks hand on", name_of(i));
        if (!invariant_[number]) return fmt::format("a matrix of %{} changes", name_of(i));
        if (std::string reason = add_product(*found); !reason.empty()) return reason;
      }
    }
    if (loop_.products.empty()) return "it has no product";
    const std::vector<bool> barriers =
        barriers_of(nests_, owners_, placement_.column_groups, exchanges, Ordered::by_exchange,
                    loop_.rows.operands(nests_));
    for (size_t i = 0; i < barriers.size(); ++i) {
      if (barriers[i])
        return fmt::format("%{} is ordered by no exchange before what follows it", name_of(i));
    }
    if (!loop_.rows.exchanges.empty()) {
      count_columns(loop_.rows.exchanges[0].nest);
      merge_squares(nests_, loop_.rows);
    }
    find_lanes(exchanges);
    const bool has_more_tiles = loop_.row_tiles > 1 && !loop_.through_memory;
    if (!loop_.rows.numbers.empty() && (!loop_.same_lanes || has_more_tiles))
      return "a lane would have numbers of more rows than a tile's";
    for (RowExchange& exchange : loop_.rows.exchanges) {
      if (loop_.through_memory) exchange.words = 4;
    }
    for (CountedProduct& product : loop_.products) {
      if (!loop_.through_memory) product.copies = copies_of(product);
    }
    for (size_t i = 0; i < nests_.nests.size(); ++i)
      loop_.registers_of_rows = std::max(loop_.registers_of_rows, registers_of_rows(i));
    loop_.index_type = has_near_elements() ? "int" : "long long";
    return lay_out_counted(loop_, room_);
  }

  bool uses_fma() const {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (const NestProduct& product : nests_.program(i).products) {
        if (product.factors == Factors::as_stored) return true;
      }
    }
    return false;
  }

  /// Whether tiles have eight rows. Tensor cores multiply sixteen anyway, and blocks that exchange
  /// through memory have them.
  bool has_small_tiles() const {
    int64_t rows = 0;
    for (const NestCall* call : nests_.nests)
      rows = std::max(rows, placement_.rows_of_block(call->rows));
    if (!uses_fma()) return rows <= kTileRows / 2 && !loop_.through_memory;
    return rounded_quotient(rows, kTileRows / 2) < 2 * rounded_quotient(rows, kTileRows);
  }

  /// Divides nests that sum along rows by elements too, if blocks can exchange the sums.
  std::string find_owners() {
    for (const NestShare& share : placement_.nests) owners_.push_back(share.owner);
    std::string reason;
    if (has_numbers_) reason = find_row_numbers(nests_, loop_.rows);
    if (!reason.empty()) loop_.rows = {};
    loop_.rows.is_of_rows.resize(nests_.nests.size());
    loop_.rows.is_done.resize(nests_.nests.size());
    for (size_t i = 0; i < owners_.size(); ++i) {
      const bool reduces =
          std::ranges::any_of(nests_.program(i).body,
                              [](const NestInstruction& in) { return in.kind == NestOp::reduce; });
      if (owners_[i] == Owner::outer || (reduces && loop_.rows.exchange_of(i) == nullptr))
        return reason.empty() ? fmt::format("%{} sums along rows or columns", name_of(i)) : reason;
      owners_[i] = Owner::element;
    }
    return {};
  }

  void count_columns(size_t nest) {
    const CountedNest& lanes = loop_.nests[nest];
    loop_.rows.columns = nests_.nests[nest]->unit;
    loop_.rows.columns_of_block = placement_.nests[nest].columns_of_block;
    loop_.rows.are_even =
        loop_.rows.columns == loop_.blocks * loop_.rows.columns_of_block &&
        loop_.rows.columns_of_block == int64_t{lanes.warps} * lanes.tiles_of_warp * kUnits;
  }

  /// One, if an exchange of numbers of rows lies between each use of an operand and whatever is
  /// handed on for the next.
  int copies_of(const CountedProduct& product) const {
    const bool is_ordered = std::ranges::all_of(product.stores, [&](const CountedStore& store) {
      return loop_.rows.orders(product.nest, store.store.nest);
    });
    return is_ordered ? 1 : 2;
  }

  int registers_of_rows(size_t i) const {
    if (!nests_.program(i).products.empty() || !loop_.waits(i)) return 0;
    const NestProgram& program = nests_.program(i);
    const std::vector<Level> levels = levels_of(program);
    const int columns = 2 * loop_.nests[i].tiles_of_warp;
    int bytes = 0;
    for (size_t in = 0; in < program.body.size(); ++in) {
      const bool is_load = program.body[in].kind == NestOp::load && levels[in] == Level::element;
      if (!is_load || loop_.held.holds(i, in)) continue;
      const NestOperand& form = program.operands[size_t(program.body[in].operand)];
      const bool has_rows = std::ranges::count(loop_.loads_without_rows[i], in) == 0;
      bytes += int(size_of(form.dtype)) * columns * (has_rows ? loop_.rows_of_lane : 1);
    }
    const RowExchange* exchange = loop_.rows.exchange_of(i);
    return bytes / 4 + (exchange == nullptr ? 0 : exchange->width() * loop_.rows_of_lane);
  }

  /// Finds what lanes share with none, and where the warps of a block have to meet.
  void find_lanes(const std::vector<Exchange>& exchanges) {
    const size_t count = nests_.nests.size();
    loop_.same_lanes = nests_.has_private_rows();
    for (size_t i = 0; i < count; ++i) {
      const size_t other = loop_.rows.is_of_rows[i] ? i : first_of_elements();
      loop_.same_lanes &= nests_.nests[i]->rows == nests_.nests[0]->rows &&
                          nests_.nests[i]->unit == nests_.nests[other]->unit &&
                          loop_.nests[i] == loop_.nests[0];
    }
    for (size_t i = 0; i < count; ++i)
      loop_.meets.push_back(!loop_.same_lanes && !loop_.meets_before((i + 1) % count));
    loop_.postpones.assign(count, false);
    loop_.held = find_held_values(nests_, exchanges, loop_.rows.is_done, 0);
    if (!loop_.same_lanes) return;
    for (const CountedProduct& product : loop_.products) {
      size_t last = 0;
      for (const CountedStore& store : product.stores) last = std::max(last, store.store.nest);
      if (product.scatters) loop_.meets[last] = true;
    }
    if (loop_.row_tiles > 1 && !loop_.through_memory) return;
    const int words = 2 * loop_.rows_of_lane * loop_.nests[0].tiles_of_warp;
    loop_.held = find_held_values(nests_, exchanges, loop_.rows.is_done, kHeldRegisters / words);
    for (size_t i = 0; i + 1 < count; ++i) loop_.postpones[i] = is_ahead_of_memory(i + 1);
  }

  /// Whether a nest sends partial sums alone, and needs nothing of memory before that.
  bool is_ahead_of_memory(size_t i) const {
    const NestProgram& program = nests_.program(i);
    for (size_t in = 0; in < program.body.size(); ++in) {
      const NestInstruction& instruction = program.body[in];
      const bool loads = instruction.kind == NestOp::load &&
                         program.operands[size_t(instruction.operand)].kind == OperandKind::load;
      if (loads && !loop_.held.holds(i, in)) return false;
    }
    bool scatters = false;
    for (const CountedProduct& product : loop_.products) {
      if (product.nest == i && !product.scatters) return false;
      scatters |= product.nest == i;
    }
    return scatters;
  }

  /// The first nest that has elements.
  size_t first_of_elements() const {
    const std::vector<bool>& is_of_rows = loop_.rows.is_of_rows;
    return size_t(std::ranges::find(is_of_rows, false) - is_of_rows.begin());
  }

  std::string add_nest(size_t i) {
    const NestCall& call = *nests_.nests[i];
    const NestProgram& program = nests_.program(i);
    const NestShare& share = placement_.nests[loop_.rows.is_of_rows[i] ? first_of_elements() : i];
    if (program.kind == NestKind::column_wise)
      return fmt::format("%{} sums along rows or columns", name_of(i));
    const bool are_as_stored = std::ranges::all_of(
        program.products, [](const NestProduct& of) { return of.factors == Factors::as_stored; });
    if (!are_as_stored && !on_tensor_cores(program))
      return fmt::format("rounded factors of %{} use no tensor cores", name_of(i));
    CountedNest nest;
    nest.unit_tiles = rounded_quotient(share.columns_of_block, kUnits);
    nest.warps = std::min(int(std::bit_ceil(unsigned(nest.unit_tiles))), kCountedWarps);
    nest.tiles_of_warp = rounded_quotient(nest.unit_tiles, nest.warps);
    loop_.nests.push_back(nest);
    loop_.pairs.push_back(find_pairs(nests_, i, share.columns_of_block));
    loop_.loads_without_rows.push_back(find_loads_without_rows(nests_, i));
    loop_.row_tiles = std::max(
        loop_.row_tiles, rounded_quotient(placement_.rows_of_block(call.rows), loop_.tile_rows()));
    return {};
  }

  std::string add_product(const Exchange& exchange) {
    const NestProduct& form = nests_.program(exchange.nest).products[exchange.product];
    const CountedNest& nest = loop_.nests[exchange.nest];
    if (form.sum != DType::f32)
      return fmt::format("sums of %{} are not f32", name_of(exchange.nest));
    CountedProduct added;
    added.nest = exchange.nest;
    added.product = exchange.product;
    added.next_step = exchange.next_step;
    added.units_of_block = placement_.nests[exchange.nest].columns_of_block;
    added.through_memory = loop_.through_memory;
    added.parts = form.parts;
    added.factors = form.factors;
    added.rows_of_lane = loop_.rows_of_lane;
    added.terms_of_step = mma_form(form.factors).terms;
    for (const HandedStore& store : exchange.stores) {
      if (loop_.rows.is_of_rows[store.nest])
        return fmt::format("%{} hands on a number of each row", name_of(store.nest));
      // What is sent before it is read in the same step would need a third copy.
      if (exchange.next_step && store.nest < exchange.nest)
        return fmt::format("%{} hands on to the next step before %{} reads", name_of(store.nest),
                           name_of(exchange.nest));
      CountedStore counted{store, added.strips_of_block};
      counted.units = nests_.nests[store.nest]->unit;
      counted.units_of_block = placement_.nests[store.nest].columns_of_block;
      counted.parts = int(store.terms / counted.units);
      added.strips_of_block += loop_.nests[store.nest].unit_tiles * counted.parts;
      added.stores.push_back(counted);
    }
    loop_.through_memory ? share_terms(added, nest) : choose_lanes(added, nest);
    if (const std::string reason = added.too_many_sums(); !reason.empty())
      return fmt::format("{} of %{}", reason, name_of(exchange.nest));
    if (!loop_.through_memory && added.bytes_of_use > kMostCountedBytes)
      return fmt::format("a step would hand on {} bytes to a block", added.bytes_of_use);
    loop_.products.push_back(std::move(added));
    return {};
  }

  /// Sets who multiplies.
  void set_lanes(CountedProduct& added, const CountedNest& lanes) const {
    added.lanes = lanes;
    added.strips = added.strips_of_block * (added.scatters ? 1 : loop_.blocks);
    added.steps = rounded_quotient(added.strips, added.strips_of_step());
    added.steps_of_warp = rounded_quotient(added.steps, lanes.splits());
    added.words_of_step = added.parts * lanes.tiles_of_warp * 2;
  }

  /// Lets as few warps as have registers for their sums share columns, and so as many as possible
  /// share terms.
  void share_terms(CountedProduct& added, const CountedNest& nest) const {
    for (int warps = 1; warps <= kCountedWarps; warps *= 2) {
      set_lanes(added, {nest.unit_tiles, warps, rounded_quotient(nest.unit_tiles, warps)});
      const bool is_at_once = !added.uses_fma() || added.columns() == added.columns_at_a_time();
      if (added.too_many_sums().empty() && is_at_once) break;
    }
    added.bytes_of_use = int64_t{loop_.row_tiles} * added.steps * 32 * added.left_bytes();
  }

  /// Lets a product gather its left operand, or scatter its partial sums, if those are fewer bytes.
  void choose_lanes(CountedProduct& added, const CountedNest& nest) const {
    // Lanes hand on a left fragment for the strips of an instruction, and as many sums.
    const int64_t gathered = int64_t{loop_.row_tiles} * added.strips_of_block * loop_.blocks * 32 *
                             (added.left_bytes() / added.strips_of_step());
    const int64_t scattered = int64_t{loop_.row_tiles} * nest.unit_tiles * added.parts *
                              loop_.blocks * 32 * added.left_bytes();
    CountedNest all;
    all.unit_tiles = nest.unit_tiles * loop_.blocks;
    all.warps = kCountedWarps;
    all.tiles_of_warp = rounded_quotient(all.unit_tiles, kCountedWarps);
    CountedProduct scattering = added;
    scattering.scatters = true;
    set_lanes(scattering, all);
    if (!added.next_step && scattered < gathered && scattering.too_many_sums().empty())
      added = std::move(scattering);
    else
      set_lanes(added, nest);
    added.bytes_of_use = added.scatters ? scattered : gathered;
  }

  /// Whether 31 bits count the elements from an operand's first one in a step to its last.
  bool has_near_elements() const {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      const NestCall& call = *nests_.nests[i];
      for (size_t operand = 0; operand < call.operands.size(); ++operand) {
        const CallOperand& of = call.operands[operand];
        int64_t parts = 1;
        for (const NestInstruction& in : nests_.program(i).body) {
          if (in.operand == int(operand) && is_access(in))
            parts = std::max<int64_t>(parts, in.part + 1);
        }
        const int64_t bytes = std::abs(of.row) * call.rows + std::abs(of.part) * parts +
                              std::max<int64_t>(std::abs(of.column), 8) * call.unit;
        if (bytes > std::numeric_limits<int32_t>::max()) return false;
      }
    }
    return true;
  }

  const LoopNests& nests_;
  const LoopPlacement& placement_;
  const std::vector<bool>& invariant_;
  const int64_t room_;
  std::vector<Owner> owners_;
  bool has_other_tiles_ = false;
  bool has_numbers_ = true;  ///< whether numbers of rows are looked for
  CountedLoop loop_;
};

}  // namespace

CountedPlan plan_counted(const LoopNests& nests, const LoopPlacement& placement,
                         const std::vector<bool>& invariant, int64_t room) {
  return CountedPlanning(nests, placement, invariant, room).plan();
}

}  // namespace graphc::core::cuda
