// SPDX-License-Identifier: Apache-2.0
// Every operand is a set of ranges, one for each place that its address is at in the steps of the
// loops inside the phase; their union is exact, so that slices of one buffer, and a history that is
// read one step behind where it is written, count once.
#include "codegen/plan/traffic.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/plan/position.h"
#include "codegen/plan/visit.h"
#include "ir/cases.h"

namespace graphc::core {
namespace {

constexpr size_t kMostRanges = size_t{1} << 22;

/// So many places, each `stride` bytes behind the one before.
struct Axis {
  int64_t stride = 0, count = 1;
};

/// Bytes of buffers.
class Ranges {
 public:
  /// Adds `size` bytes at every place that the axes lead to.
  void add(BufferPlace place, int64_t size, std::vector<Axis> axes) {
    for (Axis& axis : axes) {
      if (axis.count <= 0) return;
      if (axis.stride >= 0) continue;
      place.offset += axis.stride * (axis.count - 1);
      axis.stride = -axis.stride;
    }
    std::erase_if(axes, [](const Axis& axis) { return axis.count == 1 || axis.stride == 0; });
    std::ranges::sort(axes, {}, &Axis::stride);
    // Places without gaps between them are one range.
    size_t joined = 0;
    for (; joined < axes.size() && axes[joined].stride <= size; ++joined)
      size += axes[joined].stride * (axes[joined].count - 1);
    each(place.buffer, place.offset, size, axes, joined);
  }

  /// How many there are in the union of all that was added.
  double bytes() {
    double sum = 0;
    for (auto& [buffer, ranges] : ranges_) {
      std::ranges::sort(ranges);
      int64_t end = ranges[0].first;
      for (const auto& [from, to] : ranges) {
        if (to > end) sum += double(to - std::max(from, end));
        end = std::max(end, to);
      }
    }
    return sum;
  }

 private:
  void each(int buffer, int64_t offset, int64_t size, const std::vector<Axis>& axes, size_t at) {
    if (at == axes.size()) {
      if (count_++ < kMostRanges) ranges_[buffer].emplace_back(offset, offset + size);
      return;
    }
    for (int64_t i = 0; i < axes[at].count && count_ < kMostRanges; ++i)
      each(buffer, offset + i * axes[at].stride, size, axes, at + 1);
  }

  std::map<int, std::vector<std::pair<int64_t, int64_t>>> ranges_;  ///< begin and end, by buffer
  size_t count_ = 0;
};

/// Whether the address, or one of first iterations behind it, depends on the loop at this depth.
bool depends_on(const Address& address, int depth) {
  const auto moves = [&](const Address::Term& term) { return term.loop == depth; };
  return std::ranges::any_of(address.terms, moves) ||
         (address.at_first &&
          (address.first_loop == depth || depends_on(*address.at_first, depth)));
}

/// What one call of a phase touches.
class CallTraffic {
 public:
  /// The phase is called at this position of the loops around it.
  CallTraffic(const Plan& plan, Position around)
      : plan_(plan), around_(int(around.size())), position_(std::move(around)) {
    position_.resize(size_t(plan.loop_depth));
  }

  double bytes_of(const Record& phase) {
    add(phase);
    return ranges_.bytes();
  }

 private:
  /// The iterations of a loop inside the phase in which something happens.
  struct Inside {
    const LoopCall* loop = nullptr;
    int64_t end = 0;
  };
  enum class Steps : uint8_t { all, not_the_first };

  void add(const Record& record) {
    std::visit(Cases{[&](const NestCall& call) { nest(call); },
                     [&](const PanelCall& call) { panels(call); },
                     [&](const TableCall& call) { table(call); },
                     [&](const LayerCall& call) { layer(call); },
                     [&](const LoopCall& loop) { steps(loop); },
                     [&](const BlockCall& block) {
                       for (const Record& inner : block.body) add(inner);
                     }},
               record.call);
  }

  void steps(const LoopCall& loop) {
    for (const Record& inner : loop.body) {
      inside_.push_back({&loop, loop.steps - (inner.idle_at_last ? 1 : 0)});
      add(inner);
      inside_.pop_back();
    }
  }

