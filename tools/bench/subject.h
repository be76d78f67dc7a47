// SPDX-License-Identifier: Apache-2.0
// The subject of a benchmark: a model with its parameters, or a graph in a file.
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
#include "runtime/ranks/ranks.h"
#include "tools/commands/arguments.h"

namespace graphc::core::bench {

/// The kinds of call: a training step with its update, and the graph without gradients.
enum class Call { train, forward };

/// Where a call's inputs and results are: in the host's memory; there, with the inputs of the next
/// call brought to the GPU while it works on this one; or in the memory of the GPU.
enum class Io : uint8_t { host, ahead, device };
/// As in --io. Throws ErrorKind::usage for another word.
Io io_named(const std::string& name);
std::string_view name_of(Io io);

/// One row: what is compiled, and how.
struct Configuration {
  std::string workload;                                         ///< a model or a file
  std::vector<std::pair<std::string, std::string>> parameters;  ///< all, including defaults
  std::string given;  ///< those on the command line: "hidden=512 steps=30"
  std::string target;
  CompileOptions compile;
  std::shared_ptr<Ranks> ranks = nullptr;  ///< of a model; null: one rank
  Io io = Io::host;
};

class Subject {
 public:
  explicit Subject(Configuration configuration) : configuration_(std::move(configuration)) {}
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const Configuration& configuration() const { return configuration_; }
  void set_io(Io io) { configuration_.io = io; }
  virtual bool has(Call call) const = 0;
  /// The nominal work of a call; empty if it is not counted.
  virtual std::optional<Work> work() const = 0;
  /// Random inputs, determined by the seed. Nothing needs to be compiled.
  virtual std::vector<Tensor> random_inputs(Call call, uint64_t seed) const = 0;

  /// Discards everything, so that the next compile() starts from scratch.
  virtual void forget() = 0;
  /// Does everything that is missing for an executable with such inputs. The phases in the report
  /// add up to the time it takes.
  virtual CompileReport compile(Call call, const std::vector<AnyTensor>& inputs) = 0;
  /// One call to its end, with updates of states; compiled before. With Io::ahead `next` are the
  /// inputs of the next call, if there is one, and are brought beside this one.
  virtual std::vector<AnyTensor> run(Call call, const std::vector<AnyTensor>& inputs,
                                     const std::vector<AnyTensor>* next = nullptr) = 0;
  /// Profiles one call, from the host's memory; compiled before. Throws ErrorKind::usage if the
  /// target cannot profile.
  virtual std::vector<KernelTime> profile(Call call, const std::vector<Tensor>& inputs) = 0;
  /// Executable::enqueue_s() of the last call.
  virtual std::optional<double> enqueue_s() const = 0;

 private:
  Configuration configuration_;
};

/// The tensors, all of which are in the host's memory.
std::vector<Tensor> on_host(const std::vector<AnyTensor>& tensors);

/// A model with single-valued parameters. Throws ErrorKind::usage for an unknown model, parameter,
/// target or value.
std::unique_ptr<Subject> model_subject(const std::string& model,
                                       const std::vector<std::string>& assignments,
                                       const std::string& target, const CompileOptions& options,
                                       std::shared_ptr<Ranks> ranks = nullptr);

/// Rebuilds graphs from the content of a file at every call, possibly with values of their states.
using GraphReader = std::function<ModelFile()>;

/// The parameters of a generated graph, shown instead of a graph's name.
struct GivenParameters {
  std::vector<std::pair<std::string, std::string>> all;
  std::string text;
};

/// One subject per graph of a file called `name`. A graph that assigns states or takes gradients is
/// a training step, any other a forward call. A call counts as one example. Throws ErrorKind::usage
/// for a given argument that no graph has.
std::vector<std::unique_ptr<Subject>> file_subjects(const std::string& name,
                                                    const GraphReader& read,
                                                    const std::string& target,
                                                    const CompileOptions& options,
                                                    commands::ArgumentOptions arguments = {},
                                                    const GivenParameters& given = {});

/// A random training graph with about this many nodes, for measuring compile times: layers drawn
/// from the seed, a third of them loops, their loss, and a gradient step for each weight.
inline constexpr std::string_view random_graph_name = "random-graph";
/// Its parameters: nodes, and seed.
std::span<const ParameterRecord> random_graph_parameters();
/// The graph as text, determined by the numbers. Throws nothing.
std::string random_graph_text(int64_t nodes, uint64_t seed);
/// The graph as a subject. Throws ErrorKind::usage for an unknown parameter, target or value.
std::unique_ptr<Subject> random_graph_subject(const std::vector<std::string>& assignments,
                                              const std::string& target,
                                              const CompileOptions& options);

}  // namespace graphc::core::bench
