// SPDX-License-Identifier: Apache-2.0
// What is measured: a model with its parameters, or a graph of a file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/target.h"
#include "models/program.h"

namespace graphc::bench {

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

 private:
  Configuration configuration_;
};

/// A model with single-valued parameters. Throws ErrorKind::usage for an unknown model, parameter,
/// target, or value.
std::unique_ptr<Subject> model_subject(const std::string& model,
                                       const std::vector<std::string>& assignments,
                                       const std::string& target, const CompileOptions& options);

/// Makes a module of the content of a file, again at every call.
using GraphReader = std::function<Module()>;

/// One subject for each graph of a file, called `name`. A graph that assigns states or takes
/// gradients is a training step, any other a forward call. A call counts as one example.
std::vector<std::unique_ptr<Subject>> file_subjects(const std::string& name,
                                                    const GraphReader& read,
                                                    const std::string& target,
                                                    const CompileOptions& options);

}  // namespace graphc::bench
