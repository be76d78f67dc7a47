// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/graph_runner.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipeline.h"
#include "tests/testing/run_directive.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

/// Compiles the graph for the target and runs it once.
Evaluation run_compiled(const Target& target, const Module& module, const Graph& graph,
                        const std::vector<Literal>& inputs,
                        const std::map<std::string, Literal>& states) {
  CompileReport report;
  const auto executable = compile(module.graph(graph.name()), target, {}, report);
  const Signature& signature = executable->signature();
  const std::vector<Tensor> arguments(inputs.begin(), inputs.end());
  std::vector<Tensor> cells, outputs;
  for (const Argument& state : signature.states) {
    const auto found = states.find(state.name);
    if (found == states.end()) throw input_error({}, "state '{}' has no value", state.name);
    cells.push_back(Tensor(found->second).copy());
  }
  for (const Argument& output : signature.outputs) outputs.emplace_back(output.type);
  executable->run(arguments, cells, outputs);
  Evaluation result;
  for (const Tensor& output : outputs) result.results.push_back(output.copy());
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool assigned = std::ranges::any_of(graph.next(), [&](const Next& next) {
      return next.state.name() == signature.states[i].name;
    });
    if (assigned) result.next.emplace(signature.states[i].name, cells[i].copy());
  }
  return result;
}

/// The names that `target=` accepts: every target that can run here.
const std::map<std::string, RunGraph>& targets() {
  static const std::map<std::string, RunGraph> table = [] {
    std::map<std::string, RunGraph> made;
    for (const TestTarget& row : all_test_targets()) {
      const Target* target = row.target;
      if (!target->unavailable().empty()) continue;
      made[std::string(target->name)] = [target](const Module& module, const Graph& graph,
                                                 const std::vector<Literal>& inputs,
                                                 const std::map<std::string, Literal>& states) {
        return run_compiled(*target, module, graph, inputs, states);
      };
    }
    return made;
  }();
  return table;
}

/// The lines of a text, trimmed, without comments and empty lines.
std::vector<std::string> plain_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line.resize(std::min(line.size(), line.find(" #")));
    if (!line.empty() && line[0] == '#') continue;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first != line.npos)
      lines.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  return lines;
}

class Runner {
 public:
  Runner(const GraphTest& test, const std::filesystem::path& folder)
      : test_(test), folder_(folder) {}

  GraphTestResult run() {
    result_.failures = test_.faults;
    if (test_.errors.size() > 1) fail(test_.errors[1].line, "a test stops at its first '# error:'");
    if (!result_.failures.empty()) return std::move(result_);
    try {
      verb();
      for (const Directive& error : test_.errors) {
        if (!errors_checked_) fail(error.line, fmt::format("wanted an error: {}", error.text));
      }
    } catch (const Error& error) {
      thrown(error);
    }
    return std::move(result_);
  }

 private:
  using Become = std::function<GraphPtr(const GraphPtr&)>;

  void fail(int line, const std::string& text) {
    result_.failures.push_back(fmt::format("{}:{}: {}", test_.file, line, text));
  }

  void thrown(const Error& error) {
    if (test_.errors.empty()) return fail(test_.line, fmt::format("found {}", error.what()));
    const Directive& wanted = test_.errors[0];
    // The other lines of the message quote the source, and so the directive itself.
    const std::string message = error.message().substr(0, error.message().find('\n'));
    if (error.where().line != wanted.line || message.find(wanted.text) == std::string::npos)
      fail(wanted.line, fmt::format("wanted the error: {}: found {}", wanted.text, error.what()));
  }

  void verb() {
    if (test_.verb == "verify") {
      allow({"verify"}, false, false);
      verify(parse(test_.text, test_.file));
    } else if (test_.verb == "print") {
      allow({"print"}, true, false);
      print_graphs();
    } else if (test_.verb == "passes") {
      allow({"passes"}, true, false);
      run_passes();
    } else if (test_.verb == "run") {
      allow({"run", "target"}, false, true);
      run_directives();
    } else {
      fail(test_.line,
           fmt::format("unknown verb '{}': there are passes=..., print, run, verify", test_.verb));
    }
  }

  /// Rejects options and expectations that the verb ignores.
  void allow(std::initializer_list<std::string_view> options, bool becomes, bool runs) {
    for (const auto& [name, value] : test_.options) {
      if (std::find(options.begin(), options.end(), name) == options.end())
        fail(test_.line, fmt::format("'{}' has no option '{}'", test_.verb, name));
    }
    for (const TestedGraph& graph : test_.graphs) {
      if (becomes) continue;
      if (!graph.becomes.empty())
        fail(graph.becomes[0].line, fmt::format("'{}' takes no 'becomes'", test_.verb));
      for (const Directive& check : graph.checks)
        fail(check.line, fmt::format("'{}' takes no '# {}:'", test_.verb, check.word));
    }
    for (const Directive& run : test_.runs)
      if (!runs) fail(run.line, fmt::format("'{}' takes no '# run:'", test_.verb));
  }

