// SPDX-License-Identifier: Apache-2.0
// Optimizers and schedules. An optimizer is an object with update(params, gradients); Python's own
// are as good as these.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/bindings.h"

namespace graphc::core::python {
namespace {

using Limit = std::optional<double>;

/// A rate before the trace: a number, or a value of the trace that uses it.
Operand rate_of(nb::handle rate) { return operand_of(rate, python_line()); }

template <typename Optimizer>
void add_update(nb::class_<Optimizer>& optimizer) {
  optimizer.def(
      "update",
      [](const Optimizer& self, ParamsArgument params, ValuesArgument gradients) {
        const Where where = python_line();
        self.update(params_of(params.object, where), values_of(gradients.object, where), where);
      },
      nb::arg("params"), nb::arg("gradients"), "Assigns the parameters one step.");
}

void bind_gradient_descents(nb::module_& module) {
  nb::class_<Sgd> sgd(module, "Sgd", "p = p - rate g.");
  sgd.def(
      "__init__",
      [](Sgd* self, OperandArgument rate, Limit clip_norm, Limit clip_value, double decay) {
        new (self) Sgd{rate_of(rate.object), clip_norm, clip_value, decay};
      },
      nb::arg("rate") = 0.01, nb::kw_only(), nb::arg("clip_norm") = nb::none(),
      nb::arg("clip_value") = nb::none(), nb::arg("weight_decay") = 0.0);
  add_update(sgd);
  nb::class_<Momentum> momentum(module, "Momentum", "v = momentum v + g; p = p - rate v.");
  momentum.def(
      "__init__",
      [](Momentum* self, OperandArgument rate, double factor, bool nesterov, Limit clip_norm,
         Limit clip_value, double decay) {
        new (self) Momentum{rate_of(rate.object), factor, nesterov, clip_norm, clip_value, decay};
      },
      nb::arg("rate") = 0.01, nb::kw_only(), nb::arg("momentum") = 0.9, nb::arg("nesterov") = false,
      nb::arg("clip_norm") = nb::none(), nb::arg("clip_value") = nb::none(),
      nb::arg("weight_decay") = 0.0);
  add_update(momentum);
}

void bind_scaled_descents(nb::module_& module) {
  nb::class_<Rmsprop> rmsprop(
      module, "Rmsprop", "s = decay s + (1 - decay) g^2; p = p - rate g / (sqrt(s) + epsilon).");
  rmsprop.def(
      "__init__",
      [](Rmsprop* self, OperandArgument rate, double decay, double epsilon, Limit clip_norm,
         Limit clip_value, double weight_decay) {
        new (self)
            Rmsprop{rate_of(rate.object), decay, epsilon, clip_norm, clip_value, weight_decay};
      },
      nb::arg("rate") = 0.001, nb::kw_only(), nb::arg("decay") = 0.9, nb::arg("epsilon") = 1e-7,
      nb::arg("clip_norm") = nb::none(), nb::arg("clip_value") = nb::none(),
      nb::arg("weight_decay") = 0.0);
  add_update(rmsprop);
  nb::class_<Adagrad> adagrad(module, "Adagrad",
                              "s = s + g^2; p = p - rate g / (sqrt(s) + epsilon).");
  adagrad.def(
      "__init__",
      [](Adagrad* self, OperandArgument rate, double epsilon, Limit clip_norm, Limit clip_value,
         double weight_decay) {
        new (self) Adagrad{rate_of(rate.object), epsilon, clip_norm, clip_value, weight_decay};
      },
      nb::arg("rate") = 0.01, nb::kw_only(), nb::arg("epsilon") = 1e-10,
      nb::arg("clip_norm") = nb::none(), nb::arg("clip_value") = nb::none(),
      nb::arg("weight_decay") = 0.0);
  add_update(adagrad);
  nb::class_<Adam> adam(module, "Adam",
                        "Adam (Kingma and Ba 2015); with `weight_decay` AdamW. Its step count is "
                        "the state `name.step`.");
  adam.def(
      "__init__",
      [](Adam* self, OperandArgument rate, double beta1, double beta2, double epsilon,
         std::string name, Limit clip_norm, Limit clip_value, double weight_decay) {
        new (self) Adam{rate_of(rate.object), beta1,     beta2,      epsilon,
                        std::move(name),      clip_norm, clip_value, weight_decay};
      },
      nb::arg("rate") = 0.001, nb::kw_only(), nb::arg("beta1") = 0.9, nb::arg("beta2") = 0.999,
      nb::arg("epsilon") = 1e-8, nb::arg("name") = "adam", nb::arg("clip_norm") = nb::none(),
      nb::arg("clip_value") = nb::none(), nb::arg("weight_decay") = 0.0);
  add_update(adam);
}

/// An optimizer of Python: anything with update(params, gradients).
struct PythonOptimizer {
  nb::object object;

