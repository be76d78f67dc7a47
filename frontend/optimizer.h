// SPDX-License-Identifier: Apache-2.0
// Optimizers: assignments of parameters, written with the operations that users have. A rate is a
// number, an input of the graph or an expression of states: changing it does not recompile.
//
// An optimizer is a struct with `update(params, gradients)`, so users can write their own. Its
// state per parameter is kept in slots: states named after the parameter, such as `w.momentum`.
// Several optimizers may share a model if they update disjoint parameters; parameters with another
// rate need an optimizer of their own (an Adam with another `name`). Two optimizers that would
// share a slot or a step count are an error, and so is an update in a graph that is not
// Mode::training. For groups of parameters with one optimizer each and a common norm, see
// frontend/param_groups.h.
#pragma once

#include <optional>
#include <string>

#include "frontend/dependence.h"
#include "frontend/functions.h"
#include "frontend/params.h"

namespace graphc::core {

/// The square root of the sum of squares over all elements: f32[].
Value global_norm(const Values& gradients, Where where = Where::here());

/// Scales each gradient by limit / max(norm, limit), so that their global norm is at most `limit`.
/// `norm`, if given, replaces their own global norm.
Values clip_by_global_norm(const Values& gradients, Operand limit, Value norm = {},
                           Where where = Where::here());
/// Scales each gradient by limit / max(its own norm, limit).
Values clip_by_norm(const Values& gradients, Operand limit, Where where = Where::here());
/// Clips each element of each gradient to [-limit, limit].
Values clip_by_value(const Values& gradients, double limit, Where where = Where::here());

/// A state of the model that belongs to a parameter: it has its shape and is named
/// `parameter.name`. It is transient (StateOptions): only files with every state contain it. Throws
/// ErrorKind::input outside a trace.
State slot(const Param& param, const std::string& name, const Initializer& initializer = {},
           Where where = Where::here());

/// Throws ErrorKind::input, naming the graph and what to write, unless it is Mode::training.
void expect_training(std::string_view what, Where where = Where::here());

/// Throws ErrorKind::input if there are no parameters, or if one is repeated.
void expect_distinct(std::string_view what, const Params& params, Where where = Where::here());

// The last fields of every optimizer, in this order; they apply in the order clip_value, clip_norm,
// weight_decay:
//
//   clip_norm     limit of the global norm of the gradients
//   clip_value    each element of the gradients is clipped to [-clip_value, clip_value]
//   weight_decay  d: each gradient becomes g + d p, as in PyTorch; Adam uses AdamW's rule

/// Stochastic gradient descent: p = p - rate g.
struct Sgd {
  Operand rate = 0.01;
  std::optional<double> clip_norm = {}, clip_value = {};
  double weight_decay = 0;

  void update(const Params& params, const Values& gradients, Where where = Where::here()) const;
};

/// Gradient descent with momentum: v = momentum v + g; p = p - rate v, or with Nesterov's step
/// p = p - rate (g + momentum v) (Sutskever et al. 2013, as in PyTorch). Slot `momentum`.
struct Momentum {
  Operand rate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  std::optional<double> clip_norm = {}, clip_value = {};
  double weight_decay = 0;

  void update(const Params& params, const Values& gradients, Where where = Where::here()) const;
};

/// RMSprop: s = decay s + (1 - decay) g^2; p = p - rate g / (sqrt(s) + epsilon) (Tieleman and
/// Hinton 2012, as in Keras). Slot `square`.
struct Rmsprop {
  Operand rate = 0.001;
  double decay = 0.9;
  double epsilon = 1e-7;
  std::optional<double> clip_norm = {}, clip_value = {};
  double weight_decay = 0;

  void update(const Params& params, const Values& gradients, Where where = Where::here()) const;
};

/// Adagrad: s = s + g^2; p = p - rate g / (sqrt(s) + epsilon) (Duchi et al. 2011). Slot `square`.
struct Adagrad {
  Operand rate = 0.01;
  double epsilon = 1e-10;
  std::optional<double> clip_norm = {}, clip_value = {};
  double weight_decay = 0;

  void update(const Params& params, const Values& gradients, Where where = Where::here()) const;
};

/// Adam (Kingma and Ba 2015): t = t + 1; m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2)
/// g^2; p = p - rate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon). Slots `mean` and
/// `square`; t is the state `name.step`. With `weight_decay` it is AdamW: p = (1 - rate
/// weight_decay) p first (Loshchilov and Hutter 2019).
struct Adam {
  Operand rate = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  std::string name = "adam";
  std::optional<double> clip_norm = {}, clip_value = {};
  double weight_decay = 0;

  void update(const Params& params, const Values& gradients, Where where = Where::here()) const;
};

/// Accumulates gradients over several calls: one graph of the model calls add(); another calls
/// take() and passes the result to an optimizer. Slot `accumulated`; the number of calls is the
/// state `name.count`.
struct Accumulator {
  std::string name = "accumulator";

  void add(const Params& params, const Values& gradients, Where where = Where::here()) const;
  /// The mean of the gradients added since the last take(); resets the sum and the count.
  Values take(const Params& params, Where where = Where::here()) const;
};

/// Assigns the parameters one step of gradient descent on the loss; returns the gradients. Throws
/// ErrorKind::input in a graph that is not Mode::training, for no parameters or a repeated one, and
/// if the loss reads a value that the graph has assigned to a parameter: a second step needs a
/// graph of its own.
template <typename Optimizer>
Values minimize(Value loss, const Params& params, const Optimizer& optimizer,
                Where where = Where::here()) {
  expect_training("minimize", where);
  expect_distinct("minimize", params, where);
  expect_none_declared_later(loss, params, where);
  const Values d = gradients(loss, params, where);
  optimizer.update(params, d, where);
  return d;
}

}  // namespace graphc::core
