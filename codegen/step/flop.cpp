// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/flop.h"

#include "codegen/step/visit.h"
#include "ir/cases.h"

namespace graphc::core {
namespace {

/// How often something runs: so many times the iterations of the loop around it, if there is one.
struct Runs {
  double loops = 1;
  double iterations = 1;

  Runs inside(const LoopCall& loop) const { return {loops * iterations, double(loop.steps)}; }
};

double flop_of(const NestCall& call, const Runs& runs) {
  double elements = double(call.rows) * double(call.unit), flop = 0;
  for (int64_t extent : call.outer) elements *= double(extent);
  for (const CallProduct& product : call.products) {
    const double times = runs.loops * (runs.iterations - (product.zeros_at_first ? 1 : 0));
    flop += times * 2 * elements * double(product.panels.parts) * double(product.panels.k);
  }
  return flop;
}

double flop_of(const Record& record, Runs runs) {
  if (record.idle_at_last) runs.iterations -= 1;
  const auto of_body = [](const std::vector<Record>& body, const Runs& inside) {
    double flop = 0;
    for (const Record& inner : body) flop += flop_of(inner, inside);
    return flop;
  };
  return std::visit(
      Cases{[&](const NestCall& call) { return flop_of(call, runs); },
            [&](const LoopCall& loop) { return of_body(loop.body, runs.inside(loop)); },
            [&](const BlockCall& block) { return of_body(block.body, runs); },
            [](const auto&) { return 0.0; }},
      record.call);
}

void add_phases(const std::vector<Record>& records, const Runs& runs,
                std::map<const Record*, double>& flop) {
  for (const Record& record : records) {
    if (const LoopCall* loop = loop_of_phases(record)) {
      add_phases(loop->body, runs.inside(*loop), flop);
    } else {
      flop[&record] = flop_of(record, runs);
    }
  }
}

}  // namespace

std::map<const Record*, double> flop_of_phases(const Plan& plan) {
  std::map<const Record*, double> flop;
  add_phases(plan.records, {}, flop);
  return flop;
}

double product_flop(const Plan& plan) {
  double sum = 0;
  for (const auto& [record, flop] : flop_of_phases(plan)) sum += flop;
  return sum;
}

}  // namespace graphc::core
