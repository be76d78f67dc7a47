// SPDX-License-Identifier: Apache-2.0
// Weights are copied into cuDNN's layout; their gradients are read from where cuDNN writes them.
#include "codegen/targets/cuda/lower_layers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codegen/lower/context.h"
#include "codegen/step/view.h"
#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/library_layers.h"

namespace graphc::core::cuda {
namespace {

constexpr std::array<std::string_view, 3> kLayers{"lstm", "gru", "rnn"};
/// Suffix of the name of the function that computes the gradients of a layer.
constexpr std::string_view kGradients = " gradients";

LayerKind kind_of(const Op& layer) {
  if (&layer == &ops::lstm) return LayerKind::lstm;
  GRAPHC_CHECK(&layer == &ops::gru || &layer == &ops::rnn, "no library has the layer {}",
               layer.name);
  return &layer == &ops::gru ? LayerKind::gru : LayerKind::rnn;
}

/// The positions of a layer's operands among those of its node and, equally, of their cotangents
/// among the results of its gradients.
struct Operands {
  explicit Operands(LayerKind kind)
      : c(kind == LayerKind::lstm ? 2 : 0),
        w(kind == LayerKind::lstm ? 3 : 2),
        u(w + 1),
        b(w + 2),
        b_n(kind == LayerKind::gru ? w + 3 : 0),
        count(kind == LayerKind::gru ? w + 4 : w + 3) {}

  static constexpr size_t x = 0, h = 1;
  size_t c, w, u, b, b_n, count;  ///< c and b_n: 0 if absent
};

/// The views of a layer's weights and biases in the memory of LayerWeights. w and u are transposed
/// there, with the gates' matrices one after another.
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
    call_.function = kLayers[size_t(kind_of(layer.op))];
    form_ = {kind_of(layer.op), x[2], h[1]};
    steps_ = x[0];
    batch_ = x[1];
    call_.parameters = {{"steps", x[0]}, {"batch", x[1]}, {"inputs", x[2]}, {"units", h[1]}};
    if (const int pair = pair_of(layer); pair >= 0) call_.parameters.emplace_back("pair", pair);
    read("x", Operands::x, x_bytes());
    read("h", Operands::h, state_bytes());
    if (is_lstm_) read("c", operands_.c, state_bytes());
    const auto [packed, is_new] = context.external_operands.emplace(&layer, Address{});
    if (is_new) packed->second = weights();
    call_.operands.push_back({"weights", packed->second, weight_bytes(), false});
  }

  void layer() {
    write("y", 0, y_bytes());
    write("last_h", 1, state_bytes());
    if (is_lstm_) write("last_c", 2, state_bytes());
    context_.add(std::nullopt, std::move(call_));
  }

  void gradients() {
    call_.function += kGradients;
    read("y", operands_.count, y_bytes());
    read("dy", operands_.count + 1, y_bytes());
    read("last_dh", operands_.count + 2, state_bytes());
    if (is_lstm_) read("last_dc", operands_.count + 3, state_bytes());
    write("dx", Operands::x, x_bytes());
    write("dh", Operands::h, state_bytes());
    if (is_lstm_) write("dc", operands_.c, state_bytes());
    const View all = context_.temporary({DType::f32, {form_.elements()}}, call_.name + ".weights");
    call_.operands.push_back({"dweights", all.address, weight_bytes(), true});
    const WeightViews parts(form_, all.address);
    set(operands_.w, parts.w);
    set(operands_.u, parts.u);
    set(operands_.b, parts.b);
    if (operands_.b_n != 0) set(operands_.b_n, parts.b_n);
    context_.add(std::nullopt, std::move(call_));
  }

 private:
  int64_t x_bytes() const { return steps_ * batch_ * form_.inputs * size_of(DType::f32); }
  int64_t y_bytes() const { return steps_ * state_bytes(); }
  int64_t state_bytes() const { return batch_ * form_.units * size_of(DType::f32); }
  int64_t weight_bytes() const { return form_.elements() * size_of(DType::f32); }