  void update(const Params& params, const Values& gradients, Where = {}) const {
    object.attr("update")(nb::cast(params), nb::cast(gradients));
  }
};

void expect_optimizer(nb::handle optimizer, Where where) {
  if (nb::hasattr(optimizer, "update") && !PyType_Check(optimizer.ptr())) return;
  throw input_error(where, "minimize: wanted an optimizer, such as Adam(): found {}",
                    type_text(optimizer));
}

/// A sequence of (parameters, optimizer).
std::vector<ParamGroup> groups_of(nb::handle object, Where where) {
  std::vector<ParamGroup> groups;
  const auto refuse = [&](nb::handle found) {
    throw input_error(where,
                      "minimize: wanted parameters and an optimizer, or a list of groups "
                      "(parameters, optimizer): found {}",
                      type_text(found));
  };
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) refuse(object);
  for (nb::handle group : nb::borrow<nb::sequence>(object)) {
    if (!PyTuple_Check(group.ptr()) || nb::len(group) != 2) refuse(group);
    expect_optimizer(group[1], where);
    groups.emplace_back(params_of(group[0], where), PythonOptimizer{nb::object(group[1])});
  }
  return groups;
}

void bind_minimize(nb::module_& module) {
  module.def(
      "minimize",
      [](ValueArgument loss, nb::handle groups, Limit clip_norm, Limit clip_value) {
        const Where where = python_line();
        return minimize(value_of(loss.object, where), groups_of(groups, where),
                        {clip_norm, clip_value}, where);
      },
      nb::arg("loss"), nb::arg("groups"), nb::kw_only(), nb::arg("clip_norm") = nb::none(),
      nb::arg("clip_value") = nb::none(),
      nb::sig("def minimize(loss: Value | State, groups: collections.abc.Sequence[tuple[Params | "
              "collections.abc.Sequence[Param], object]], *, clip_norm: float | None = None, "
              "clip_value: float | None = None) -> list[Value]"),
      "Groups of parameters, (parameters, optimizer) each: gradients are clipped over all groups "
      "before each optimizer gets its own.");
  module.def(
      "minimize",
      [](ValueArgument loss, ParamsArgument params, nb::handle optimizer) {
        const Where where = python_line();
        expect_optimizer(optimizer, where);
        return minimize(value_of(loss.object, where), params_of(params.object, where),
                        PythonOptimizer{nb::borrow(optimizer)}, where);
      },
      nb::arg("loss"), nb::arg("params"), nb::arg("optimizer"),
      nb::sig("def minimize(loss: Value | State, params: Params | "
              "collections.abc.Sequence[Param], optimizer: object) -> list[Value]"),
      "Assigns the parameters one step of gradient descent on the loss; returns the gradients.");
  module.def(
      "slot",
      [](const ParamHandle& param, const std::string& name, InitializerArgument initializer) {
        const Where where = python_line();
        const Initializer draw = initializer_of(initializer.object, {}, where);
        return StateHandle{slot(Param(param.cell), name, draw, where).cell()};
      },
      nb::arg("param"), nb::arg("name"), nb::arg("initializer") = nb::none(),
      "A state that belongs to a parameter and has its shape: for optimizers of one's own.");
}

void bind_clipping(nb::module_& module) {
  module.def(
      "global_norm",
      [](ValuesArgument gradients) {
        const Where where = python_line();
        return global_norm(values_of(gradients.object, where), where);
      },
      nb::arg("gradients"), "The square root of the sum of squares over all elements.");
  module.def(
      "clip_by_global_norm",
      [](ValuesArgument gradients, OperandArgument limit) {
        const Where where = python_line();
        return clip_by_global_norm(values_of(gradients.object, where),
                                   operand_of(limit.object, where), {}, where);
      },
      nb::arg("gradients"), nb::arg("limit"),
      "Scaled so that their global norm is at most `limit`.");
  module.def(
      "clip_by_norm",
      [](ValuesArgument gradients, OperandArgument limit) {
        const Where where = python_line();
        return clip_by_norm(values_of(gradients.object, where), operand_of(limit.object, where),
                            where);
      },
      nb::arg("gradients"), nb::arg("limit"),
      "Each scaled so that its own norm is at most `limit`.");
  module.def(
      "clip_by_value",
      [](ValuesArgument gradients, double limit) {
        const Where where = python_line();
        return clip_by_value(values_of(gradients.object, where), limit, where);
      },
      nb::arg("gradients"), nb::arg("limit"), "Each element clipped to [-limit, limit].");
}

void bind_accumulator(nb::module_& module) {
  nb::class_<Accumulator>(module, "Accumulator",
                          "Accumulates gradients over several calls: one graph adds, another takes "
                          "and gives the mean to an optimizer.")
      .def(
          "__init__",
          [](Accumulator* self, std::string name) { new (self) Accumulator{std::move(name)}; },
          nb::arg("name") = "accumulator")
      .def(
          "add",
          [](const Accumulator& self, ParamsArgument params, ValuesArgument gradients) {
            const Where where = python_line();
            self.add(params_of(params.object, where), values_of(gradients.object, where), where);
          },
          nb::arg("params"), nb::arg("gradients"))
      .def(
          "take",
          [](const Accumulator& self, ParamsArgument params) {
            const Where where = python_line();
            return self.take(params_of(params.object, where), where);
          },
          nb::arg("params"), "The mean of the gradients added since the last call.");
}

void bind_schedules(nb::module_& module) {
  const auto add = [&](const char* name, const char* doc,
                       Value (*function)(Value, Operand, double, double, Where)) {
    module.def(
        name,
        [function](ValueArgument step, OperandArgument rate, double every, double factor) {
          const Where where = python_line();
          return function(value_of(step.object, where), operand_of(rate.object, where), every,
                          factor, where);
        },
        nb::arg("step"), nb::arg("rate"), nb::arg("every"), nb::arg("factor"), doc);
  };
  add("step_decay", "rate factor^floor(step / every).", &step_decay);
  add("exponential_decay", "rate factor^(step / every).", &exponential_decay);
  module.def(
      "cosine_decay",
      [](ValueArgument step, OperandArgument rate, double steps, double lowest) {
        const Where where = python_line();
        return cosine_decay(value_of(step.object, where), operand_of(rate.object, where), steps,
                            lowest, where);
      },
      nb::arg("step"), nb::arg("rate"), nb::arg("steps"), nb::arg("lowest") = 0.0,
      "From rate to lowest along half a cosine over `steps` steps, then constant.");
}

}  // namespace

void bind_optimizers(nb::module_& module) {
  bind_gradient_descents(module);
  bind_scaled_descents(module);
  bind_minimize(module);
  bind_clipping(module);
  bind_accumulator(module);
  bind_schedules(module);
}

}  // namespace graphc::core::python
