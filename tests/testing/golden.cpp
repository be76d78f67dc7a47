// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/golden.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ir/text.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

constexpr const char* kLstmCarries = "%h = %h0, %c = %c0";
constexpr const char* kLstmStep = R"(
    %i, %f, %g, %o = split add(add(matmul(%x.t, %w), matmul(%h, %u)), %b) {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(%c.1)))";

constexpr GoldenCell kGoldenCells[] = {
    {"lstm", kLstmCarries, "%w, %u, %b", kLstmStep},
    {"lstm_one_step", kLstmCarries, "%w, %u, %b", kLstmStep},
    {"peephole", kLstmCarries, "%w, %u, %b, %p_i, %p_f, %p_o", R"(
    %i, %f, %g, %o = split add(add(matmul(%x.t, %w), matmul(%h, %u)), %b) {axis = 1, parts = 4}
    %i.s = sigmoid(add(%i, mul(%p_i, %c)))
    %f.s = sigmoid(add(%f, mul(%p_f, %c)))
    %c.1 = add(mul(%f.s, %c), mul(%i.s, tanh(%g)))
    %h.1 = mul(sigmoid(add(%o, mul(%p_o, %c.1))), tanh(%c.1)))"},
    {"layer_norm_lstm", kLstmCarries, "%w, %u, %b, %g1, %g2, %g3, %b3", R"(
    %xw = layer_norm(reshape(matmul(%x.t, %w)) {shape = [3,4,5]})
    %hu = layer_norm(reshape(matmul(%h, %u)) {shape = [3,4,5]})
    %xg = mul(reshape(%xw) {shape = [3,20]}, %g1)
    %hg = mul(reshape(%hu) {shape = [3,20]}, %g2)
    %i, %f, %g, %o = split add(add(%xg, %hg), %b) {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(add(mul(layer_norm(%c.1), %g3), %b3))))"},
    {"projected", kLstmCarries, "%w, %u, %b, %p", R"(
    %i, %f, %g, %o = split add(add(matmul(%x.t, %w), matmul(%h, %u)), %b) {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = matmul(mul(sigmoid(%o), tanh(%c.1)), %p))"},
    {"gru", "%h = %h0", "%w, %u, %b, %c", R"(
    %xr, %xz, %xn = split add(matmul(%x.t, %w), %b) {axis = 1, parts = 3}
    %hr, %hz, %hn = split matmul(%h, %u) {axis = 1, parts = 3}
    %r = sigmoid(add(%xr, %hr))
    %z = sigmoid(add(%xz, %hz))
    %n = tanh(add(%xn, mul(%r, add(%hn, %c))))
    %h.1 = add(mul(sub(1., %z), %n), mul(%z, %h)))"},
    {"gru_reset_before", "%h = %h0", "%w, %u, %b", R"(
    %xr, %xz, %xn = split add(matmul(%x.t, %w), %b) {axis = 1, parts = 3}
    %ur, %uz, %un = split %u {axis = 1, parts = 3}
    %r = sigmoid(add(%xr, matmul(%h, %ur)))
    %z = sigmoid(add(%xz, matmul(%h, %uz)))
    %n = tanh(add(%xn, matmul(mul(%r, %h), %un)))
    %h.1 = add(mul(sub(1., %z), %n), mul(%z, %h)))"},
    {"rnn", "%h = %h0", "%w, %u, %b", R"(
    %h.1 = tanh(add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)))"},
};

}  // namespace

std::span<const GoldenCell> golden_cells() { return kGoldenCells; }

std::vector<double> golden_losses(const std::string& name) {
  const std::string text = read_file(source_path("tests/golden/" + name + ".json"));
  return nlohmann::json::parse(text).at("losses").get<std::vector<double>>();
}

std::map<std::string, Literal> golden_arrays(const std::string& name) {
  return read_safetensors(source_path("tests/golden/" + name + ".safetensors")).arrays;
}

std::vector<std::string> golden_arguments(const std::map<std::string, Literal>& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) {
    if (arrays.contains("grad." + name)) names.push_back(name);
  }
  return names;
}

GraphPtr golden_layer(const GoldenCell& cell, Derivatives derivatives) {
  const auto arrays = golden_arrays(cell.file);
  const std::vector<std::string> names = golden_arguments(arrays);
  std::string parameters, leaves, gradients;
  for (const std::string& name : names) {
    parameters += fmt::format("%{}: f32[{}], ", name, to_string(arrays.at(name).shape()));
    leaves += ", %" + name;
    gradients += (gradients.empty() ? "%grad." : ", %grad.") + name;
  }
  const bool lstm = arrays.contains("c_end");
  std::string text = fmt::format("graph @{}({}%r: f32[{}]) {{\n", cell.file, parameters,
                                 to_string(arrays.at("r").shape()));
  text += fmt::format("%y, %h.end{} = scan %x.t in %x carry {} with {} {{{}\n",
                      lstm ? ", %c.end" : "", cell.carries, cell.captures, cell.step);
  text += fmt::format("next %h = %h.1{}\nemit %h.1\n}}\n", lstm ? ", %c = %c.1" : "");
  text += "%loss = sum(mul(%y, %r)) {axes = [0,1,2]}\n";
  const bool with = derivatives == Derivatives::with;
  if (with) text += fmt::format("{} = grad %loss{}\n", gradients, leaves);
  text += fmt::format("return %y, %loss, %h.end{}{}\n}}\n", lstm ? ", %c.end" : "",
                      with ? ", " + gradients : "");
  return parse_graph(text, cell.file);
}

std::vector<Literal> golden_inputs(const GoldenCell& cell, DType dtype) {
  const auto arrays = golden_arrays(cell.file);
  std::vector<std::string> names = golden_arguments(arrays);
  names.push_back("r");
  std::vector<Literal> inputs;
  for (const std::string& name : names) inputs.push_back(arrays.at(name).converted(dtype));
  return inputs;
}

std::vector<std::string> golden_results(const GoldenCell& cell, Derivatives derivatives) {
  const auto arrays = golden_arrays(cell.file);
  std::vector<std::string> names{"y", "loss", "h_end"};
  if (arrays.contains("c_end")) names.push_back("c_end");
  if (derivatives == Derivatives::with) {
    for (const std::string& name : golden_arguments(arrays)) names.push_back("grad." + name);
  }
  return names;
}

}  // namespace graphc::core::testing
