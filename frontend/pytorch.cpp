// SPDX-License-Identifier: Apache-2.0
#include "frontend/pytorch.h"

#include <algorithm>
#include <set>

#include "frontend/load_report.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {
namespace {

/// `name` in a PyTorch module.
std::string in_module(const std::string& module, const std::string& name) {
  return module.empty() ? name : module + "." + name;
}

std::span<const double> numbers(const Literal& literal) { return literal.data<double>(); }

Literal transposed(const Literal& matrix) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Literal result(Type{DType::f64, {columns, rows}});
  const std::span<double> to = result.mutable_data<double>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      to[size_t(c * rows + r)] = numbers(matrix)[size_t(r * columns + c)];
  }
  return result;
}

/// The suffix of a recurrent layer's array names.
std::string suffix_of(int layer, bool reverse) {
  return fmt::format("_l{}{}", layer, reverse ? "_reverse" : "");
}

/// The names of states, joined.
std::string names_of(const std::vector<std::shared_ptr<StateCell>>& states) {
  std::vector<std::string> names;
  for (const auto& state : states) names.push_back(state->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The model state behind a handle.
std::shared_ptr<StateCell> of_model(const State& state, Where where) {
  if (state.cell()->of_model && is_floating(state.type().dtype)) return state.cell();
  throw input_error(where,
                    "PytorchState: wanted a parameter or a buffer of floating-point numbers: "
                    "'{}' is {}{}",
                    state.name(), to_string(state.type()),
                    state.cell()->of_model ? "" : ", a register of a graph");
}

/// a with b added to its first elements.
Literal sum(const Literal& a, const Literal& b, int64_t elements) {
  Literal result = a;
  const std::span<double> to = result.mutable_data<double>();
  for (int64_t i = 0; i < elements; ++i) to[size_t(i)] += numbers(b)[size_t(i)];
  return result;
}

}  // namespace

void PytorchState::add(Entry entry, Where where) {
  for (const Entry& known : entries_) {
    for (const std::string& array : entry.arrays) {
      if (std::ranges::find(known.arrays, array) == known.arrays.end()) continue;
      throw input_error(where, "array '{}' stands for '{}' already: '{}' needs another", array,
                        names_of(known.states), names_of(entry.states));
    }
    for (const std::shared_ptr<StateCell>& state : entry.states) {
      if (std::ranges::find(known.states, state) == known.states.end()) continue;
      throw input_error(where,
                        "'{}' stands at '{}' already: what PyTorch has under several names is "
                        "added once, by add_tied()",
                        state->name, known.arrays[0]);
    }
  }
  for (auto array = entry.arrays.begin(); array != entry.arrays.end(); ++array) {
    if (std::find(entry.arrays.begin(), array, *array) != array)
      throw input_error(where, "array '{}' is given twice", *array);
  }
  entries_.push_back(std::move(entry));
}

void PytorchState::add(const State& parameter, const std::string& array, Where where) {
  const auto same = [](const Literals& literals) { return literals; };
  add(Entry{{of_model(parameter, where)}, {array}, {parameter.shape()}, same, same}, where);
}

void PytorchState::add_transposed(const State& matrix, const std::string& array, Where where) {
  const auto transpose = [](const Literals& literals) { return Literals{transposed(literals[0])}; };
  const Shape& shape = matrix.shape();
  if (shape.rank() != 2) {
    throw input_error(where, "add_transposed: parameter '{}' is no matrix: found {}", matrix.name(),
                      to_string(matrix.type()));
  }
  add(Entry{{of_model(matrix, where)}, {array}, {{shape[1], shape[0]}}, transpose, transpose},
      where);
}

void PytorchState::add(const Linear& linear, const std::string& module, Where where) {
  add_transposed(linear.w, in_module(module, "weight"), where);
  if (linear.b) add(*linear.b, in_module(module, "bias"), where);
}

void PytorchState::add(const Embedding& embedding, const std::string& module, Where where) {
  add(embedding.table, in_module(module, "weight"), where);
}

void PytorchState::add(const LayerNorm& norm, const std::string& module, Where where) {
  add(norm.gain, in_module(module, "weight"), where);
  add(norm.bias, in_module(module, "bias"), where);
}

void PytorchState::add_summed(const State& parameter, const std::vector<std::string>& arrays,
                              Where where) {
  if (arrays.empty())
    throw input_error(where, "add_summed: parameter '{}' is a sum of no arrays", parameter.name());
  const auto read = [](const Literals& literals) {
    Literal total = literals[0];
    for (size_t i = 1; i < literals.size(); ++i) total = sum(total, literals[i], total.elements());
    return Literals{total};
  };
  const auto write = [count = arrays.size()](const Literals& parameters) {
    Literals literals(count, Literal(parameters[0].type()));
    literals[0] = parameters[0];
    return literals;
  };
  const std::vector<Shape> shapes(arrays.size(), parameter.shape());
  add(Entry{{of_model(parameter, where)}, arrays, shapes, read, write}, where);
}

void PytorchState::add_tied(const State& parameter, const std::vector<std::string>& arrays,
                            Where where) {
  if (arrays.empty())
    throw input_error(where, "add_tied: parameter '{}' is in no array", parameter.name());
  const auto same = [](const Literals& literals) { return Literals{literals[0]}; };
  const auto copies = [count = arrays.size()](const Literals& parameters) {
    return Literals(count, parameters[0]);
  };
  const std::vector<Shape> shapes(arrays.size(), parameter.shape());
  add(Entry{{of_model(parameter, where)}, arrays, shapes, same, copies, true}, where);
}

void PytorchState::add_recurrent(const Param& w, const Param& u, const std::optional<Param>& b,
                                 const std::string& module, const std::string& suffix,
                                 Where where) {
  add_transposed(w, in_module(module, "weight_ih" + suffix), where);
  add_transposed(u, in_module(module, "weight_hh" + suffix), where);
  if (!b) return;
  add_summed(*b, {in_module(module, "bias_ih" + suffix), in_module(module, "bias_hh" + suffix)},
             where);
}

void PytorchState::add(const Lstm& lstm, const std::string& module, int layer, bool reverse,
                       Where where) {
  add_recurrent(lstm.w, lstm.u, lstm.b, module, suffix_of(layer, reverse), where);
}

void PytorchState::add(const Rnn& rnn, const std::string& module, int layer, bool reverse,
                       Where where) {
  add_recurrent(rnn.w, rnn.u, rnn.b, module, suffix_of(layer, reverse), where);
}

void PytorchState::add(const Gru& gru, const std::string& module, int layer, bool reverse,
                       Where where) {
  add_gru(gru, module, suffix_of(layer, reverse), where);
}

void PytorchState::add_cell(const Lstm& lstm, const std::string& module, Where where) {
  add_recurrent(lstm.w, lstm.u, lstm.b, module, "", where);
}

void PytorchState::add_cell(const Gru& gru, const std::string& module, Where where) {
  add_gru(gru, module, "", where);
}

void PytorchState::add_cell(const Rnn& rnn, const std::string& module, Where where) {
  add_recurrent(rnn.w, rnn.u, rnn.b, module, "", where);
}

void PytorchState::add_gru(const Gru& gru, const std::string& module, const std::string& suffix,
                           Where where) {
  add_transposed(gru.w, in_module(module, "weight_ih" + suffix), where);
  add_transposed(gru.u, in_module(module, "weight_hh" + suffix), where);
  if (!gru.b) return;
  // n = tanh(x w_n + b_n + r (h u_n + c)): the recurrent bias of n is c; the two biases of r and z
  // are summed.
  const int64_t hidden = gru.c->shape()[0];
  const auto read = [hidden](const Literals& arrays) {
    const std::span<const double> recurrent = numbers(arrays[1]);
    return Literals{sum(arrays[0], arrays[1], 2 * hidden),
                    Literal(recurrent.subspan(size_t(2 * hidden)), Shape{hidden})};
  };
  const auto write = [hidden](const Literals& parameters) {
    Literal recurrent(parameters[0].type());
    std::ranges::copy(numbers(parameters[1]),
                      recurrent.mutable_data<double>().begin() + 2 * hidden);
    return Literals{parameters[0], recurrent};
  };
  add(Entry{{gru.b->cell(), gru.c->cell()},
            {in_module(module, "bias_ih" + suffix), in_module(module, "bias_hh" + suffix)},
            {gru.b->shape(), gru.b->shape()},
            read,
            write},
      where);
}

PytorchState::Literals PytorchState::arrays_of(const Entry& entry, const Safetensors& content,
                                               const std::string& path, LoadReport& report) const {
  Literals arrays;
  std::vector<std::string> loaded, missing;
  for (size_t i = 0; i < entry.arrays.size(); ++i) {
    const std::string& name = entry.arrays[i];
    const auto found = content.arrays.find(name);
    if (found == content.arrays.end()) {
      missing.push_back(name);
      continue;
    }
    const Type& type = found->second.type();
    if (type.shape != entry.shapes[i] || !is_floating(type.dtype))
      throw input_error({}, "{}: array '{}' is {}: wanted {}", path, name, to_string(type),
                        to_string(Type{DType::f32, entry.shapes[i]}));
    arrays.push_back(found->second.converted(DType::f64));
    loaded.push_back(name);
    if (!entry.tied || arrays.back() == arrays.front()) continue;
    throw input_error({},
                      "{}: arrays '{}' and '{}' are one parameter ('{}') and differ: what is tied "
                      "has the same numbers",
                      path, loaded.front(), name, entry.states[0]->name);
  }
  if (entry.tied && !arrays.empty()) missing.clear();
  report.missing.insert(report.missing.end(), missing.begin(), missing.end());
  if (!missing.empty()) return {};
  report.loaded.insert(report.loaded.end(), loaded.begin(), loaded.end());
  return arrays;
}

void PytorchState::check_states(Session& session, Loading whole, std::string_view what) const {
  const Model& model = session.model();
  std::set<const StateCell*> known;
  for (const Entry& entry : entries_) {
    for (const std::shared_ptr<StateCell>& state : entry.states) {
      known.insert(state.get());
      if (state->model == model.id()) continue;
      throw input_error({}, "'{}', which stands for '{}', is of model '{}': the session is of '{}'",
                        state->name, entry.arrays[0], state->model_name, model.name());
    }
  }
  if (whole == Loading::partial) return;
  std::vector<std::string> forgotten;
  for (const std::shared_ptr<StateCell>& state : model.states()) {
    const bool kept = !state->transient && is_floating(state->type.dtype);
    if (kept && !known.contains(state.get())) forgotten.push_back(state->name);
  }
  if (forgotten.empty()) return;
  throw input_error(
      {},
      "{}: model '{}' has {} parameter{} or buffer{} that {} not added: {}: add them, "
      "or say Loading::partial",
      what, model.name(), forgotten.size(), forgotten.size() == 1 ? "" : "s",
      forgotten.size() == 1 ? "" : "s", forgotten.size() == 1 ? "was" : "were",
      fmt::join(forgotten, ", "));
}

LoadReport PytorchState::load(Session& session, const std::string& path, Loading loading) const {
  check_states(session, loading, path);
  const Safetensors content = read_safetensors(path);
  LoadReport report;
  std::set<std::string> known;
  std::vector<std::pair<std::string, Literal>> read;
  for (const Entry& entry : entries_) {
    known.insert(entry.arrays.begin(), entry.arrays.end());
    const Literals arrays = arrays_of(entry, content, path, report);
    if (arrays.empty()) continue;
    Literals values = entry.read(arrays);
    for (size_t i = 0; i < values.size(); ++i)
      read.emplace_back(entry.states[i]->name, std::move(values[i]));
  }
  for (const auto& [name, array] : content.arrays) {
    if (!known.contains(name)) report.extra.push_back(name);
  }
  if (loading != Loading::partial) refuse_differences(report, path, "the layers added");
  for (const auto& [name, value] : read)
    session.set_state(name, value.converted(session.state(name).dtype()));
  return report;
}

void PytorchState::save(Session& session, const std::string& path, Loading whole) const {
  check_states(session, whole, path);
  Safetensors content;
  for (const Entry& entry : entries_) {
    Literals parameters;
    for (const std::shared_ptr<StateCell>& state : entry.states)
      parameters.push_back(session.state(state->name).converted(DType::f64));
    const DType dtype = session.state(entry.states[0]->name).dtype();
    const Literals arrays = entry.write(parameters);
    for (size_t i = 0; i < arrays.size(); ++i)
      content.arrays.emplace(entry.arrays[i], arrays[i].converted(dtype));
  }
  // PyTorch's reader expects this key.
  content.metadata = {{"format", "pt"}};
  write_safetensors(path, content);
}

}  // namespace graphc::core