  void nest(const NestCall& call) {
    const NestProgram& program = plan_.programs[size_t(call.program)];
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const OperandKind kind = program.operands[i].kind;
      if (kind == OperandKind::iota || kind == OperandKind::literal) continue;
      operand(program, call, int(i));
    }
    for (size_t i = 0; i < call.products.size(); ++i)
      product(program.products[i], call, call.products[i]);
  }

  void operand(const NestProgram& program, const NestCall& call, int index) {
    const NestOperand& form = program.operands[size_t(index)];
    const CallOperand& operand = call.operands[size_t(index)];
    const bool reduces =
        form.kind == OperandKind::reduce_sum || form.kind == OperandKind::reduce_max;
    const bool along_row = reduces && program.kind == NestKind::row_wise;
    const int64_t size = size_of(form.dtype);
    std::vector<Axis> axes;
    if (form.by_row && (along_row || !reduces)) axes.push_back({operand.row, call.rows});
    around(axes, operand.outer, call);
    if (along_row) return touch(operand.address, size, axes);
    if (form.column == ColumnStep::contiguous) axes.push_back({size, call.unit});
    if (form.column == ColumnStep::strided) axes.push_back({operand.column, call.unit});
    for (const int part : parts_of(program, index)) {
      Address address = operand.address;
      shift(address, part * operand.part);
      touch(address, size, axes);
    }
  }

  /// The parts that a nest touches of an operand: a kernel may read one gate of four.
  static std::set<int> parts_of(const NestProgram& program, int operand) {
    std::set<int> parts;
    for (const NestInstruction& in : program.body) {
      const bool touches =
          in.kind == NestOp::load || in.kind == NestOp::store || in.kind == NestOp::reduce;
      if (touches && in.operand == operand) parts.insert(in.part);
    }
    return parts;
  }

  static void shift(Address& address, int64_t bytes) {
    if (bytes == 0) return;
    change_address(address, [&](Address& each) { each.offset += bytes; });
  }

  void product(const NestProduct& form, const NestCall& call, const CallProduct& product) {
    const bool first =
        inside_.empty() && around_ > 0 && position_[size_t(around_ - 1)].iteration == 0;
    if (product.zeros_at_first && first) return;
    const Steps steps = product.zeros_at_first ? Steps::not_the_first : Steps::all;
    std::vector<Axis> left{{product.a_row, call.rows}, {product.a_k, product.panels.k}};
    around(left, product.outer, call);
    touch(product.a, size_of(form.left), left, steps);
    if (product.in_panels) return touch(product.b, product.panels.bytes(), {}, steps);
    touch(product.b, size_of(form.right),
          {{product.b_strides.k, product.panels.k},
           {product.b_strides.part, form.parts},
           {product.b_strides.column, call.unit}},
          steps);
  }

  static void around(std::vector<Axis>& axes, const std::vector<int64_t>& strides,
                     const NestCall& call) {
    for (size_t axis = 0; axis < strides.size(); ++axis)
      axes.push_back({strides[axis], call.outer[axis]});
  }

  void panels(const PanelCall& call) {
    const PanelForm& form = call.panels;
    touch(call.from, size_of(form.from),
          {{call.from_strides.k, form.k},
           {call.from_strides.part, form.parts},
           {call.from_strides.column, form.unit}});
    touch(call.to, form.bytes(), {});
  }

  void table(const TableCall& call) {
    touch(call.indices, call.count * size_of(call.index_dtype), {});
    if (!call.has_table()) return touch(call.rows, call.count * size_of(call.index_dtype), {});
    touch(call.table, std::min(call.count, call.table_rows) * call.row_bytes, {});
    touch(call.rows, call.count * call.row_bytes, {});
    if (call.op == TableOp::merge_rows)
      touch(call.distinct, call.count * size_of(call.distinct_dtype), {});
  }

