// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/panels.h"

#include <algorithm>

#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// Whether the same matrix in the same form was wanted.
bool is_same(const PanelKey& made, PanelKey wanted) {
  if (mutated(Mutant::panels_of_another_length)) wanted.form.k = made.form.k;
  if (mutated(Mutant::panels_of_another_step)) wanted.from.terms = made.from.terms;
  if (mutated(Mutant::panels_of_another_carry)) {
    wanted.from.first_loop = made.from.first_loop;
    wanted.from.at_first = made.from.at_first;
  }
  return made == wanted;
}

MadePanels::iterator find_panels(MadePanels& made, const PanelKey& key) {
  if (mutated(Mutant::panels_of_another_matrix) && !made.empty()) return made.begin();
  return std::ranges::find_if(made, [&](const auto& each) { return is_same(each.first, key); });
}

/// Gives the product a derived form of the state that its matrix is, if it is one and does not move
/// with a loop; false if it is not.
bool read_form(LowerContext& context, CallProduct& product, const std::string& name) {
  const Address& from = product.b;
  if (context.plan().buffers[size_t(from.buffer)].place != Place::state || !from.terms.empty() ||
      from.at_first)
    return false;
  const PanelKey key{from, product.b_strides, product.panels};
  auto found = find_panels(context.forms, key);
  if (found == context.forms.end()) {
    const std::string state = context.plan().buffers[size_t(from.buffer)].name;
    const auto make = [&](const Address& to) {
      context.add(std::nullopt, PanelCall{name, from, to, product.b_strides, product.panels});
    };
    const Address form =
        context.add_form(state + ".panels", product.panels.bytes(), {from.buffer}, make);
    found = context.forms.emplace(context.forms.end(), key, form);
  }
  product.b = found->second;
  product.in_panels = true;
  return true;
}

}  // namespace

void make_panels(LowerContext& context, std::vector<NestCall>& calls) {
  MadePanels made;
  for (NestCall& call : calls) {
    for (CallProduct& product : call.products) {
      if (read_form(context, product, call.name)) continue;
      const PanelKey key{product.b, product.b_strides, product.panels};
      auto found = find_panels(made, key);
      if (found == made.end()) {
        PanelCall panels{call.name, product.b, {}, product.b_strides, product.panels};
        panels.to.buffer =
            context.add_buffer(call.name + ".panels", Place::arena, 0, product.panels.bytes());
        found = made.emplace(made.end(), key, panels.to);
        context.add(Family::recurrent, std::move(panels));
      }
      product.b = found->second;
      product.in_panels = true;
    }
  }
}

void read_forms(LowerContext& context, std::vector<NestCall>& calls) {
  for (NestCall& call : calls) {
    for (CallProduct& product : call.products) {
      if (std::ranges::any_of(product.right_outer, [](int64_t s) { return s != 0; })) continue;
      if (context.depth() > 0 || !context.is_written(product.b.buffer))
        read_form(context, product, call.name);
    }
  }
}

}  // namespace graphc::core
