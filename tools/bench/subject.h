// SPDX-License-Identifier: Apache-2.0
// What is measured: a model with its parameters, or a graph of a file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/target.h"
#include "frontend/model_file.h"
#include "models/parameters.h"
#include "models/program.h"
#include "tools/commands/arguments.h"

namespace graphc::core::bench {

/// The two kinds of call: a training step, update included, and the graph without gradient.
enum class Call { train, forward };

/// One row: what is compiled, and how.
struct Configuration {
  std::string workload;                                         ///< a model or a file
  std::vector<std::pair<std::string, std::string>> parameters;  ///< all of them, defaults included
  std::string given;  ///< those of the command line: "hidden=512 steps=30"
  std::string target;
  CompileOptions compile;
};

class Subject {
 public:
  explicit Subject(Configuration configuration) : configuration_(std::move(configuration)) {}
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const Configuration& configuration() const { return configuration_; }
  virtual bool has(Call call) const = 0;
  /// The nominal work of a call; absent when nobody counted it.
  virtual std::optional<Work> work() const = 0;
  /// Random inputs, others for another seed. Needs nothing compiled.
  virtual std::vector<Tensor> random_inputs(Call call, uint64_t seed) const = 0;

  /// Drops all that was made, so that the next compile() begins with an empty program.
  virtual void forget() = 0;
  /// Makes what is missing up to an executable for inputs like these. The report's phases add up to
  /// the time it takes.
  virtual CompileReport compile(Call call, const std::vector<Tensor>& inputs) = 0;
  /// One call, updates of states included; compiled before.
  virtual std::vector<Tensor> run(Call call, const std::vector<Tensor>& inputs) = 0;
  /// What the kernels of a call took, one of several; compiled before. Throws ErrorKind::usage
  /// where the target does not know.
  virtual std::vector<KernelTime> profile(Call call, const std::vector<Tensor>& inputs) = 0;
  /// Executable::enqueue_s() of the last call.
  virtual std::optional<double> enqueue_s() const = 0;

 private:
  Configuration configuration_;
};

/// A model with single-valued parameters. Throws ErrorKind::usage for an unknown model, parameter,
/// target, or value.
std::unique_ptr<Subject> model_subject(const std::string& model,
                                       const std::vector<std::string>& assignments,
                                       const std::string& target, const CompileOptions& options);

/// Makes graphs, perhaps with values of their states, of the content of a file, again at every
/// call.
using GraphReader = std::function<ModelFile()>;

/// The parameters of what is generated, in place of a graph's name.
struct GivenParameters {
  std::vector<std::pair<std::string, std::string>> all;
  std::string text;
};

/// One subject for each graph of a file, called `name`. A graph that assigns states or takes
/// gradients is a training step, any other a forward call. A call counts as one example. Throws
/// ErrorKind::usage when an argument is given that no graph has.
std::vector<std::unique_ptr<Subject>> file_subjects(const std::string& name,
                                                    const GraphReader& read,
                                                    const std::string& target,
                                                    const CompileOptions& options,
                                                    commands::ArgumentOptions arguments = {},
                                                    const GivenParameters& given = {});

/// A training graph of about so many nodes, for the compiler's times: layers drawn by the seed, a
/// third of them loops, their loss, and a step along the gradient for each weight.
inline constexpr std::string_view random_graph_name = "random-graph";
/// Its parameters: nodes, and seed.
std::span<const ParameterRecord> random_graph_parameters();
/// The graph as text; the same for the same numbers. Throws nothing.
std::string random_graph_text(int64_t nodes, uint64_t seed);
/// The graph as a subject. Throws ErrorKind::usage for an unknown parameter, target, or value.
std::unique_ptr<Subject> random_graph_subject(const std::vector<std::string>& assignments,
                                              const std::string& target,
                                              const CompileOptions& options);

}  // namespace graphc::core::bench
