// SPDX-License-Identifier: Apache-2.0
// Pass: a pure function from graph to graph with a name, and the runner that verifies, times, shows
// and blames. Passes take and give frozen graphs; one that changes nothing may return its argument.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// The options of one use of a pass, as in `unroll{steps=4,full=true}`: names and values, read by
/// kind. Values are kept as written.
class PassOptions {
 public:
  PassOptions() = default;
  /// Parses `a=1,b=true` (what stands between the braces; the value of a name alone is `true`).
  /// Throws ErrorKind::usage.
  explicit PassOptions(std::string_view text);

  void set(std::string name, std::string value);
  /// The option, or `otherwise` when it is not given. Throws ErrorKind::usage when its value is of
  /// another kind.
  int64_t get_int(std::string_view name, int64_t otherwise) const;
  bool get_bool(std::string_view name, bool otherwise) const;
  std::string get_string(std::string_view name, std::string_view otherwise) const;
  /// The parts of a value written `a+b+c`; empty when the option is not given.
  std::vector<std::string> get_list(std::string_view name) const;

  const std::vector<std::pair<std::string, std::string>>& entries() const { return entries_; }
  /// "{a=1,b=true}", or nothing when there are none.
  std::string to_text() const;

 private:
  const std::string* find(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// What a pass has to say about a node: what it did, or what it did not do and why.
struct Remark {
  std::string pass;
  std::string node;  ///< name of the node's first result; empty when it is about the graph
  Where where;
  std::string text;
};

class Remarks {
 public:
  void add(const Node& node, std::string text);
  void add(std::string text);
  const std::vector<Remark>& all() const { return remarks_; }
  /// Remarks added from here on are of this pass.
  void set_pass(std::string_view pass) { pass_ = pass; }

 private:
  std::string pass_;
  std::vector<Remark> remarks_;
};

/// A constant record; `passes.h` lists them.
struct Pass {
  std::string_view name;     ///< as typed: "pack-matmuls"
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
  bool verify = true;  ///< re-check the graph after each pass
  /// Called after each pass with its position in the pipeline, the graph before and the graph
  /// after.
  std::function<void(size_t position, const PassUse& use, const GraphPtr& before,
                     const GraphPtr& after)>
      after_pass;
};

struct PassTime {
  std::string_view pass;
  double seconds = 0;  ///< of the pass alone, without verifying and showing
};

struct PipelineResult {
  GraphPtr graph;
  std::vector<PassTime> times;  ///< one for each entry, in order
  double verify_seconds = 0;
  Remarks remarks;
};

/// Runs the passes in order. When a pass throws, or leaves a graph that the verifier refuses, the
/// error says which pass it was: an internal error carries "pass 'unroll' broke graph 'step'", an
/// error in the user's program stays one. Throws ErrorKind::input for a graph whose regions are too
/// many nodes when they are written out (ir/unfolded.h).
PipelineResult run_pipeline(const GraphPtr& graph, const Pipeline& pipeline,
                            const PipelineSettings& settings = {});

/// An `after_pass` that writes each graph as text to `directory`, as `03-hoist.graph`; the graph
/// before the first pass is `00-input.graph`. Throws ErrorKind::resource when it cannot write.
std::function<void(size_t, const PassUse&, const GraphPtr&, const GraphPtr&)> dump_to(
    std::string directory);

}  // namespace graphc::core
