// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, and their gradients, as calls of the machine's library. Weights are copied into
// the order that libraries have; their gradients are read where the library puts them.
#include <algorithm>

#include "codegen/lower/context.h"
#include "codegen/plan/view.h"
#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/library_layers.h"

namespace graphc::core {
namespace {

LayerKind kind_of(const Op& layer) {
  if (&layer == &ops::lstm) return LayerKind::lstm;
  GRAPHC_CHECK(&layer == &ops::gru || &layer == &ops::rnn, "no library has the layer {}",
               layer.name);
  return &layer == &ops::gru ? LayerKind::gru : LayerKind::rnn;
}

/// Where the operands of a layer stand among those of its node, and, in the same order, their
/// cotangents among the results of its gradients.
struct Operands {
  explicit Operands(LayerKind kind)
      : c(kind == LayerKind::lstm ? 2 : 0),
        w(kind == LayerKind::lstm ? 3 : 2),
        u(w + 1),
        b(w + 2),
        b_n(kind == LayerKind::gru ? w + 3 : 0),
        count(kind == LayerKind::gru ? w + 4 : w + 3) {}

  static constexpr size_t x = 0, h = 1;
  size_t c, w, u, b, b_n, count;  ///< c and b_n: 0 where there is none
};

/// The views of a layer's weights and biases in the memory of LayerWeights: w and u lie transposed
/// there, the gates' matrices one after another.
struct WeightViews {
  WeightViews(const LayerWeights& form, const Address& at) {
    const int64_t gates = form.gates(), units = form.units;
    w = view(at, form.input_matrix(0), {form.inputs, gates * units}, {1, form.inputs});
    u = view(at, form.state_matrix(0), {units, gates * units}, {1, units});
    b = view(at, form.input_bias(0), {gates * units}, {1});
    state_bias = view(at, form.state_bias(0), {gates * units}, {1});
    b_n = view(at, form.state_bias(gates - 1), {units}, {1});
  }

  View w, u, b, state_bias, b_n;

 private:
  static View view(Address at, int64_t element, const Shape& shape,
                   std::initializer_list<int64_t> strides) {
    View view{moved(std::move(at), element * size_of(DType::f32)), DType::f32, shape, {}};
    std::ranges::copy(strides, view.strides.begin());
    return view;
  }
};

class LayerLowering {
 public:
  LayerLowering(LowerContext& context, const Node& node, const Node& layer, ViewMap& views,
                const ViewMap& wanted)
      : context_(context),
        node_(node),
        views_(views),
        wanted_(wanted),
        operands_(kind_of(layer.op)),
        is_lstm_(kind_of(layer.op) == LayerKind::lstm) {
    const Shape x = layer.operands[Operands::x].shape(), h = layer.operands[Operands::h].shape();
    call_.name = node.names[0];
    call_.kind = kind_of(layer.op);
    call_.steps = x[0];
    call_.batch = x[1];
    call_.inputs = x[2];
    call_.units = h[1];
    const auto pair = context.layer_pairs.find(&layer);
    if (pair != context.layer_pairs.end()) call_.pair = pair->second;
    call_.x = read(Operands::x);
    call_.h = read(Operands::h);
    if (is_lstm_) call_.c = read(operands_.c);
    const auto [packed, is_new] = context.layer_weights.emplace(&layer, Address{});
    if (is_new) packed->second = weights();
    call_.weights = packed->second;
  }

  void layer() {
    call_.y = result(0);
    call_.last_h = result(1);
    if (is_lstm_) call_.last_c = result(2);
    context_.add(std::nullopt, std::move(call_));
  }

