// SPDX-License-Identifier: Apache-2.0
// Lifetimes and offsets of a plan's buffers, their verification, and the plan as text.
#include "codegen/plan.h"

#include <algorithm>

#include "codegen/plan_visit.h"

namespace graphc {
namespace {

void set_lifetimes(Plan& plan) {
  for (size_t phase = 0; phase < plan.records.size(); ++phase) {
    visit_addresses(plan.records[phase], [&](const Address& address) {
      Buffer& buffer = plan.buffers[size_t(address.buffer)];
      if (buffer.first_phase < 0) buffer.first_phase = int(phase);
      buffer.last_phase = int(phase);
    });
  }
}

bool alive_together(const Buffer& a, const Buffer& b) {
  return a.first_phase <= b.last_phase && b.first_phase <= a.last_phase;
}

bool in_arena(const Buffer& buffer) {
  return buffer.place == Place::arena && buffer.first_phase >= 0;
}

constexpr int64_t kAlignment = 64;
/// Reads of whole vectors may pass the end of what they need.
constexpr int64_t kSlack = 64;

int64_t room(const Buffer& buffer) {
  return (buffer.bytes + kSlack + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void plan_memory(Plan& plan) {
  set_lifetimes(plan);
  overwrite(plan);
  std::vector<size_t> order;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (in_arena(plan.buffers[i])) order.push_back(i);
  }
  // The largest first, each in the lowest gap among those it lives with.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return plan.buffers[a].bytes > plan.buffers[b].bytes;
  });
  std::vector<size_t> placed;
  for (size_t index : order) {
    Buffer& buffer = plan.buffers[index];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t other : placed) {
      const Buffer& b = plan.buffers[other];
      if (alive_together(buffer, b)) taken.emplace_back(b.offset, b.offset + room(b));
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= room(buffer)) break;
      offset = std::max(offset, end);
    }
    buffer.offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + room(buffer));
    placed.push_back(index);
  }
}

void verify_plan(const Plan& plan) {
  for (size_t phase = 0; phase < plan.records.size(); ++phase) {
    visit_addresses(plan.records[phase], [&](const Address& address) {
      const Buffer& buffer = plan.buffers[size_t(address.buffer)];
      GRAPHC_CHECK(buffer.place != Place::arena ||
                       (buffer.first_phase <= int(phase) && int(phase) <= buffer.last_phase),
                   "phase {} uses %{} outside its lifetime {}..{}", phase, buffer.name,
                   buffer.first_phase, buffer.last_phase);
    });
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& a = plan.buffers[i];
    if (!in_arena(a)) continue;
    GRAPHC_CHECK(
        a.offset >= 0 && a.offset % kAlignment == 0 && a.offset + room(a) <= plan.arena_bytes,
        "%{} at {} lies outside the arena of {} bytes", a.name, a.offset, plan.arena_bytes);
    for (size_t j = i + 1; j < plan.buffers.size(); ++j) {
      const Buffer& b = plan.buffers[j];
      if (!in_arena(b) || !alive_together(a, b)) continue;
      GRAPHC_CHECK(a.offset + room(a) <= b.offset || b.offset + room(b) <= a.offset,
                   "%{} and %{} overlap while both live", a.name, b.name);
    }
  }
}

