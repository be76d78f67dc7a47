// SPDX-License-Identifier: Apache-2.0
// Optimizers: assignments of parameters, written in the operations users have. A rate is a number,
// an input of the graph or an expression of states: changing it compiles nothing again.
//
// An optimizer is a struct with `update(params, gradients)`, so a user's own is one too. What it
// remembers of a parameter it keeps in slots: states named after it, `w.momentum`. Several
// optimizers may share a model if each has its own parameters; parameters with other rates are
// updated by an optimizer of their own (an Adam of another `name`). Two that would share a slot or
// a count of steps are an error, and so is an update in a graph that is not of Mode::training.
// Groups of parameters with an optimizer each, under one norm: frontend/param_groups.h.
#pragma once

#include <optional>
#include <string>

#include "frontend/dependence.h"
#include "frontend/functions.h"
#include "frontend/params.h"

namespace graphc::core {

/// sqrt of the sum of the squares of all elements: f32[].
Value global_norm(const Values& gradients, Where where = Where::here());

/// Each gradient times limit / max(norm, limit): their global norm is at most `limit` after it.
/// `norm` is used in the place of their own global norm when it is given.
Values clip_by_global_norm(const Values& gradients, Operand limit, Value norm = {},
                           Where where = Where::here());
/// Each gradient by itself times limit / max(its norm, limit).
Values clip_by_norm(const Values& gradients, Operand limit, Where where = Where::here());
/// Each element of each gradient brought into [-limit, limit].
Values clip_by_value(const Values& gradients, double limit, Where where = Where::here());

/// A state of the model that belongs to a parameter: of its shape, named `parameter.name`. It is
/// transient (StateOptions): only files of everything have it. Throws ErrorKind::input when no
/// graph is being traced.
State slot(const Param& param, const std::string& name, const Initializer& initializer = {},
           Where where = Where::here());

/// Throws ErrorKind::input, naming the graph and what to write, unless it is of Mode::training.
void expect_training(std::string_view what, Where where = Where::here());

/// Throws ErrorKind::input when there are no parameters, or one is there twice.
void expect_distinct(std::string_view what, const Params& params, Where where = Where::here());

// Every optimizer has these, in this order:
//
//   clip_norm     the gradients are clipped by their global norm first
//   clip_value    and before that each element of them into [-clip_value, clip_value]
//   weight_decay  d: each gradient is g + d p then, as in PyTorch; in Adam it is AdamW's

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

/// Gradients of several calls added up: one graph of the model calls add(), another take() and
/// updates with what it gives. Slot `accumulated`; the number of calls is the state `name.count`.
struct Accumulator {
  std::string name = "accumulator";

  void add(const Params& params, const Values& gradients, Where where = Where::here()) const;
  /// The means of the gradients added since the last take(), which are forgotten.
  Values take(const Params& params, Where where = Where::here()) const;
};

/// Assigns the parameters one step down the gradient of the loss; returns the gradients.
/// Throws ErrorKind::input in a graph that is not of Mode::training, without parameters, when one
/// is there twice, and when the loss reads a value that the graph has given a parameter: a second
/// step is a graph of its own.
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
