// SPDX-License-Identifier: Apache-2.0
// Sums of squares that need no exchange of their own (counted_rows.h).
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "codegen/nest/levels.h"
#include "codegen/targets/cuda/loops/counted_rows.h"
#include "codegen/targets/cuda/loops/loop_accesses.h"

namespace graphc::core::cuda {
namespace {

class SquareMerging : LoopAccesses {
 public:
  SquareMerging(const LoopNests& nests, RowNumbers& rows)
      : LoopAccesses(nests), nests_(nests), rows_(rows) {}

  void merge() {
    for (size_t i = 0; i < rows_.exchanges.size();) {
      if (merge(rows_.exchanges[i]))
        rows_.exchanges.erase(rows_.exchanges.begin() + ptrdiff_t(i));
      else
        ++i;
    }
  }

 private:
  /// A sum of squares of distances from the mean of what another nest sums.
  struct Found {
    size_t sum = 0;  ///< among the numbers
    RowSquares squares;
  };

  /// Merges all reductions of a nest into one exchange before it, if each is of that form.
  bool merge(const RowExchange& of_squares) {
    const size_t nest = of_squares.nest;
    if (!of_squares.maxima.empty() || !of_squares.squares.empty()) return false;
    const bool reduces_alone = std::ranges::none_of(
        body(nest), [](const NestInstruction& in) { return in.kind == NestOp::store; });
    if (!reduces_alone) return false;
    std::vector<Found> all;
    for (const size_t number : of_squares.sums) {
      const std::optional<Found> found = squares_of(number);
      if (!found) return false;
      all.push_back(*found);
    }
    const size_t from = rows_.numbers[all[0].sum].nest;
    const auto into = std::ranges::find(rows_.exchanges, from, &RowExchange::nest);
    if (into == rows_.exchanges.end() || !into->squares.empty()) return false;
    if (!std::ranges::all_of(all, [&](const Found& each) {
          return std::ranges::count(all, each.sum, &Found::sum) == 1 &&
                 std::ranges::count(into->sums, each.sum) == 1;
        }))
      return false;
    for (const Found& each : all) std::erase(into->sums, each.sum);
    for (size_t i = 0; i < all.size(); ++i) {
      into->sums.insert(into->sums.begin() + ptrdiff_t(i), all[i].sum);
      into->squares.push_back(all[i].squares);
    }
    rows_.is_done[nest] = true;
    return true;
  }

  /// The sum whose mean a number's squares are of the distances from: sum((x - sum(x) / n)^2).
  std::optional<Found> squares_of(size_t number) const {
    const RowNumber& of = rows_.numbers[number];
    const std::vector<NestInstruction>& in = body(of.nest);
    if (of.in_memory || is_sum_of_parts(of)) return std::nullopt;
    const NestInstruction& square = in[size_t(in[of.made].a)];
    if (square.kind != NestOp::scalar || square.op != ScalarOp::mul || square.a != square.b)
      return std::nullopt;
    const NestInstruction& distance = in[size_t(square.a)];
    if (distance.kind != NestOp::scalar || distance.op != ScalarOp::sub) return std::nullopt;
    const std::optional<size_t> sum = sum_of_mean(of.nest, size_t(distance.b));
    if (!sum || is_sum_of_parts(rows_.numbers[*sum])) return std::nullopt;
    const RowNumber& mean_of = rows_.numbers[*sum];
    const auto summed = size_t(body(mean_of.nest)[mean_of.made].a);
    // Lanes keep what is summed of each element.
    if (levels_of(nests_.program(mean_of.nest))[summed] != Level::element) return std::nullopt;
    if (!is_equal(mean_of.nest, summed, of.nest, size_t(distance.a))) return std::nullopt;
    return Found{*sum, {number, summed}};
  }

  /// Whether several instructions add to it.
  bool is_sum_of_parts(const RowNumber& number) const {
    return std::ranges::count_if(body(number.nest), [&](const NestInstruction& in) {
             return in.kind == NestOp::reduce && in.operand == number.operand;
           }) > 1;
  }

  /// The sum that an instruction divides by the count of columns, or multiplies by one over it.
  std::optional<size_t> sum_of_mean(size_t nest, size_t mean) const {
    const NestInstruction& in = body(nest)[mean];
    const auto count = float(nests_.nests[nest]->unit);
    if (in.kind != NestOp::scalar) return std::nullopt;
    if (in.op == ScalarOp::div && is_literal(nest, size_t(in.b), count))
      return number_of(nest, size_t(in.a));
    if (in.op != ScalarOp::mul) return std::nullopt;
    for (const auto& [sum, factor] : {std::pair(in.a, in.b), std::pair(in.b, in.a)}) {
      if (is_literal(nest, size_t(factor), 1 / count)) return number_of(nest, size_t(sum));
    }
    return std::nullopt;
  }