  /// The pair number of a layer whose gradients are taken; -1 for other layers.
  int pair_of(const Node& layer) const {
    auto& pairs = context_.external_pairs;
    if (const auto found = pairs.find(&layer); found != pairs.end()) return found->second;
    const std::vector<bool> live = live_nodes(*context_.lowered);
    for (const Node& node : context_.lowered->nodes()) {
      if (live[size_t(node.id)] && layer_of_gradients(node) == &layer)
        return pairs.emplace(&layer, int(pairs.size())).first->second;
    }
    return -1;
  }

  void read(const char* name, size_t operand, int64_t bytes) {
    const Value value = node_.operands[operand];
    const View view = context_.straight(views_.get(value), value.name());
    call_.operands.push_back({name, view.address, bytes, false});
  }

  /// A result that is not read has a place too.
  void write(const char* name, size_t index, int64_t bytes) {
    const Value value = node_.result(int(index));
    set(index, context_.destination(value, wanted_));
    call_.operands.push_back({name, views_.get(value).address, bytes, true});
  }

  void set(size_t index, View view) { views_.set(node_.result(int(index)), std::move(view)); }

  /// The weights in the library's layout: a derived form of states if all weights are states and
  /// the graph writes none of them; otherwise they are copied in every step.
  Address weights() {
    const Type type{DType::f32, {form_.elements()}};
    const std::string name = call_.name + ".weights";
    if (const std::vector<int> states = states_of_weights(); !states.empty())
      return context_.add_form(name, type.bytes(), states,
                               [&](const Address& to) { copy_weights(to); });
    const View all = context_.temporary(type, name);
    copy_weights(all.address);
    return all.address;
  }

  /// The buffers of the states that hold all weights; empty if a weight is not a state or is
  /// written.
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

  /// The library's second bias, which it adds to the product of the state, is zero, except that a
  /// GRU has one for the new gate.
  void copy_weights(const Address& to) {
    const WeightViews parts(form_, to);
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
  ExternCall call_;
  LayerWeights form_;
  int64_t steps_ = 0, batch_ = 0;
};

}  // namespace

bool lower_layer(LowerContext& context, const Node& node, ViewMap& views, const ViewMap& wanted) {
  if (!is_done_by_library(node)) return false;
  if (const Node* layer = layer_of_gradients(node)) {
    LayerLowering(context, node, *layer, views, wanted).gradients();
  } else {
    LayerLowering(context, node, node, views, wanted).layer();
  }
  return true;
}

LayerCall layer_of(const ExternCall& call) {
  LayerCall layer;
  std::string_view function = call.function;
  layer.gradients = function.ends_with(kGradients);
  if (layer.gradients) function.remove_suffix(kGradients.size());
  const auto found = std::ranges::find(kLayers, function);
  GRAPHC_CHECK(found != kLayers.end(), "%{}: cuDNN has no function {}", call.name, function);
  layer.name = call.name;
  layer.kind = LayerKind(found - kLayers.begin());
  layer.steps = call.parameter("steps");
  layer.batch = call.parameter("batch");
  layer.inputs = call.parameter("inputs");
  layer.units = call.parameter("units");
  const bool is_paired = std::ranges::any_of(
      call.parameters, [](const auto& parameter) { return parameter.first == "pair"; });
  if (is_paired) layer.pair = int(call.parameter("pair"));
  return layer;
}

std::array<const Address*, 14> layer_addresses(const ExternCall& call) {
  constexpr std::array<std::string_view, 14> names{"x",      "h",      "c",  "weights", "y",
                                                   "last_h", "last_c", "dy", "last_dh", "last_dc",
                                                   "dx",     "dh",     "dc", "dweights"};
  std::array<const Address*, 14> all{};
  for (size_t i = 0; i < names.size(); ++i) {
    const ExternOperand* operand = call.operand(names[i]);
    all[i] = operand == nullptr ? nullptr : &operand->address;
  }
  return all;
}

}  // namespace graphc::core::cuda