  void gradients() {
    call_.gradients = true;
    call_.y = read(operands_.count);
    call_.dy = read(operands_.count + 1);
    call_.last_dh = read(operands_.count + 2);
    if (is_lstm_) call_.last_dc = read(operands_.count + 3);
    call_.dx = result(Operands::x);
    call_.dh = result(Operands::h);
    if (is_lstm_) call_.dc = result(operands_.c);
    const View all = context_.temporary({DType::f32, {form().elements()}}, call_.name + ".weights");
    call_.dweights = all.address;
    const WeightViews parts(form(), all.address);
    set(operands_.w, parts.w);
    set(operands_.u, parts.u);
    set(operands_.b, parts.b);
    if (operands_.b_n != 0) set(operands_.b_n, parts.b_n);
    context_.add(std::nullopt, std::move(call_));
  }

 private:
  LayerWeights form() const { return {call_.kind, call_.inputs, call_.units}; }

  Address read(size_t operand) {
    const Value value = node_.operands[operand];
    return context_.straight(views_.get(value), value.name()).address;
  }

  /// Where a result goes; a result that nobody reads has a place too.
  Address result(size_t index) {
    const Value value = node_.result(int(index));
    set(index, context_.destination(value, wanted_));
    return views_.get(value).address;
  }

  void set(size_t index, View view) { views_.set(node_.result(int(index)), std::move(view)); }

  /// The weights in the library's order: a derived form of states if they are those, and the graph
  /// writes none of them; else they are copied in every step.
  Address weights() {
    const Type type{DType::f32, {form().elements()}};
    const std::string name = call_.name + ".weights";
    if (const std::vector<int> states = states_of_weights(); !states.empty())
      return context_.add_form(name, type.bytes(), states,
                               [&](const Address& to) { copy_weights(to); });
    const View all = context_.temporary(type, name);
    copy_weights(all.address);
    return all.address;
  }

  /// The buffers of the states that all weights are; none if one is something else, or is written.
  std::vector<int> states_of_weights() const {
    std::vector<int> states;
    for (const size_t operand : {operands_.w, operands_.u, operands_.b, operands_.b_n}) {
      if (operand == 0) continue;
      const Address& at = views_.get(node_.operands[operand]).address;
      if (context_.plan().buffers[size_t(at.buffer)].place != Place::state ||
          context_.is_written(at.buffer) || !at.terms.empty() || at.at_first)
        return {};
      if (std::ranges::count(states, at.buffer) == 0) states.push_back(at.buffer);
    }
    return states;
  }

  /// The library's second bias, which it adds to the product of the state, is zero but where a GRU
  /// has one of the new gate.
  void copy_weights(const Address& to) {
    const WeightViews parts(form(), to);
    fill_with_zeros(parts.state_bias);
    const auto copy = [&](size_t operand, const View& part) {
      context_.copy(views_.get(node_.operands[operand]), part, call_.name);
    };
    copy(operands_.w, parts.w);
    copy(operands_.u, parts.u);
    copy(operands_.b, parts.b);
    if (operands_.b_n != 0) copy(operands_.b_n, parts.b_n);
  }

  void fill_with_zeros(const View& to) {
    Graph body;
    body.set_results({splat(body, 0, {to.dtype, to.shape})});
    lower_body(context_, body, {}, {to}, call_.name, Family::map);
  }

  LowerContext& context_;
  const Node& node_;
  ViewMap& views_;
  const ViewMap& wanted_;
  const Operands operands_;
  const bool is_lstm_;
  LayerCall call_;
};

}  // namespace

void find_layer_pairs(LowerContext& context, const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)]) continue;
    if (const Node* layer = layer_of_gradients(node))
      context.layer_pairs.emplace(layer, int(context.layer_pairs.size()));
  }
  context.plan().pairs = int(context.layer_pairs.size());
}

void lower_layer(LowerContext& context, const Node& node, ViewMap& views, const ViewMap& wanted) {
  if (const Node* layer = layer_of_gradients(node)) {
    LayerLowering(context, node, *layer, views, wanted).gradients();
  } else {
    LayerLowering(context, node, node, views, wanted).layer();
  }
}

}  // namespace graphc::core
