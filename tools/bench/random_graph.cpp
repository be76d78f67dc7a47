// SPDX-License-Identifier: Apache-2.0
// A random training graph as the subject of a benchmark: how compile times grow with nodes.
#include <array>
#include <random>

#include "codegen/target.h"
#include "ir/text.h"
#include "tools/bench/subject.h"

namespace graphc::core::bench {
namespace {

constexpr std::array kParameters{
    ParameterRecord{"nodes", "1000", "nodes of the graph before differentiation, about"},
    ParameterRecord{"seed", "0", "what is drawn"},
};

/// Writes layers from [steps, rows, columns] to [steps, rows, columns], one after another. All have
/// the same shape, so that only the graph grows.
class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  std::string run(int64_t nodes) {
    while (nodes_ < nodes) layer();
    std::string states, next, weights, gradients;
    for (int i = 0; i < weights_; ++i) {
      states += fmt::format("{}%w{}: f32[8,8]", i == 0 ? "" : ", ", i);
      weights += fmt::format(", %w{}", i);
      gradients += fmt::format("{}%g{}", i == 0 ? "" : ", ", i);
      updates_ += fmt::format("  %s{} = sub(%w{}, mul(%g{}, 0.01))\n", i, i, i);
      next += fmt::format("{}%w{} = %s{}", i == 0 ? "" : ", ", i, i);
    }
    return fmt::format(
        "graph @train(%x: f32[4,3,8], %h: f32[3,8]) state ({}) {{\n{}"
        "  %loss = mean(square(%{})) {{axes = [0, 1, 2]}}\n  {} = grad(%loss{})\n{}  next {}\n"
        "  return %loss\n}}\n",
        states, lines_, last_, gradients, weights, updates_, next);
  }

 private:
  /// Uses the generator directly: distributions differ between standard libraries.
  int draw(int below) { return int(random_() % uint64_t(below)); }

  int weight() {
    // Some layers share the previous weight.
    if (weights_ == 0 || draw(4) > 0) ++weights_;
    return weights_ - 1;
  }

  void layer() {
    const std::string from = last_, made = fmt::format("y{}", layers_++);
    switch (draw(3)) {
      case 0:
        loop(from, made);
        break;
      case 1:
        line(fmt::format("%{}.a = matmul(%{}, %w{})", made, from, weight()));
        line(fmt::format("%{} = {}(%{}.a)", made, kFunctions[size_t(draw(3))], made));
        break;
      default:
        line(fmt::format("%{}.a = {}(%{})", made, kFunctions[size_t(draw(3))], from));
        // A skip connection from some layers before.
        line(fmt::format("%{} = add(mul(%{}.a, 0.5), %{})", made, made, earlier()));
        ++nodes_;
    }
    last_ = made;
  }

  void loop(const std::string& from, const std::string& made) {
    const int w = weight();
    const char* function = kFunctions[size_t(draw(3))];
    lines_ += fmt::format(
        "  %{0}, %{0}.e = scan %{0}.t in %{1} carry %{0}.c = %h with %w{2} {{\n"
        "    %{0}.n = {3}(add(matmul(%{0}.c, %w{2}), %{0}.t))\n"
        "    next %{0}.c = %{0}.n\n    emit %{0}.n\n  }}\n",
        made, from, w, function);
    nodes_ += 8;
  }

  std::string earlier() {
    const int back = 1 + draw(8);
    return layers_ - 1 < back ? "x" : fmt::format("y{}", layers_ - 1 - back);
  }

  void line(const std::string& text) {
    lines_ += "  " + text + "\n";
    ++nodes_;
  }

  static constexpr std::array kFunctions{"tanh", "sigmoid", "sin"};
  std::mt19937_64 random_;
  std::string lines_, updates_, last_ = "x";
  int64_t nodes_ = 0;
  int weights_ = 0, layers_ = 0;
};

}  // namespace

std::span<const ParameterRecord> random_graph_parameters() { return kParameters; }

std::string random_graph_text(int64_t nodes, uint64_t seed) { return Writer(seed).run(nodes); }

std::unique_ptr<Subject> random_graph_subject(const std::vector<std::string>& assignments,
                                              const std::string& target,
                                              const CompileOptions& options) {
  const Parameters parameters(random_graph_name, kParameters, assignments);
  const int64_t nodes = parameters.integer("nodes");
  const auto seed = uint64_t(parameters.integer("seed", 0));
  const GraphReader read = [nodes, seed] {
    return ModelFile{.module = parse(random_graph_text(nodes, seed), random_graph_name)};
  };
  const GivenParameters given{parameters.entries(), fmt::format("{}", fmt::join(assignments, " "))};
  auto subjects = file_subjects(std::string(random_graph_name), read, target, options, {}, given);
  return std::move(subjects[0]);
}

}  // namespace graphc::core::bench