namespace {

constexpr const char* place_names[] = {"arena", "input", "state", "output", "constant"};
constexpr const char* split_names[] = {"rows", "columns", "rows or columns"};

std::string text_of(const Plan& plan, const Address& address) {
  std::string text = fmt::format("%{}", plan.buffers[size_t(address.buffer)].name);
  if (address.offset != 0) text += fmt::format("+{}", address.offset);
  for (const Address::Term& term : address.terms) {
    if (term.step != 0) text += fmt::format("+{}*t{}", term.step, term.loop);
    if (term.parity != 0) text += fmt::format("{:+}*(t{}%2)", term.parity, term.loop);
  }
  if (address.at_first) text += fmt::format(" (first: {})", text_of(plan, *address.at_first));
  return text;
}

void print_record(const Plan& plan, const Record& record, const std::string& indent,
                  std::string& out) {
  if (auto nest = std::get_if<NestCall>(&record.call)) {
    const NestProgram& program = plan.programs[size_t(nest->program)];
    out += fmt::format("{}{} %{}: nest {} over {} rows x {} columns", indent, record.family,
                       nest->name, nest->program, nest->rows, nest->unit);
    if (!nest->outer.empty()) out += fmt::format(", {} times", fmt::join(nest->outer, " x "));
    out += fmt::format(", shared out by {}\n", split_names[size_t(nest->split)]);
    for (const CallProduct& product : nest->products) {
      out +=
          fmt::format("{}  product  {} x {}, k {}, {} part{}{}\n", indent, text_of(plan, product.a),
                      text_of(plan, product.b), product.k, product.parts,
                      product.parts == 1 ? "" : "s", product.packed ? ", in panels" : "");
    }
    for (size_t i = 0; i < nest->operands.size(); ++i) {
      const OperandKind kind = program.operands[i].kind;
      if (nest->operands[i].address.buffer < 0) continue;
      const char* verb = kind == OperandKind::load    ? "reads"
                         : kind == OperandKind::store ? "writes"
                                                      : "reduces into";
      out += fmt::format("{}  {} {}\n", indent, verb, text_of(plan, nest->operands[i].address));
    }
  } else if (auto pack = std::get_if<PackCall>(&record.call)) {
    out += fmt::format("{}pack {} -> {}: [{}, {} x {}]\n", indent, text_of(plan, pack->from),
                       text_of(plan, pack->to), pack->k, pack->parts, pack->unit);
  } else if (auto rows = std::get_if<RowsCall>(&record.call)) {
    out += fmt::format("{}rows %{}: {} {} of {} rows, indices {}, rows {}\n", indent, rows->name,
                       rows->scatter ? "add into" : "gather from", text_of(plan, rows->table),
                       rows->table_rows, text_of(plan, rows->indices), text_of(plan, rows->rows));
  } else if (auto block = std::get_if<BlockCall>(&record.call)) {
    out += fmt::format("{}{} %{}: {} rows shared out, {} at a time\n", indent, record.family,
                       block->name, block->rows, block->block_rows);
    for (const Record& inner : block->body) print_record(plan, inner, indent + "  ", out);
  } else {
    const LoopCall& loop = std::get<LoopCall>(record.call);
    out += fmt::format(
        "{}{} %{}: {} steps{}{}\n", indent, record.family, loop.name, loop.steps,
        loop.reverse ? " backwards" : "",
        loop.private_rows ? fmt::format(", {} rows shared out, no meeting inside", loop.rows) : "");
    for (const Record& inner : loop.body) print_record(plan, inner, indent + "  ", out);
  }
}

}  // namespace

std::string print(const Plan& plan) {
  int64_t sum = 0;
  for (const Buffer& buffer : plan.buffers) sum += in_arena(buffer) ? buffer.bytes : 0;
  std::string out =
      fmt::format("plan @{}: arena {} bytes (values {} bytes), {} phases, {} nests\n", plan.name,
                  plan.arena_bytes, sum, plan.records.size(), plan.programs.size());
  for (const Buffer& buffer : plan.buffers) {
    out += fmt::format("  %{}: {} bytes, {}", buffer.name, buffer.bytes,
                       place_names[size_t(buffer.place)]);
    if (in_arena(buffer))
      out += fmt::format(" at {}, phases {}..{}", buffer.offset, buffer.first_phase,
                         buffer.last_phase);
    out += "\n";
  }
  for (size_t phase = 0; phase < plan.records.size(); ++phase)
    print_record(plan, plan.records[phase], fmt::format("phase {}: ", phase), out);
  return out;
}

}  // namespace graphc
