// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace graphc::core::cuda {
namespace {

/// An access of a nest.
struct Use {
  size_t nest = 0, operand = 0;
  bool writes = false;
  RowPlace place;
};

/// Bytes that an access may touch over all steps and rows.
struct Span {
  int64_t begin = 0, end = 0;

  void stretch(int64_t stride, int64_t count) {
    (stride < 0 ? begin : end) += stride * std::max<int64_t>(count - 1, 0);
  }
  bool meets(const Span& other) const { return begin < other.end && other.begin < end; }
};

class RowFinding {
 public:
  RowFinding(const LoopNests& nests, std::pair<int, int> phases) : nests_(nests), phases_(phases) {}

  RowPlan find() {
    loop_.loop_rows = nests_.loop->rows_apart;
    std::string reason = find_extents();
    if (reason.empty()) reason = find_domains();
    if (reason.empty()) reason = find_values();
    if (!reason.empty()) return {{}, std::move(reason)};
    hand_on_loads();
    for (RowValue& value : loop_.values)
      value.is_stored = is_written(value) && is_read_after(value);
    return {std::move(loop_), {}};
  }

 private:
  const std::string& name_of(size_t nest) const { return nests_.nests[nest]->name; }

  // --- extents and domains ---

  static bool has_one_part(const NestProgram& program) {
    return std::ranges::all_of(program.body,
                               [](const NestInstruction& in) { return in.part == 0; });
  }
  static bool reduces(const NestProgram& program) {
    return std::ranges::any_of(program.body,
                               [](const NestInstruction& in) { return in.kind == NestOp::reduce; });
  }

  /// Why there are none; empty if there are. So are the others.
  std::string find_extents() {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      const NestCall& call = *nests_.nests[i];
      if (!call.products.empty()) return fmt::format("%{} has a product", name_of(i));
      if (!has_one_part(nests_.program(i))) return fmt::format("%{} has parts", name_of(i));
      if (call.outer.empty()) continue;
      if (call.outer.size() != 1)
        return fmt::format("%{} has {} axes around its matrices", name_of(i), call.outer.size());
      if (loop_.rows != 0 && (loop_.rows != call.rows || loop_.columns != call.unit))
        return fmt::format("it has matrices of {} x {} and of {} x {}", loop_.rows, loop_.columns,
                           call.rows, call.unit);
      loop_.rows = call.rows;
      loop_.columns = call.unit;
    }
    if (loop_.rows > 1 && loop_.columns > 1) return {};
    return fmt::format("its matrices are {} x {}", loop_.rows, loop_.columns);
  }

