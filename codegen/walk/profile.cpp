// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/profile.h"

#include "codegen/step/flop.h"
#include "codegen/step/traffic.h"
#include "codegen/step/visit.h"
#include "ir/cases.h"
#include "runtime/clock.h"

namespace graphc::core::cpu {
namespace {

/// Limit of the log of one worker: 5 MB.
constexpr size_t kMostEntries = 100'000;

std::string name_of(const Record& record) {
  return std::visit([](const auto& call) { return call.name; }, record.call);
}

std::string kind_of(const Record& record) {
  if (std::holds_alternative<PanelCall>(record.call)) return "panels";
  if (const auto* table = std::get_if<TableCall>(&record.call))
    return std::string(graphc::core::name_of(table->op));
  if (const auto* call = std::get_if<ExternCall>(&record.call)) return call->function;
  return record.family ? std::string(graphc::core::name_of(*record.family)) : "loop";
}

void find_callers(const Record& record, const std::string& kernel, std::vector<std::string>& all) {
  const auto body = [&](const std::vector<Record>& records) {
    for (const Record& inner : records) find_callers(inner, kernel, all);
  };
  std::visit(Cases{[&](const NestCall& call) {
                     std::string& caller = all[size_t(call.program)];
                     if (caller.empty()) caller = kernel;
                   },
                   [&](const LoopCall& loop) { body(loop.body); },
                   [&](const BlockCall& block) { body(block.body); }, [](const auto&) {}},
             record.call);
}

}  // namespace

std::vector<std::string> callers_of(const Plan& plan) {
  std::vector<std::string> all(plan.programs.size());
  visit_phases(plan.records, [&](const PhaseRecord& at) {
    const Record& record = *at.record;
    find_callers(record, fmt::format("{} %{}", kind_of(record), name_of(record)), all);
  });
  return all;
}

Lines lines_of(const Graph& graph) {
  Lines lines;
  for (const Node& node : graph.nodes()) {
    for (const std::string& name : node.names) lines.emplace(name, node.where);
    for (const GraphPtr& region : node.regions) lines.merge(lines_of(*region));
  }
  return lines;
}

void PlanProfile::begin(int worker, const Record& record, int64_t step) {
  if (worker == 0) {
    end();
    open_ = &sums_[&record];
    ++open_->calls;
  }
  if (logs_.empty()) return;
  Log& log = logs_[size_t(worker)];
  // If no barrier followed, the previous record ends here.
  if (log.open) log.entries.back().done = log.entries.back().met = steady_seconds();
  log.open = log.entries.size() < kMostEntries;
  if (log.open) {
    log.entries.push_back({.record = &record, .step = step, .begin = steady_seconds()});
  } else {
    ++log.dropped;
  }
}

void PlanProfile::done(int worker) {
  if (logs_.empty()) return;
  Log& log = logs_[size_t(worker)];
  if (log.open) log.entries.back().done = steady_seconds();
}

void PlanProfile::met(int worker) {
  if (logs_.empty()) return;
  Log& log = logs_[size_t(worker)];
  if (log.open) log.entries.back().met = steady_seconds();
  log.open = false;
}

void PlanProfile::exchanged(const ExternCall& call, double begin, double end) {
  if (logs_.empty()) return;
  if (exchanges_.size() < kMostEntries) {
    exchanges_.push_back({&call, begin, end});
  } else {
    ++dropped_exchanges_;
  }
}

void PlanProfile::end() {
  const double now = steady_seconds();
  if (open_ != nullptr) open_->seconds += now - begun_;
  open_ = nullptr;
  begun_ = now;
}

RunProfile PlanProfile::result(const Plan& plan, const Lines& lines) const {
  RunProfile result;
  std::map<const Record*, size_t> places;
  std::map<const ExternCall*, size_t> calls;
  const std::map<const Record*, double> flop = flop_of_phases(plan);
  // Left out of traces: their runs are not compared with roofs, and tracing must disturb training
  // least.
  const auto bytes = logs_.empty() ? bytes_of_phases(plan) : std::map<const Record*, double>();
  visit_phases(plan.records, [&](const PhaseRecord& at) {
    const Record& record = *at.record;
    const auto sum = sums_.find(&record);
    if (sum == sums_.end()) return;
    const std::string name = name_of(record);
    const auto line = lines.find(name);
    places.emplace(&record, result.kernels.size());
    if (const auto* call = std::get_if<ExternCall>(&record.call))
      calls.emplace(call, result.kernels.size());
    result.kernels.push_back({.name = name,
                              .what = kind_of(record),
                              .where = line == lines.end() ? Where{} : line->second,
                              .calls = sum->second.calls,
                              .seconds = sum->second.seconds,
                              .flop = flop.at(&record),
                              .bytes = bytes.empty() ? 0 : bytes.at(&record)});
  });
  for (size_t worker = 0; worker < logs_.size(); ++worker) {
    result.dropped += logs_[worker].dropped;
    for (const Entry& entry : logs_[worker].entries) {
      // An error left the last entries open.
      if (entry.met == 0) continue;
      result.spans.push_back(
          {int(worker), places.at(entry.record), entry.step, entry.begin, entry.done, entry.met});
    }
  }
  result.dropped += dropped_exchanges_;
  for (const Exchange& exchange : exchanges_) {
    result.spans.push_back({WorkerSpan::kCommunication, calls.at(exchange.call), -1, exchange.begin,
                            exchange.end, exchange.end});
  }
  return result;
}

}  // namespace graphc::core::cpu
