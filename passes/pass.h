// SPDX-License-Identifier: Apache-2.0
// Pass: a pure function from graph to graph with a name, and the runner that verifies, times and
// dumps. Passes take and return frozen graphs; a pass that changes nothing may return its argument.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// The options of one use of a pass, such as `unroll{steps=4,full=true}`: names and values, with
/// typed access. Values are kept as written.
class PassOptions {
 public:
  PassOptions() = default;
  /// Parses `a=1,b=true`, the text between the braces; a name without a value means `true`. Throws
  /// ErrorKind::usage.
  explicit PassOptions(std::string_view text);

  void set(std::string name, std::string value);
  /// The option, or `otherwise` if it is absent. Throws ErrorKind::usage if its value is of another
  /// kind.
  int64_t get_int(std::string_view name, int64_t otherwise) const;
  bool get_bool(std::string_view name, bool otherwise) const;
  std::string get_string(std::string_view name, std::string_view otherwise) const;
  /// The parts of a value written `a+b+c`; empty if the option is absent.
  std::vector<std::string> get_list(std::string_view name) const;

  const std::vector<std::pair<std::string, std::string>>& entries() const { return entries_; }
  /// "{a=1,b=true}", or empty if there are no options.
  std::string to_text() const;

 private:
  const std::string* find(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// A remark of a pass about a node: what it did, or what it did not do and why.
struct Remark {
  std::string pass;
  std::string node;  ///< name of the node's first result; empty for a remark about the graph
  Where where;
  std::string text;
  /// Whether it is said unasked: what was asked for has no effect, or what was not asked for is
  /// done.
  bool is_notice = false;
};

/// What passes have to say, each thing once, also if a pass runs several times.
class Remarks {
 public:
  void add(const Node& node, std::string text);
  void add(std::string text);
  /// Adds a notice (Remark::is_notice).
  void notify(const Node& node, std::string text);
  const std::vector<Remark>& all() const { return remarks_; }
  /// Further remarks belong to this pass.
  void set_pass(std::string_view pass) { pass_ = pass; }

 private:
  void put(Remark remark);

  std::string pass_;
  std::vector<Remark> remarks_;
  std::unordered_set<std::string> said_;  ///< what they say, of which pass and node
};

/// A constant record; `passes.h` lists them.
struct Pass {
  std::string_view name;     ///< as written by users: "pack-matmuls"
  std::string_view summary;  ///< one line
  /// The names of its options, separated by commas; COMPOSITE stands for the name of any composite.
  std::string_view options;
  GraphPtr (*run)(const GraphPtr& graph, const PassOptions& options, Remarks& remarks);
};

/// One entry of a pipeline.
struct PassUse {
  const Pass* pass = nullptr;
  PassOptions options;
};
using Pipeline = std::vector<PassUse>;

struct PipelineSettings {
  bool verify = true;  ///< verify the graph after each pass
  /// Called after each pass with its position in the pipeline, the graph before and the graph
  /// after.
  std::function<void(size_t position, const PassUse& use, const GraphPtr& before,
                     const GraphPtr& after)>
      after_pass;
};

struct PassTime {
  std::string_view pass;
  double seconds = 0;  ///< of the pass alone, without verification and dumps
};

struct PipelineResult {
  GraphPtr graph;
  std::vector<PassTime> times;  ///< one per entry, in order
  double verify_seconds = 0;
  Remarks remarks;
};

/// Runs the passes in order. If a pass throws or leaves an invalid graph, the error names the pass:
/// an internal error says "pass 'unroll' broke graph 'step'"; an error in the user's program stays
/// one. Throws ErrorKind::input for a graph with too many nodes after expansion of its regions
/// (ir/unfolded.h).
PipelineResult run_pipeline(const GraphPtr& graph, const Pipeline& pipeline,
                            const PipelineSettings& settings = {});

/// An `after_pass` that writes each graph as text to `directory`, e.g. `03-hoist.graph`; the graph
/// before the first pass is `00-input.graph`. Throws ErrorKind::resource if it cannot write.
std::function<void(size_t, const PassUse&, const GraphPtr&, const GraphPtr&)> dump_to(
    std::string directory);

}  // namespace graphc::core
