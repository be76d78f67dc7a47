// SPDX-License-Identifier: Apache-2.0
// A plan as a person reads it.
#include "codegen/step/barriers.h"
#include "codegen/step/order.h"
#include "codegen/step/plan.h"
#include "codegen/step/visit.h"

namespace graphc::core {

namespace {

bool lives_in_arena(const Buffer& buffer) {
  return buffer.place == Place::arena && buffer.first_phase >= 0;
}

constexpr const char* place_names[] = {"arena", "input", "state", "output", "constant", "form"};
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

std::string_view family_text(const Record& record) {
  return record.family ? name_of(*record.family) : "loop";
}

/// "; waits for phases 0, 2; then a barrier", by record of the plan; empty inside of loops.
using Waits = std::vector<std::string>;

std::string order_text(const Record& record, const std::string& waits) {
  return waits + (record.barrier ? "; then a barrier" : "");
}

void print_record(const Plan& plan, const Record& record, const std::string& indent,
                  const std::string& waits, std::string& out);

/// The records of a step, each with the number of its phase.
void print_phases(const Plan& plan, const std::vector<Record>& records, const std::string& indent,
                  const Waits& waits, int& phase, std::string& out) {
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const std::string waits_for = i < waits.size() ? waits[i] : "";
    const LoopCall* loop = loop_of_phases(record);
    if (loop == nullptr) {
      print_record(plan, record, fmt::format("{}phase {}: ", indent, phase++), waits_for, out);
      continue;
    }
    std::string body;
    const int begin = phase;
    print_phases(plan, loop->body, indent + "  ", {}, phase, body);
    out +=
        fmt::format("{}phases {}..{}: {} %{}: {} steps{}{}\n", indent, begin, phase - 1,
                    family_text(record), loop->name, loop->steps, loop->reverse ? " backwards" : "",
                    (loop->rows_apart > 0 ? ", row by row" : "") + order_text(record, waits_for));
    out += body;
  }
}

int count_phases(const Record& record) {
  const LoopCall* loop = loop_of_phases(record);
  if (loop == nullptr) return 1;
  int count = 0;
  for (const Record& inner : loop->body) count += count_phases(inner);
  return count;
}

/// Which earlier records each record of the plan waits for, by their first phases.
Waits waits_of(const Plan& plan) {
  std::vector<std::vector<MemoryAccess>> accesses;
  std::vector<int> first_phase;
  int phase = 0;
  for (const Record& record : plan.records) {
    accesses.push_back(memory_accesses(plan, record, Position(size_t(plan.loop_depth)), 0));
    first_phase.push_back(phase);
    phase += count_phases(record);
  }
  std::vector<std::vector<int>> before = dependencies(accesses);
  transitive_reduction(before);
  Waits waits;
  for (const std::vector<int>& each : before) {
    std::vector<int> phases;
    for (const int record : each) phases.push_back(first_phase[size_t(record)]);
    waits.push_back(phases.empty() ? "" : fmt::format("; waits for {}", fmt::join(phases, ", ")));
  }
  return waits;
}

/// "rows 0..4 | 4..8": what each worker does.
std::string text_of(const Share& share, int workers) {
  static constexpr const char* names[] = {"",      "",       "rows",    "columns",
                                          "outer", "blocks", "indices", "table rows"};
  if (share.along == Along::inside || share.along == Along::around) return "";
  std::vector<std::string> ranges;
  for (int worker = 0; worker < workers; ++worker) {
    const Range own = share_of(share, worker, workers);
    ranges.push_back(own.empty() ? "none" : fmt::format("{}..{}", own.begin, own.end));
  }
  return fmt::format("; {} {}", names[size_t(share.along)], fmt::join(ranges, " | "));
}

/// "4 of " before the form of several matrices.
std::string matrices_text(const PanelCall& call) {
  return call.matrices == 1 ? "" : fmt::format("{} of ", call.matrices);
}

class RecordText {
 public:
  RecordText(const Plan& plan, const Record& record, std::string indent, std::string waits,
             std::string& out)
      : plan_(plan),
        record_(record),
        indent_(std::move(indent)),
        waits_(std::move(waits)),
        out_(out) {}

  void operator()(const NestCall& call) const {
    const NestProgram& program = plan_.programs[size_t(call.program)];
    out_ += fmt::format("{}{} %{}: nest {} over {} rows x {} columns", indent_,
                        family_text(record_), call.name, call.program, call.rows, call.unit);
    if (!call.outer.empty()) out_ += fmt::format(", {} times", fmt::join(call.outer, " x "));
    end_line();
    for (const CallProduct& product : call.products) {
      const PanelForm& form = product.panels;
      out_ += fmt::format("{}  product  {} x {}, k {}, {} part{}{}{}\n", indent_,
                          text_of(plan_, product.a), text_of(plan_, product.b), form.k, form.parts,
                          form.parts == 1 ? "" : "s", product.in_panels ? ", in panels" : "",
                          product.zeros_at_first ? ", zeros in the first step" : "");
    }
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (call.operands[i].address.buffer < 0) continue;
      out_ += fmt::format("{}  {} {}\n", indent_, verb(program.operands[i].kind),
                          text_of(plan_, call.operands[i].address));
    }
  }