  void layer(const LayerCall& call) {
    const int64_t size = size_of(DType::f32), rows = call.batch * size;
    const LayerWeights weights{call.kind, call.inputs, call.units};
    const auto each = [&](std::initializer_list<const Address*> addresses, int64_t bytes) {
      for (const Address* address : addresses) {
        if (address->buffer >= 0) touch(*address, bytes, {});
      }
    };
    each({&call.x, &call.dx}, call.steps * rows * call.inputs);
    each({&call.y, &call.dy}, call.steps * rows * call.units);
    each({&call.h, &call.c, &call.last_h, &call.last_c, &call.last_dh, &call.last_dc, &call.dh,
          &call.dc},
         rows * call.units);
    each({&call.weights, &call.dweights}, weights.elements() * size);
  }

  /// Adds `size` bytes at every place of the axes from where the address is, in all steps of the
  /// loops inside the phase.
  void touch(const Address& address, int64_t size, const std::vector<Axis>& axes,
             Steps steps = Steps::all) {
    if (size == 0) return;
    std::set<std::pair<int, int64_t>> places;
    visit_places(address, 0, steps, places);
    for (const auto& [buffer, offset] : places) ranges_.add({buffer, offset}, size, axes);
  }

  /// Goes through the steps of the loops from inside_[at], where the address depends on them.
  void visit_places(const Address& address, size_t at, Steps steps,
                    std::set<std::pair<int, int64_t>>& places) {
    if (at == inside_.size()) {
      const BufferPlace place = resolve(address, position_);
      places.emplace(place.buffer, place.offset);
      return;
    }
    const Inside& inside = inside_[at];
    const int depth = around_ + int(at);
    const bool innermost = at + 1 == inside_.size();
    const int64_t begin = innermost && steps == Steps::not_the_first ? 1 : 0;
    const int64_t end = depends_on(address, depth) ? inside.end : std::min(inside.end, begin + 1);
    for (int64_t i = begin; i < end; ++i) {
      position_[size_t(depth)] = position_in(*inside.loop, i);
      visit_places(address, at + 1, steps, places);
    }
  }

  const Plan& plan_;
  const int around_;  ///< how many loops are around the phase
  Position position_;
  std::vector<Inside> inside_;  ///< loops inside the phase, outermost first
  Ranges ranges_;
};

/// Of a phase in loops: its first call in the innermost one, where products may have no terms and
/// carries lie elsewhere, and as often as it is called again, another.
double bytes_of(const Plan& plan, const Record& phase, const std::vector<const LoopCall*>& around) {
  Position position;
  double others = 1;
  for (const LoopCall* loop : around) {
    position.push_back(position_in(*loop, std::min<int64_t>(loop->steps - 1, 1)));
    others *= double(loop->steps);
  }
  if (around.empty()) return CallTraffic(plan, position).bytes_of(phase);
  const LoopCall& innermost = *around.back();
  if (others == 0) return 0;
  others /= double(innermost.steps);
  const int64_t calls = innermost.steps - (phase.idle_at_last ? 1 : 0);
  double bytes = 0;
  for (int64_t i = 0; i < std::min<int64_t>(calls, 2); ++i) {
    position.back() = position_in(innermost, i);
    bytes += CallTraffic(plan, position).bytes_of(phase) * double(i == 0 ? 1 : calls - 1);
  }
  return others * bytes;
}

void add_phases(const Plan& plan, const std::vector<Record>& records,
                std::vector<const LoopCall*>& around, std::map<const Record*, double>& bytes) {
  for (const Record& record : records) {
    if (const LoopCall* loop = loop_of_phases(record)) {
      around.push_back(loop);
      add_phases(plan, loop->body, around, bytes);
      around.pop_back();
    } else {
      bytes[&record] = bytes_of(plan, record, around);
    }
  }
}

}  // namespace

std::map<const Record*, double> bytes_of_phases(const Plan& plan) {
  std::map<const Record*, double> bytes;
  std::vector<const LoopCall*> around;
  add_phases(plan, plan.records, around, bytes);
  return bytes;
}

}  // namespace graphc::core
