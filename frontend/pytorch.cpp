// SPDX-License-Identifier: Apache-2.0
#include "frontend/pytorch.h"

#include <algorithm>
#include <set>

#include "frontend/load_report.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {
namespace {

/// `name` in a module of PyTorch.
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

/// What the names of the arrays of a recurrent layer end with.
std::string suffix_of(int layer, bool reverse) {
  return fmt::format("_l{}{}", layer, reverse ? "_reverse" : "");
}

/// a with b added to its first elements.
Literal sum(const Literal& a, const Literal& b, int64_t elements) {
  Literal result = a;
  const std::span<double> to = result.mutable_data<double>();
  for (int64_t i = 0; i < elements; ++i) to[size_t(i)] += numbers(b)[size_t(i)];
  return result;
}

}  // namespace

void PytorchState::add(const Param& parameter, const std::string& array) {
  const auto same = [](const Literals& literals) { return literals; };
  entries_.push_back({{parameter.name()}, {array}, {parameter.shape()}, same, same});
}

void PytorchState::add_transposed(const Param& matrix, const std::string& array) {
  const auto transpose = [](const Literals& literals) { return Literals{transposed(literals[0])}; };
  const Shape& shape = matrix.shape();
  if (shape.rank() != 2) {
    throw input_error({}, "add_transposed: parameter '{}' is no matrix: found {}", matrix.name(),
                      to_string(matrix.type()));
  }
  entries_.push_back({{matrix.name()}, {array}, {{shape[1], shape[0]}}, transpose, transpose});
}

void PytorchState::add(const Linear& linear, const std::string& module) {
  add_transposed(linear.w, in_module(module, "weight"));
  if (linear.b) add(*linear.b, in_module(module, "bias"));
}

void PytorchState::add(const Embedding& embedding, const std::string& module) {
  add(embedding.table, in_module(module, "weight"));
}

void PytorchState::add(const LayerNorm& norm, const std::string& module) {
  add(norm.gain, in_module(module, "weight"));
  add(norm.bias, in_module(module, "bias"));
}

void PytorchState::add_summed(const Param& parameter, const std::vector<std::string>& arrays) {
  if (arrays.empty())
    throw input_error({}, "add_summed: parameter '{}' is a sum of no arrays", parameter.name());
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
  entries_.push_back({{parameter.name()}, arrays, shapes, read, write});
}

void PytorchState::add_tied(const Param& parameter, const std::vector<std::string>& arrays) {
  if (arrays.empty())
    throw input_error({}, "add_tied: parameter '{}' is in no array", parameter.name());
  const auto same = [](const Literals& literals) { return Literals{literals[0]}; };
  const auto copies = [count = arrays.size()](const Literals& parameters) {
    return Literals(count, parameters[0]);
  };
  const std::vector<Shape> shapes(arrays.size(), parameter.shape());
  entries_.push_back({{parameter.name()}, arrays, shapes, same, copies, true});
}

void PytorchState::add_recurrent(const Param& w, const Param& u, const std::optional<Param>& b,
                                 const std::string& module, const std::string& suffix) {
  add_transposed(w, in_module(module, "weight_ih" + suffix));
  add_transposed(u, in_module(module, "weight_hh" + suffix));
  if (!b) return;
  add_summed(*b, {in_module(module, "bias_ih" + suffix), in_module(module, "bias_hh" + suffix)});
}

void PytorchState::add(const Lstm& lstm, const std::string& module, int layer, bool reverse) {
  add_recurrent(lstm.w, lstm.u, lstm.b, module, suffix_of(layer, reverse));
}

void PytorchState::add(const Rnn& rnn, const std::string& module, int layer, bool reverse) {
  add_recurrent(rnn.w, rnn.u, rnn.b, module, suffix_of(layer, reverse));
}

void PytorchState::add(const Gru& gru, const std::string& module, int layer, bool reverse) {
  add_gru(gru, module, suffix_of(layer, reverse));
}

void PytorchState::add_cell(const Lstm& lstm, const std::string& module) {
  add_recurrent(lstm.w, lstm.u, lstm.b, module, "");
}

void PytorchState::add_cell(const Gru& gru, const std::string& module) { add_gru(gru, module, ""); }

void PytorchState::add_cell(const Rnn& rnn, const std::string& module) {
  add_recurrent(rnn.w, rnn.u, rnn.b, module, "");
}

void PytorchState::add_gru(const Gru& gru, const std::string& module, const std::string& suffix) {
  add_transposed(gru.w, in_module(module, "weight_ih" + suffix));
  add_transposed(gru.u, in_module(module, "weight_hh" + suffix));
  if (!gru.b) return;
  // n = tanh(x w_n + b_n + r (h u_n + c)): the recurrent bias of n is c; those of r and z add up.
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
  entries_.push_back(
      {{gru.b->name(), gru.c->name()},
       {in_module(module, "bias_ih" + suffix), in_module(module, "bias_hh" + suffix)},
       {gru.b->shape(), gru.b->shape()},
       read,
       write});
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
                      path, loaded.front(), name, entry.parameters[0]);
  }
  if (entry.tied && !arrays.empty()) missing.clear();
  report.missing.insert(report.missing.end(), missing.begin(), missing.end());
  if (!missing.empty()) return {};
  report.loaded.insert(report.loaded.end(), loaded.begin(), loaded.end());
  return arrays;
}

LoadReport PytorchState::load(Session& session, const std::string& path, Loading loading) const {
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
      read.emplace_back(entry.parameters[i], std::move(values[i]));
  }
  for (const auto& [name, array] : content.arrays) {
    if (!known.contains(name)) report.extra.push_back(name);
  }
  if (loading != Loading::partial) refuse_differences(report, path, "the layers added");
  for (const auto& [name, value] : read)
    session.set_state(name, value.converted(session.state(name).dtype()));
  return report;
}

void PytorchState::save(Session& session, const std::string& path) const {
  Safetensors content;
  for (const Entry& entry : entries_) {
    Literals parameters;
    for (const std::string& name : entry.parameters)
      parameters.push_back(session.state(name).converted(DType::f64));
    const DType dtype = session.state(entry.parameters[0]).dtype();
    const Literals arrays = entry.write(parameters);
    for (size_t i = 0; i < arrays.size(); ++i)
      content.arrays.emplace(entry.arrays[i], arrays[i].converted(dtype));
  }
  // PyTorch's own reader wants to be told whose tensors these are.
  content.metadata = {{"format", "pt"}};
  write_safetensors(path, content);
}

}  // namespace graphc::core