  void operator()(const PanelCall& call) const {
    const PanelForm& form = call.panels;
    out_ +=
        fmt::format("{}panels {} -> {}: {}[{}, {} x {}]", indent_, text_of(plan_, call.from),
                    text_of(plan_, call.to), matrices_text(call), form.k, form.parts, form.unit);
    end_line();
  }

  void operator()(const TableCall& call) const {
    if (!call.has_table()) {
      out_ += fmt::format("{}table %{}: {}, {} classes, {} labels {}, to {}", indent_, call.name,
                          name_of(call.op), call.table_rows, call.count,
                          text_of(plan_, call.indices), text_of(plan_, call.rows));
      return end_line();
    }
    out_ += fmt::format("{}table %{}: {}, {} of {} rows, {} indices {}, rows {}", indent_,
                        call.name, name_of(call.op), text_of(plan_, call.table), call.table_rows,
                        call.count, text_of(plan_, call.indices), text_of(plan_, call.rows));
    end_line();
  }

  void operator()(const ExternCall& call) const {
    out_ += fmt::format("{}external %{}: {}", indent_, call.name, call.function);
    for (const auto& [name, value] : call.parameters) out_ += fmt::format(", {} {}", name, value);
    end_line();
    for (const ExternOperand& operand : call.operands)
      out_ += fmt::format("{}  {} {}: {}\n", indent_, operand.written ? "writes" : "reads",
                          operand.name, text_of(plan_, operand.address));
  }

  void operator()(const LoopCall& loop) const {
    out_ += fmt::format("{}{} %{}: {} steps{}, no barrier inside", indent_, family_text(record_),
                        loop.name, loop.steps, loop.reverse ? " backwards" : "");
    end_line();
    body(loop.body);
  }

  void operator()(const BlockCall& block) const {
    out_ += fmt::format("{}{} %{}: {} rows at a time", indent_, family_text(record_), block.name,
                        block.block_rows);
    end_line();
    body(block.body);
  }

 private:
  static const char* verb(OperandKind kind) {
    switch (kind) {
      case OperandKind::load:
        return "reads";
      case OperandKind::store:
        return "writes";
      case OperandKind::reduce_sum:
      case OperandKind::reduce_max:
        return "reduces into";
      case OperandKind::iota:
      case OperandKind::literal:
        return "counts";
    }
    return "";
  }

  void end_line() const {
    if (record_.idle_at_last) out_ += ", not in the last step";
    out_ += text_of(record_.share, plan_.workers) + order_text(record_, waits_) + "\n";
  }

  void body(const std::vector<Record>& records) const {
    for (const Record& inner : records) print_record(plan_, inner, indent_ + "  ", "", out_);
  }

  const Plan& plan_;
  const Record& record_;
  const std::string indent_, waits_;
  std::string& out_;
};

void print_record(const Plan& plan, const Record& record, const std::string& indent,
                  const std::string& waits, std::string& out) {
  std::visit(RecordText(plan, record, indent, waits, out), record.call);
}

}  // namespace

namespace {

void print_form(const Plan& plan, const PlanForm& form, std::string& out) {
  if (const PanelCall* call = form.panels()) {
    const PanelForm& panels = call->panels;
    out += fmt::format("when %{} has changed: panels -> {}: {}[{}, {} x {}]{}\n",
                       plan.buffers[size_t(call->from.buffer)].name, text_of(plan, call->to),
                       matrices_text(*call), panels.k, panels.parts, panels.unit,
                       text_of(form.make[0].share, plan.workers));
    return;
  }
  std::vector<std::string> states;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.place == Place::state && std::ranges::count(form.states, buffer.index) > 0)
      states.push_back("%" + buffer.name);
  }
  out += fmt::format("when {} {} changed:\n", fmt::join(states, ", "),
                     states.size() == 1 ? "has" : "have");
  for (const Record& record : form.make) print_record(plan, record, "  ", "", out);
}

}  // namespace

std::string print(const Plan& plan) {
  int64_t sum = 0;
  for (const Buffer& buffer : plan.buffers) sum += lives_in_arena(buffer) ? buffer.bytes : 0;
  std::string out =
      fmt::format("plan @{}: arena {} bytes (values {} bytes), {} phases, {} nests, {} worker{}",
                  plan.name, plan.arena_bytes, sum, plan.phases, plan.programs.size(), plan.workers,
                  plan.workers == 1 ? "" : "s");
  if (const int count = count_barriers(plan).barriers; plan.workers > 1)
    out += fmt::format(", {} barrier{}", count, count == 1 ? "" : "s");
  out += "\n";
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
  for (const PlanForm& form : plan.forms) print_form(plan, form, out);
  int phase = 0;
  print_phases(plan, plan.records, "", waits_of(plan), phase, out);
  return out;
}

}  // namespace graphc::core