  std::string find_domains() {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      const NestCall& call = *nests_.nests[i];
      const NestProgram& program = nests_.program(i);
      RowNest nest{.call = &call, .domain = Spread::matrix};
      nest.operands.resize(program.operands.size());
      if (call.outer.empty()) {
        const std::optional<Spread> domain =
            program.kind == NestKind::column_wise ? std::nullopt : domain_of(i);
        if (!domain)
          return fmt::format("%{} has {} numbers a row, beside matrices of {} x {}", name_of(i),
                             call.unit, loop_.rows, loop_.columns);
        nest.domain = *domain;
      }
      if (reduces(program)) {
        const bool of_matrix = nest.domain == Spread::matrix;
        const bool over_rows = program.kind == NestKind::column_wise;
        nest.over_rows = of_matrix ? over_rows : nest.domain == Spread::by_row;
        nest.over_columns = of_matrix ? !over_rows : nest.domain == Spread::by_column;
      }
      loop_.nests.push_back(std::move(nest));
    }
    return {};
  }

  std::string find_values() {
    list_uses();
    for (const bool writes : {true, false}) {
      for (const Use& use : uses_) {
        if (use.writes != writes || (writes ? make(use) : load(use))) continue;
        return fmt::format("it is not certain which value %{} {}", name_of(use.nest),
                           writes ? "writes" : "reads");
      }
    }
    return {};
  }

  /// That of a nest of the loop's rows, by its number of columns.
  std::optional<Spread> domain_of(size_t i) const {
    const NestCall& call = *nests_.nests[i];
    if (call.unit == 1) return Spread::number;
    if (call.unit == loop_.rows && call.unit == loop_.columns) return domain_by_neighbours(i);
    if (call.unit == loop_.rows) return Spread::by_row;
    if (call.unit == loop_.columns) return Spread::by_column;
    if (call.unit != loop_.rows * loop_.columns || reduces(nests_.program(i))) return {};
    // A matrix as one row of numbers.
    return Spread::matrix;
  }

  /// Of a square matrix: what the vectors that it loads were made as, or the nests that load what
  /// it stores want.
  Spread domain_by_neighbours(size_t i) const {
    int by_row = 0, by_column = 0;
    const auto count = [&](Spread spread) {
      by_row += int(spread == Spread::by_row);
      by_column += int(spread == Spread::by_column);
    };
    const NestProgram& program = nests_.program(i);
    for (size_t operand = 0; operand < program.operands.size(); ++operand) {
      if (!has_address(program.operands[operand])) continue;
      const RowPlace own = place_of(i, operand, Spread::by_column);
      const bool writes = program.operands[operand].kind != OperandKind::load;
      for (size_t other = 0; other < nests_.nests.size(); ++other) {
        // Those after it have no domain yet, matrices apart.
        if (other == i || (other > i && nests_.nests[other]->outer.empty())) continue;
        const Spread domain = other < i ? loop_.nests[other].domain : Spread::matrix;
        const NestProgram& its = nests_.program(other);
        for (size_t j = 0; j < its.operands.size(); ++j) {
          if (!has_address(its.operands[j]) ||
              writes != (its.operands[j].kind == OperandKind::load))
            continue;
          const RowPlace place = place_of(other, j, domain);
          if (place == own) count(place.spread());
        }
      }
    }
    return by_row > by_column ? Spread::by_row : Spread::by_column;
  }

  // --- places ---

  static bool has_address(const NestOperand& operand) {
    return operand.kind != OperandKind::literal && operand.kind != OperandKind::iota;
  }

  RowPlace place_of(size_t i, size_t index, Spread domain) const {
    const NestCall& call = *nests_.nests[i];
    const NestProgram& program = nests_.program(i);
    const NestOperand& form = program.operands[index];
    const CallOperand& operand = call.operands[index];
    RowPlace place;
    place.place = moving_place(operand.address, nests_);
    place.dtype = form.dtype;
    int64_t row = form.by_row ? operand.row : 0;
    int64_t column = form.column == ColumnStep::contiguous ? size_of(form.dtype)
                     : form.column == ColumnStep::strided  ? operand.column
                                                           : 0;
    const bool is_sum =
        form.kind == OperandKind::reduce_sum || form.kind == OperandKind::reduce_max;
    if (is_sum) (program.kind == NestKind::column_wise ? row : column) = 0;
    if (!call.outer.empty()) {
      place.of_loop_row = operand.outer[0];
      place.of_row = row;
      place.of_column = column;
      return place;
    }
    place.of_loop_row = row;
    if (domain == Spread::by_row) place.of_row = column;
    if (domain == Spread::by_column) place.of_column = column;
    if (domain == Spread::matrix) {
      place.of_row = column * loop_.columns;
      place.of_column = column;
    }
    return place;
  }

  void list_uses() {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      const NestProgram& program = nests_.program(i);
      for (size_t operand = 0; operand < program.operands.size(); ++operand) {
        if (!has_address(program.operands[operand])) continue;
        uses_.push_back({i, operand, program.operands[operand].kind != OperandKind::load,
                         place_of(i, operand, loop_.nests[i].domain)});
      }
    }
  }

  // --- memory ---

  Span memory_of(const BufferPlace& place) const {
    const Buffer& buffer = nests_.plan->buffers[size_t(place.buffer)];
    const int64_t begin =
        place.offset + (buffer.place == Place::arena ? buffer.offset : int64_t{0});
    return {begin, begin};
  }
  Span span_of(const RowPlace& place) const {
    Span span = memory_of(place.place.base);
    span.end += size_of(place.dtype);
    span.stretch(place.place.step, nests_.loop->steps);
    span.stretch(place.place.slot, 2);
    span.stretch(place.of_loop_row, loop_.loop_rows);
    span.stretch(place.of_row, loop_.rows);
    span.stretch(place.of_column, loop_.columns);
    return span;
  }
  /// Bytes from the first to behind the last element that a row of the loop has there in a step.
  int64_t bytes_of_row(const RowPlace& place) const {
    return std::abs(place.of_row) * (loop_.rows - 1) +
           std::abs(place.of_column) * (loop_.columns - 1) + size_of(place.dtype);
  }
  bool is_same_memory(int x, int y) const {
    const Buffer &a = nests_.plan->buffers[size_t(x)], &b = nests_.plan->buffers[size_t(y)];
    return a.place == b.place && (a.place == Place::arena || a.index == b.index);
  }
  /// Whether a write may change what is read, in whatever steps.
  bool may_meet(const RowPlace& read, const RowPlace& written) const {
    return is_same_memory(read.place.base.buffer, written.place.base.buffer) &&
           span_of(read).meets(span_of(written));
  }

  /// Whether what is read in a step is what was written in the one before.
  bool is_from_before(const RowPlace& read, const RowPlace& written) const {
    RowPlace moved = written;
    // In an iteration of either parity the read place is the one written an iteration earlier.
    moved.place.base.offset += (nests_.loop->reverse ? 1 : -1) * written.place.step;
    if (written.place.slot != 0) {
      if (read.place.slot != -written.place.slot) return false;
      moved.place.base.offset += written.place.slot;
      moved.place.slot = -written.place.slot;
    }
    return moved == read;
  }

  // --- values ---

  int value_at(const RowPlace& place, Spread spread, Origin origin) {
    for (size_t i = 0; i < loop_.values.size(); ++i) {
      const RowValue& value = loop_.values[i];
      const bool starts_alike =
          origin == Origin::made || value.place.place.first == place.place.first;
      if (value.origin == origin && value.spread == spread && value.place == place && starts_alike)
        return int(i);
    }
    loop_.values.push_back({place.spread_as(spread), spread, origin, -1, false, false});
    return int(loop_.values.size()) - 1;
  }

  bool make(const Use& use) {
    // The rows of the loop would write to one place.
    if (use.place.of_loop_row == 0 || use.place.place.first) return false;
    const Spread spread = use.place.spread();
    for (const RowValue& value : loop_.values) {
      if (value.place == use.place ? value.spread != spread : may_meet(value.place, use.place))
        return false;
    }
    loop_.nests[use.nest].operands[use.operand] = {value_at(use.place, spread, Origin::made),
                                                   spread};
    return true;
  }

  bool load(const Use& use) {
    const Spread spread = use.place.spread();
    RowNest::Operand& operand = loop_.nests[use.nest].operands[use.operand];
    operand.spread = spread;
    bool is_met = false, is_made_later = false;
    for (const Use& write : uses_) {
      if (!write.writes || !may_meet(use.place, write.place)) continue;
      is_met = true;
      const int value = loop_.nests[write.nest].operands[write.operand].value;
      if (write.place == use.place) {
        if (write.nest < use.nest && use.place.place.first) return false;
        if (write.nest < use.nest) operand.value = value;
        if (write.nest >= use.nest && operand.value < 0) is_made_later = true;
      } else if (!is_from_before(use.place, write.place)) {
        return false;
      }
    }
    if (operand.value >= 0) return true;
    if (!is_met) {
      operand.value =
          value_at(use.place, spread, use.place.place.stays() ? Origin::invariant : Origin::memory);
      return true;
    }
    return is_made_later ? load_before_made(use, operand) : carry(use, operand);
  }

  /// A load from memory that the same step writes later.
  bool load_before_made(const Use& use, RowNest::Operand& operand) {
    const MovingPlace& place = use.place.place;
    if (place.slot != 0 || (place.first && place.step != 0)) return false;
    for (size_t i = 0; i < loop_.values.size(); ++i) {
      RowValue& value = loop_.values[i];
      if (!(value.place == use.place) || value.origin == Origin::memory) continue;
      if (place.step == 0) {
        // The step before wrote it. Two carries may start with different numbers.
        if (value.origin == Origin::carried && value.place.place.first != place.first) return false;
        value.origin = Origin::carried;
        value.place.place.first = place.first;
        operand.value = int(i);
        return true;
      }
    }
    if (std::abs(place.step) < bytes_of_row(use.place)) return false;
    operand.value = value_at(use.place, operand.spread, Origin::memory);
    loop_.values[size_t(operand.value)].is_overwritten = true;
    return true;
  }

  bool carry(const Use& use, RowNest::Operand& operand) {
    int left_by = -1;
    for (const Use& write : uses_) {
      if (!write.writes || !is_from_before(use.place, write.place)) continue;
      const int value = loop_.nests[write.nest].operands[write.operand].value;
      if (left_by >= 0 && left_by != value) return false;
      left_by = value;
    }
    if (left_by < 0) return false;
    operand.value = value_at(use.place, loop_.values[size_t(left_by)].spread, Origin::carried);
    loop_.values[size_t(operand.value)].left_by = left_by;
    return true;
  }

  /// A step backward loads the states before and after the one forward: what one step loads, and
  /// the next one at another place, is loaded once.
  void hand_on_loads() {
    std::vector<bool> is_handed_on(loop_.values.size());
    const auto is_loaded = [&](size_t v) {
      return loop_.values[v].origin == Origin::memory && !loop_.values[v].is_overwritten;
    };
    for (size_t later = 0; later < loop_.values.size(); ++later) {
      RowValue& value = loop_.values[later];
      for (size_t v = 0; v < loop_.values.size() && is_loaded(later) && !is_handed_on[later]; ++v) {
        const RowValue& from = loop_.values[v];
        if (v == later || !is_loaded(v) || from.place.place.first || from.spread != value.spread ||
            !is_from_before(value.place, from.place))
          continue;
        value.origin = Origin::carried;
        value.left_by = int(v);
        is_handed_on[v] = true;
      }
    }
  }

  bool is_written(const RowValue& value) const {
    return value.origin == Origin::made || (value.origin == Origin::carried && value.left_by < 0);
  }

  /// Whether anything but the loop reads a value that it writes.
  bool is_read_after(const RowValue& value) const {
    const Buffer& buffer = nests_.plan->buffers[size_t(value.place.place.base.buffer)];
    const bool is_own = nests_.depth == 0 || (buffer.scope >= 0 && buffer.scope == nests_.loop->id);
    return buffer.place != Place::arena || !is_own || buffer.last_phase > phases_.second;
  }

  const LoopNests& nests_;
  const std::pair<int, int> phases_;
  std::vector<Use> uses_;
  RowLoop loop_;
};

}  // namespace

RowPlan row_loop(const LoopNests& nests, std::pair<int, int> phases) {
  return RowFinding(nests, phases).find();
}

}  // namespace graphc::core::cuda