  void print_graphs() {
    const Module module = parse(test_.text, test_.file);
    bool expects = false;
    for (size_t i = 0; i < test_.graphs.size(); ++i) {
      const TestedGraph& tested = test_.graphs[i];
      expects |= !tested.becomes.empty() || !tested.checks.empty();
      const std::string printed = print(*module.graphs.at(i));
      check(tested, printed);
      for (const Becomes& becomes : tested.becomes) {
        if (plain_lines(expected_text(becomes)) != plain_lines(expected_part(printed)))
          wrong(becomes, printed);
      }
    }
    if (!expects && test_.errors.empty() && plain_lines(print(module)) != plain_lines(test_.text))
      fail(test_.line, "the text is not canonical: it prints as\n" + print(module));
  }

  void run_passes() {
    const Module module = parse(test_.text, test_.file);
    verify(module);
    const Pipeline pipeline = parse_pipeline(test_.options.at("passes"));
    bool expects = !test_.errors.empty();
    for (size_t i = 0; i < test_.graphs.size(); ++i) {
      const TestedGraph& tested = test_.graphs[i];
      expects |= !tested.becomes.empty() || !tested.checks.empty();
      const GraphPtr graph = run_pipeline(module.graphs.at(i), pipeline).graph;
      const std::string printed = print(*graph);
      check(tested, printed);
      for (const Becomes& becomes : tested.becomes) {
        const std::string text = becomes.regions + tested.header + becomes.block;
        if (!same(text, becomes, *graph)) wrong(becomes, printed);
      }
    }
    if (!expects) fail(test_.line, "the test expects nothing");
  }

  /// Whether the expectation equals the graph; one that cannot be parsed does not.
  bool same(const std::string& text, const Becomes& becomes, const Graph& graph) {
    try {
      return equal(*parse_graph(text, fmt::format("{}:{}:becomes", test_.file, becomes.line)),
                   graph);
    } catch (const Error& error) {
      fail(becomes.line, error.what());
      return false;
    }
  }

  void wrong(const Becomes& becomes, const std::string& printed) {
    fail(becomes.line,
         "it becomes\n" + expected_part(printed) + "\nwanted\n" + expected_text(becomes));
    result_.corrections.push_back({becomes.begin, becomes.end, expected_part(printed)});
  }

  static std::string expected_text(const Becomes& becomes) {
    return becomes.regions + becomes.block;
  }

  /// The part of a printed graph that follows `becomes`: its regions and its block.
  static std::string expected_part(const std::string& printed) {
    const size_t graph = printed.starts_with("graph") ? 0 : printed.find("\ngraph") + 1;
    std::string part = printed.substr(0, graph) + printed.substr(printed.find(" {\n", graph) + 1);
    part.pop_back();
    return part;
  }

  void check(const TestedGraph& tested, const std::string& printed) {
    size_t at = 0;
    for (const Directive& check : tested.checks) {
      const size_t found = printed.find(check.text, check.word == "check" ? at : 0);
      if (check.word == "not" && found != printed.npos) {
        fail(check.line, fmt::format("found '{}' in\n{}", check.text, printed));
      } else if (check.word == "check" && found == printed.npos) {
        fail(check.line,
             fmt::format("'{}' is not below the checks before in\n{}", check.text, printed));
      } else if (check.word == "check") {
        at = found + check.text.size();
      }
    }
  }

  void run_directives() {
    const Module module = parse(test_.text, test_.file);
    verify(module);
    const auto option = test_.options.find("target");
    const std::string target = option == test_.options.end() ? "all" : option->second;
    if (target != "all" && !targets().contains(target))
      return fail(test_.line, fmt::format("unknown target '{}'", target));
    if (test_.runs.empty()) return fail(test_.line, "nothing to run: no '# run:'");
    errors_checked_ = true;
    for (const auto& [name, run] : targets()) {
      if (target == "all" || name == target) run_on(name, run, module);
    }
  }

  /// Every target must raise the expected error, which ends the directives on that target only.
  void run_on(const std::string& name, const RunGraph& run, const Module& module) {
    for (const Directive& directive : test_.runs) {
      try {
        const std::string text = run_directive(directive.text, module, run, folder_);
        if (!text.empty()) fail(directive.line, fmt::format("{}: {}", name, text));
      } catch (const Error& error) {
        if (!test_.errors.empty()) return thrown(error);
        fail(directive.line, fmt::format("{}: {}", name, error.what()));
      }
    }
    for (const Directive& error : test_.errors)
      fail(error.line, fmt::format("{}: wanted an error: {}", name, error.text));
  }

  const GraphTest& test_;
  const std::filesystem::path& folder_;
  GraphTestResult result_;
  bool errors_checked_ = false;  ///< every target was checked for the expected error
};

}  // namespace

GraphTestResult run_graph_test(const GraphTest& test, const std::filesystem::path& folder) {
  return Runner(test, folder).run();
}

std::string corrected(std::string content, std::vector<Correction> corrections) {
  std::sort(corrections.begin(), corrections.end(),
            [](const Correction& a, const Correction& b) { return a.begin > b.begin; });
  for (const Correction& c : corrections) content.replace(c.begin, c.end - c.begin, c.text);
  return content;
}

}  // namespace graphc::core::testing
