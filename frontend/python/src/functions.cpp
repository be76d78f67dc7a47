// SPDX-License-Identifier: Apache-2.0
// Functions on values: elementwise, products, sources, losses, random numbers, derivatives.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/arrays.h"
#include "frontend/python/src/bindings.h"
#include "ir/op.h"

namespace graphc::core::python {
namespace {

using Unary = Value (*)(Value, Where);
using Binary = Value (*)(Operand, Operand);

/// The documentation of the op of this name, as docs/ops.md has it.
std::string doc_of(const char* name) {
  const Op* const op = find_op(name);
  return op == nullptr ? std::string() : std::string(op->doc);
}

void add(nb::module_& module, const char* name, Unary function) {
  module.def(
      name,
      [function](ValueArgument x) {
        const Where where = python_line();
        return function(value_of(x.object, where), where);
      },
      nb::arg("x"), doc_of(name).c_str());
}

void add(nb::module_& module, const char* name, Binary function) {
  module.def(
      name,
      [function](OperandArgument a, OperandArgument b) {
        const Where where = python_line();
        return function(operand_of(a.object, where), operand_of(b.object, where));
      },
      nb::arg("a"), nb::arg("b"), doc_of(name).c_str());
}

constexpr std::pair<const char*, Unary> kUnary[] = {{"neg", &core::neg},
                                                    {"abs", &core::abs},
                                                    {"exp", &core::exp},
                                                    {"log", &core::log},
                                                    {"sqrt", &core::sqrt},
                                                    {"rsqrt", &core::rsqrt},
                                                    {"tanh", &core::tanh},
                                                    {"sigmoid", &core::sigmoid},
                                                    {"sin", &core::sin},
                                                    {"cos", &core::cos},
                                                    {"tan", &core::tan},
                                                    {"floor", &core::floor},
                                                    {"ceil", &core::ceil},
                                                    {"round", &core::round},
                                                    {"relu", &core::relu},
                                                    {"square", &core::square},
                                                    {"hard_sigmoid", &core::hard_sigmoid},
                                                    {"logical_not", &core::logical_not},
                                                    {"sign", &core::sign},
                                                    {"reciprocal", &core::reciprocal},
                                                    {"log1p", &core::log1p},
                                                    {"expm1", &core::expm1},
                                                    {"softplus", &core::softplus},
                                                    {"silu", &core::silu},
                                                    {"gelu", &core::gelu},
                                                    {"is_nan", &core::is_nan},
                                                    {"is_finite", &core::is_finite},
                                                    {"watch", &core::watch},
                                                    {"stop_gradient", &core::stop_gradient}};
constexpr std::pair<const char*, Binary> kBinary[] = {{"maximum", &core::maximum},
                                                      {"minimum", &core::minimum},
                                                      {"pow", &core::pow},
                                                      {"remainder", &core::remainder},
                                                      {"equal", &core::equal},
                                                      {"not_equal", &core::not_equal},
                                                      {"less", &core::less},
                                                      {"less_equal", &core::less_equal},
                                                      {"greater", &core::greater},
                                                      {"greater_equal", &core::greater_equal},
                                                      {"logical_and", &core::logical_and},
                                                      {"logical_or", &core::logical_or},
                                                      {"logical_xor", &core::logical_xor}};

void bind_elementwise(nb::module_& module) {
  for (const auto& [name, function] : kUnary) add(module, name, function);
  for (const auto& [name, function] : kBinary) add(module, name, function);
}

void bind_choices(nb::module_& module) {
  module.def(
      "select",
      [](ValueArgument condition, OperandArgument a, OperandArgument b) {
        const Where where = python_line();
        return select(value_of(condition.object, where), operand_of(a.object, where),
                      operand_of(b.object, where));
      },
      nb::arg("condition"), nb::arg("a"), nb::arg("b"), doc_of("select").c_str());
  module.def(
      "clip",
      [](ValueArgument x, nb::handle low, nb::handle high) {
        const Where where = python_line();
        return clip(value_of(x.object, where), numeral_of(low, where), numeral_of(high, where),
                    where);
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"),
      nb::sig("def clip(x: Value | State, low: float, high: float) -> Value"),
      doc_of("clip").c_str());
  module.def(
      "cast",
      [](ValueArgument x, nb::handle dtype) {
        const Where where = python_line();
        return cast(value_of(x.object, where), dtype_of(dtype, where), where);
      },
      nb::arg("x"), nb::arg("dtype"), nb::sig("def cast(x: Value | State, dtype: DType) -> Value"),
      doc_of("cast").c_str());
}

Value literal_of(nb::handle numbers, nb::handle dtype) {
  const Where where = python_line();
  const Given given(numbers, "literal", where);
  const Tensor& found = given.data().tensor();
  DType wanted = found.dtype();
  if (!dtype.is_none()) {
    wanted = dtype_of(dtype, where);
  } else if (!nb::hasattr(numbers, "dtype")) {
    if (is_floating(wanted)) wanted = DType::f32;
    if (is_integer(wanted)) wanted = DType::i32;
  }
  try {
    return literal(Data(Tensor(found.literal().converted(wanted))), where);
  } catch (Error& error) {
    throw error.at(where);
  }
}

void bind_sources(nb::module_& module) {
  module.def(
      "filled",
      [](ShapeArgument shape, nb::handle number, nb::handle dtype) {
        const Where where = python_line();
        return filled(shape_of(shape.object, where), numeral_of(number, where),
                      dtype_of(dtype, where), where);
      },
      nb::arg("shape"), nb::arg("number"), nb::arg("dtype") = DType::f32,
      nb::sig("def filled(shape: int | collections.abc.Sequence[int], number: float, "
              "dtype: DType = ...) -> Value"),
      "A value with every element `number`.");
  module.def(
      "literal", [](nb::handle numbers, nb::handle dtype) { return literal_of(numbers, dtype); },
      nb::arg("numbers"), nb::arg("dtype") = nb::none(),
      nb::sig("def literal(numbers: object, dtype: DType | None = None) -> Value"),
      "Constants in the program: at most 4096 numbers. An array has its own type; Python's floats "
      "are f32 and integers i32, unless `dtype` says otherwise.");
  module.def(
      "iota",
      [](ShapeArgument shape, int axis, nb::handle dtype) {
        const Where where = python_line();
        return iota(shape_of(shape.object, where), axis, dtype_of(dtype, where), where);
      },
      nb::arg("shape"), nb::arg("axis") = 0, nb::arg("dtype") = DType::i32,
      nb::sig("def iota(shape: int | collections.abc.Sequence[int], axis: int = 0, "
              "dtype: DType = ...) -> Value"),
      "0, 1, 2, ... along `axis`.");
}

void bind_losses(nb::module_& module) {
  module.def(
      "cross_entropy",
      [](ValueArgument logits, ValueArgument labels, std::optional<int64_t> ignore) {
        const Where where = python_line();
        const Value x = value_of(logits.object, where), y = value_of(labels.object, where);
        return ignore ? cross_entropy(x, y, {.ignore = *ignore}, where)
                      : cross_entropy(x, y, where);
      },
      nb::arg("logits"), nb::arg("labels"), nb::arg("ignore") = nb::none(),
      "For logits [..., v] and labels [...] of integers: nats per label, [...]. A row with the "
      "label `ignore` has loss 0 and derivative 0.");
  const auto add_pair = [&](const char* name, const char* second, const char* doc,
                            Value (*function)(Value, Value, Where)) {
    module.def(
        name,
        [function](ValueArgument x, ValueArgument y) {
          const Where where = python_line();
          return function(value_of(x.object, where), value_of(y.object, where), where);
        },
        nb::arg("x"), nb::arg(second), doc);
  };
  add_pair("cross_entropy_with_probabilities", "probabilities",
           "For logits and target probabilities [..., v]: nats per row, [...].",
           &cross_entropy_with_probabilities);
  add_pair("sigmoid_cross_entropy", "probabilities",
           "For logits and target probabilities of one shape: nats per element.",
           &sigmoid_cross_entropy);
  add_pair("mse", "y", "The mean of the squared differences over all elements.", &mse);
  module.def(
      "gradients",
      [](ValueArgument loss, nb::handle leaves) {
        const Where where = python_line();
        const Value value = value_of(loss.object, where);
        if (nb::isinstance<Params>(leaves))
          return gradients(value, nb::cast<Params&>(leaves), where);
        std::vector<Leaves::Leaf> found;
        const auto add = [&](nb::handle leaf) {
          if (nb::isinstance<StateHandle>(leaf)) {
            found.emplace_back(State(nb::cast<StateHandle&>(leaf).cell));
          } else {
            found.emplace_back(value_of(leaf, where));
          }
        };
        if (is_value(leaves)) throw input_error(where, "gradients: wanted a sequence; write [x]");
        for (nb::handle leaf : nb::borrow<nb::sequence>(leaves)) add(leaf);
        return gradients(value, Leaves(std::move(found)), where);
      },
      nb::arg("loss"), nb::arg("leaves"),
      nb::sig("def gradients(loss: Value | State, leaves: Params | "
              "collections.abc.Sequence[Value | State]) -> list[Value]"),
      "d loss / d leaf for each leaf: inputs, results of watch(), parameters and states.");
}

void bind_random(nb::module_& module) {
  module.def(
      "random_key", [] { return random_key(python_line()); },
      "A fresh key from the model's seed and step; inside a scan another one in each step.");
  module.def(
      "fold_in",
      [](ValueArgument key, OperandArgument number) {
        const Where where = python_line();
        return fold_in(value_of(key.object, where), operand_of(number.object, where));
      },
      nb::arg("key"), nb::arg("number"), "A new key from a key and a number.");
  const auto add_drawn = [&](const char* name, const char* doc,
                             Value (*function)(Value, const Shape&, Where)) {
    module.def(
        name,
        [function](ValueArgument key, ShapeArgument shape) {
          const Where where = python_line();
          return function(value_of(key.object, where), shape_of(shape.object, where), where);
        },
        nb::arg("key"), nb::arg("shape"), doc);
  };
  add_drawn("uniform", "f32 of the shape, uniform in [0, 1).", &uniform);
  add_drawn("normal", "f32 of the shape, standard normal.", &normal);
  const auto add_pair = [&](const char* name, const char* second, const char* doc,
                            Value (*function)(Value, Value, Where)) {
    module.def(
        name,
        [function](ValueArgument key, ValueArgument x) {
          const Where where = python_line();
          return function(value_of(key.object, where), value_of(x.object, where), where);
        },
        nb::arg("key"), nb::arg(second), doc);
  };
  add_pair("bernoulli", "probability", "True with the given probability, per element.", &bernoulli);
  add_pair(
      "categorical", "logits",
      "For each row of logits [..., v] an index, drawn with the probabilities softmax(logits).",
      &categorical);
  module.def(
      "dropout",
      [](ValueArgument x, std::optional<double> rate, std::optional<double> keep) {
        const Where where = python_line();
        return dropout(value_of(x.object, where), DropoutShare{rate, keep}, where);
      },
      nb::arg("x"), nb::kw_only(), nb::arg("rate") = nb::none(), nb::arg("keep") = nb::none(),
      "In training, drops elements with probability `rate` (or keeps them with probability `keep`) "
      "and scales the others; in a graph that is not for training, x.");
}

}  // namespace

void bind_functions(nb::module_& module) {
  bind_elementwise(module);
  bind_choices(module);
  bind_sources(module);
  bind_losses(module);
  bind_random(module);
}

}  // namespace graphc::core::python
