// SPDX-License-Identifier: Apache-2.0
// A plan as a person reads it.
#include "codegen/plan/plan.h"
#include "codegen/plan/visit.h"

namespace graphc {

std::string_view name_of(TableOp op) {
  constexpr std::string_view names[] = {"gather", "scatter", "scatter_add", "merge_rows"};
  return names[size_t(op)];
}

namespace {

bool lives_in_arena(const Buffer& buffer) {
  return buffer.place == Place::arena && buffer.first_phase >= 0;
}

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
                  std::string& out);

/// The records of a step, each with the number of its phase.
void print_phases(const Plan& plan, const std::vector<Record>& records, const std::string& indent,
                  int& phase, std::string& out) {
  for (const Record& record : records) {
    const LoopCall* loop = loop_of_phases(record);
    if (loop == nullptr) {
      print_record(plan, record, fmt::format("{}phase {}: ", indent, phase++), out);
      continue;
    }
    std::string body;
    const int begin = phase;
    print_phases(plan, loop->body, indent + "  ", phase, body);
    out += fmt::format("{}phases {}..{}: {} %{}: {} steps{}\n", indent, begin, phase - 1,
                       record.family, loop->name, loop->steps, loop->reverse ? " backwards" : "");
    out += body;
  }
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
                      product.parts == 1 ? "" : "s", product.in_panels ? ", in panels" : "");
    }
    for (size_t i = 0; i < nest->operands.size(); ++i) {
      const OperandKind kind = program.operands[i].kind;
      if (nest->operands[i].address.buffer < 0) continue;
      const char* verb = kind == OperandKind::load    ? "reads"
                         : kind == OperandKind::store ? "writes"
                                                      : "reduces into";
      out += fmt::format("{}  {} {}\n", indent, verb, text_of(plan, nest->operands[i].address));
    }
  } else if (auto pack = std::get_if<PanelCall>(&record.call)) {
    out += fmt::format("{}pack {} -> {}: [{}, {} x {}]\n", indent, text_of(plan, pack->from),
                       text_of(plan, pack->to), pack->k, pack->parts, pack->unit);
  } else if (auto rows = std::get_if<TableCall>(&record.call)) {
    out += fmt::format("{}rows %{}: {}, table {} of {} rows, {} indices {}, rows {}\n", indent,
                       rows->name, name_of(rows->op), text_of(plan, rows->table), rows->table_rows,
                       rows->count, text_of(plan, rows->indices), text_of(plan, rows->rows));
  } else if (auto block = std::get_if<BlockCall>(&record.call)) {
    out += fmt::format("{}{} %{}: {} rows shared out, {} at a time\n", indent, record.family,
                       block->name, block->rows, block->block_rows);
    for (const Record& inner : block->body) print_record(plan, inner, indent + "  ", out);
  } else {
    const LoopCall& loop = std::get<LoopCall>(record.call);
    out += fmt::format("{}{} %{}: {} steps{}, {} rows shared out, no meeting inside\n", indent,
                       record.family, loop.name, loop.steps, loop.reverse ? " backwards" : "",
                       loop.rows);
    for (const Record& inner : loop.body) print_record(plan, inner, indent + "  ", out);
  }
}

}  // namespace

std::string print(const Plan& plan) {
  int64_t sum = 0;
  for (const Buffer& buffer : plan.buffers) sum += lives_in_arena(buffer) ? buffer.bytes : 0;
  std::string out =
      fmt::format("plan @{}: arena {} bytes (values {} bytes), {} phases, {} nests\n", plan.name,
                  plan.arena_bytes, sum, plan.phases, plan.programs.size());
  for (const Buffer& buffer : plan.buffers) {
    // What has another's place has none of its own.
    if (buffer.place == Place::arena && buffer.first_phase < 0) continue;
    out += fmt::format("  %{}: {} bytes, {}", buffer.name, buffer.bytes,
                       place_names[size_t(buffer.place)]);
    if (lives_in_arena(buffer))
      out += fmt::format(" at {}, phases {}..{}", buffer.offset, buffer.first_phase,
                         buffer.last_phase);
    out += "\n";
  }
  int phase = 0;
  print_phases(plan, plan.records, "", phase, out);
  return out;
}

}  // namespace graphc