  bool is_literal(size_t nest, size_t load, float wanted) const {
    const NestInstruction& in = body(nest)[load];
    if (in.kind != NestOp::load || in.dtype != DType::f32) return false;
    const NestOperand& form = form_of(nest, load);
    if (form.kind != OperandKind::literal || form.dtype != DType::f32) return false;
    float value = 0;
    std::memcpy(&value, call_of(nest, load).literal.data(), sizeof value);
    return value == wanted;
  }

  std::optional<size_t> number_of(size_t nest, size_t load) const {
    for (const RowLoad& each : rows_.loads) {
      if (each.nest == nest && each.load == load) return each.from;
    }
    return std::nullopt;
  }

  /// Whether instructions of two nests have the same value of each element. The first nest is
  /// before the second.
  bool is_equal(size_t i, size_t a, size_t j, size_t b) const {
    const NestInstruction &x = body(i)[a], &y = body(j)[b];
    if (x.dtype != y.dtype) return false;
    if (y.kind == NestOp::load && (is_stored_for(i, a, j, b) || is_equal_load(i, a, j, b)))
      return true;
    if (x.kind != NestOp::scalar || y.kind != NestOp::scalar || x.op != y.op) return false;
    const auto are_equal = [&](int of_x, int of_y) {
      return of_x < 0 || of_y < 0 ? of_x == of_y : is_equal(i, size_t(of_x), j, size_t(of_y));
    };
    return are_equal(x.a, y.a) && are_equal(x.b, y.b) && are_equal(x.c, y.c);
  }

  /// Whether the first nest stores its value where the second one loads it.
  bool is_stored_for(size_t i, size_t a, size_t j, size_t load) const {
    if (!is_element(j, load, NestOp::load) || !type_of(j, load)) return false;
    for (size_t store = 0; store < body(i).size(); ++store) {
      if (is_element(i, store, NestOp::store) && body(i)[store].a == int(a) && type_of(i, store) &&
          is_same_element(j, load, i, store, false) && !place_of(j, load).first)
        return is_written_by_none_between(j, load, i, j, size_t(body(i)[store].operand));
    }
    return false;
  }

  /// Whether both load the same number, which no nest from the first to before the second changes.
  bool is_equal_load(size_t i, size_t a, size_t j, size_t b) const {
    const NestInstruction &x = body(i)[a], &y = body(j)[b];
    if (x.kind != NestOp::load) return false;
    const NestOperand &from = form_of(i, a), &to = form_of(j, b);
    if (from.kind != to.kind || from.dtype != to.dtype) return false;
    if (from.kind == OperandKind::literal) return call_of(i, a).literal == call_of(j, b).literal;
    if (const std::optional<size_t> number = number_of(j, b)) return number_of(i, a) == number;
    if (from.kind != OperandKind::load || from.column != to.column || from.by_row != to.by_row ||
        number_of(i, a))
      return false;
    const MovingPlace p = place_of(i, a), q = place_of(j, b);
    const auto are_equal = [](const BufferPlace& one, const BufferPlace& other) {
      return one.buffer == other.buffer && one.offset == other.offset;
    };
    const bool is_same_place =
        are_equal(p.base, q.base) && p.step == q.step && p.slot == q.slot &&
        p.first.has_value() == q.first.has_value() && (!p.first || are_equal(*p.first, *q.first)) &&
        call_of(i, a).row == call_of(j, b).row && call_of(i, a).column == call_of(j, b).column &&
        group_stride_of(i, a) == group_stride_of(j, b);
    return is_same_place && x.part == y.part &&
           is_written_by_none_between(j, b, i, j, std::nullopt);
  }

  /// Whether no nest from `first` to before `end` writes what a load reads, but for an operand of
  /// the first.
  bool is_written_by_none_between(size_t nest, size_t load, size_t first, size_t end,
                                  std::optional<size_t> but) const {
    bool is_written = false;
    visit_writers(nest, load, [&](size_t i, size_t operand) {
      is_written |= i >= first && i < end && !(i == first && operand == but);
    });
    return !is_written;
  }

  const LoopNests& nests_;
  RowNumbers& rows_;
};

}  // namespace

void merge_squares(const LoopNests& nests, RowNumbers& rows) { SquareMerging(nests, rows).merge(); }

}  // namespace graphc::core::cuda
