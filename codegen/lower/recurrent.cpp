// SPDX-License-Identifier: Apache-2.0
// Recurrent kernels: a scan whose body is a row program, its matrices in panels.
#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/lower/context.h"
#include "codegen/lower/scan_views.h"
#include "ir/mutant.h"
#include "ir/op.h"

namespace graphc {
namespace {

/// What panels are made of, and their form: equal ones are made once.
struct PanelKey {
  Address from;
  MatrixStrides strides;
  PanelForm form;

  bool operator==(const PanelKey&) const = default;
};

using MadePanels = std::vector<std::pair<PanelKey, Address>>;

/// The panels that were made of the same matrix in the same form.
MadePanels::iterator find_panels(MadePanels& made, PanelKey key) {
  if (mutated(Mutant::panels_of_another_matrix) && !made.empty()) return made.begin();
  if (mutated(Mutant::panels_of_another_length)) {
    return std::ranges::find_if(made, [&](const auto& other) {
      key.form.k = other.first.form.k;
      return other.first == key;
    });
  }
  return std::ranges::find(made, key, &MadePanels::value_type::first);
}

/// Records that put the matrices of `calls` into panels; the calls then read those.
void make_panels(LowerContext& context, std::vector<NestCall>& calls) {
  MadePanels made;
  for (NestCall& call : calls) {
    for (CallProduct& product : call.products) {
      const PanelKey key{product.b, product.b_strides, product.panels};
      auto found = find_panels(made, key);
      if (found == made.end()) {
        PanelCall panels{call.name, product.b, {}, product.b_strides, product.panels};
        panels.to.buffer =
            context.add_buffer(call.name + ".panels", Place::arena, 0, product.panels.bytes());
        found = made.emplace(made.end(), key, panels.to);
        context.add("panels", std::move(panels));
      }
      product.b = found->second;
      product.in_panels = true;
    }
  }
}

}  // namespace

void lower_recurrent(LowerContext& context, const Node& kernel, const std::vector<View>& inputs,
                     ViewMap& views, ViewMap& wanted) {
  const Scan scan(*kernel.region().results().at(0).node);
  const Graph& body = scan.body();
  std::string why_not;
  const std::optional<RowProgram> rows = analyse_row_program(body, &why_not);
  if (!rows) throw input_error({}, "a recurrent kernel that is no row program: {}", why_not);
  LoopCall loop;
  const int id = context.new_loop_id();
  ScanViews bound = bind_scan(context, scan, inputs, kernel, wanted, id);
  publish(scan, bound, kernel, views);
  if (scan.steps() == 0) return;
  loop.carries = std::move(bound.carries);
  loop.name = kernel.names[0];
  loop.steps = scan.steps();
  loop.reverse = scan.reverse();
  loop.rows = rows->rows();
  std::vector<NestCall> calls =
      lower_rows(context, body, *rows, {bound.inputs, bound.results, loop.name, false});
  make_panels(context, calls);
  // What repeats along some axes of the rows only keeps them apart: rows cannot be shared out.
  loop.private_rows = std::ranges::all_of(
      calls, [&](const NestCall& call) { return call.outer.empty() && call.rows == loop.rows; });
  loop.id = loop.private_rows ? -1 : id;
  for (NestCall& call : calls) loop.body.push_back({"recurrent", std::move(call)});
  context.note_loop();
  context.add("recurrent", std::move(loop));
}

}  // namespace graphc
