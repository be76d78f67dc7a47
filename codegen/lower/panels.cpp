// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/panels.h"

#include <algorithm>
#include <optional>

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

const NestProduct& program_of(const LowerContext& context, const NestCall& call,
                              const CallProduct& product) {
  const size_t index = size_t(&product - call.products.data());
  return context.plan().programs[size_t(call.program)].products[index];
}

/// The product's panels: factors that are rounded to bf16 can lie in them as such.
PanelForm form_of(const LowerContext& context, const NestCall& call, const CallProduct& product) {
  PanelForm form = product.panels;
  const NestProduct& program = program_of(context, call, product);
  if (context.machine().packs_factors && program.factors == Factors::bf16) form.dtype = DType::bf16;
  return form;
}

/// What the product's panels are made of: a matrix for each index of the axes around the rows along
/// which its right operand moves. Nothing if the matrices do not lie at equal distances.
std::optional<PanelKey> key_of(const LowerContext& context, const NestCall& call,
                               const CallProduct& product) {
  PanelKey key{product.b, product.b_strides, form_of(context, call, product)};
  for (size_t axis = call.outer.size(); axis-- > 0;) {
    const int64_t stride = product.right_outer[axis];
    if (stride == 0 || call.outer[axis] == 1) continue;
    if (key.matrices == 1) key.from_matrix = stride;
    if (stride != key.matrices * key.from_matrix) return std::nullopt;
    key.matrices *= call.outer[axis];
  }
  return key;
}

PanelCall panel_call(const PanelKey& key, const Address& to, const std::string& name) {
  return {name, key.from, to, key.strides, key.form, key.matrices, key.from_matrix};
}

/// The product then reads panels at this address.
void read_panels(LowerContext& context, NestCall& call, const PanelKey& key, const Address& panels,
                 CallProduct& product) {
  product.b = panels;
  product.in_panels = true;
  product.panels = key.form;
  if (context.machine().packs_factors && program_of(context, call, product).right != key.form.dtype)
    context.read_right_as(key.form.dtype, call, size_t(&product - call.products.data()));
  int64_t bytes = key.form.bytes();
  for (size_t axis = call.outer.size(); axis-- > 0;) {
    if (product.right_outer[axis] == 0 || call.outer[axis] == 1) continue;
    product.right_outer[axis] = bytes;
    bytes *= call.outer[axis];
  }
}

/// Gives the product a derived form of the state that its matrix is, if it is one and does not move
/// with a loop; false if it is not.
bool read_form(LowerContext& context, NestCall& call, CallProduct& product) {
  const Address& from = product.b;
  if (context.plan().buffers[size_t(from.buffer)].place != Place::state || !from.terms.empty() ||
      from.at_first)
    return false;
  const std::optional<PanelKey> key = key_of(context, call, product);
  if (!key) return false;
  auto found = find_panels(context.forms, *key);
  if (found == context.forms.end()) {
    const std::string state = context.plan().buffers[size_t(from.buffer)].name;
    const auto make = [&](const Address& to) {
      context.add(std::nullopt, panel_call(*key, to, call.name));
    };
    const Address form =
        context.add_form(state + ".panels", key->matrices * key->form.bytes(), {from.buffer}, make);
    found = context.forms.emplace(context.forms.end(), *key, form);
  }
  read_panels(context, call, *key, found->second, product);
  return true;
}

/// Lets the product read panels that are made before the open loops whose steps all find the same
/// matrix; false if there is no such loop.
bool read_panels_before_loops(LowerContext& context, NestCall& call, CallProduct& product) {
  LowerContext::OpenLoop* const loop = context.loop_that_keeps(product.b);
  if (loop == nullptr || !context.machine().packs_matrices) return false;
  const std::optional<PanelKey> key = key_of(context, call, product);
  if (!key) return false;
  auto found = find_panels(loop->panels, *key);
  if (found == loop->panels.end()) {
    Address to;
    context.add_before(*loop, Family::recurrent, [&] {
      PanelCall panels = panel_call(*key, {}, call.name);
      to.buffer = context.add_buffer(call.name + ".panels", Place::arena, 0, panels.bytes());
      panels.to = to;
      return panels;
    });
    found = loop->panels.emplace(loop->panels.end(), *key, to);
  }
  read_panels(context, call, *key, found->second, product);
  return true;
}

}  // namespace

void make_panels(LowerContext& context, std::vector<NestCall>& calls) {
  MadePanels made;
  for (NestCall& call : calls) {
    for (CallProduct& product : call.products) {
      if (read_form(context, call, product) || read_panels_before_loops(context, call, product))
        continue;
      const std::optional<PanelKey> key = key_of(context, call, product);
      if (!key) continue;
      auto found = find_panels(made, *key);
      if (found == made.end()) {
        PanelCall panels = panel_call(*key, {}, call.name);
        panels.to.buffer =
            context.add_buffer(call.name + ".panels", Place::arena, 0, panels.bytes());
        found = made.emplace(made.end(), *key, panels.to);
        context.add(Family::recurrent, std::move(panels));
      }
      read_panels(context, call, *key, found->second, product);
    }
  }
}

void read_panels_of_repeated(LowerContext& context, std::vector<NestCall>& calls) {
  for (NestCall& call : calls) {
    for (CallProduct& product : call.products) {
      const bool in_loop = context.depth() > 0;
      if (!in_loop && context.is_written(product.b.buffer)) continue;
      if (!read_form(context, call, product)) read_panels_before_loops(context, call, product);
    }
  }
}

}  // namespace graphc::core
