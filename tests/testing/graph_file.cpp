// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/graph_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "ir/lexer.h"
#include "ir/text.h"
#include "tests/testing/source_tree.h"
#include "tests/testing/trimmed.h"

namespace graphc::core::testing {
namespace {

/// The start of each line of the file; the last entry is the end.
std::vector<size_t> line_starts(std::string_view content) {
  std::vector<size_t> starts{0};
  for (size_t i = 0; i < content.size(); ++i) {
    if (content[i] == '\n') starts.push_back(i + 1);
  }
  if (starts.back() != content.size()) starts.push_back(content.size());
  return starts;
}

/// The text after the first `#` that is not inside a string.
std::string_view comment_of(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == '#' && !quoted) {
      return line.substr(i + 1);
    }
  }
  return {};
}

/// Reads the lines [first, last) of the file, counted from 0, as one test.
class TestReader {
 public:
  TestReader(std::string_view content, const std::vector<size_t>& starts, const std::string& file)
      : content_(content), starts_(starts) {
    test_.file = file;
  }

  GraphTest read(size_t first, size_t last) {
    size_t line = first;
    while (line < last && (trimmed(text_of(line)).empty() || trimmed(text_of(line))[0] == '#'))
      ++line;
    test_.line = int(line) + 1;
    if (line == last) {
      fault(line, "a test without a verb");
      return std::move(test_);
    }
    verb(text_of(line));
    // Leading empty lines preserve line numbers.
    const size_t begin = starts_[line + 1], end = starts_[last];
    test_.text = std::string(line + 1, '\n') + std::string(content_.substr(begin, end - begin));
    offset_ = begin - (line + 1);
    structure();
    for (size_t i = first; i < last; ++i) directive(i);
    return std::move(test_);
  }

 private:
  std::string_view text_of(size_t line) const {
    return content_.substr(starts_[line], starts_[line + 1] - starts_[line]);
  }

  void fault(size_t line, const std::string& text) {
    test_.faults.push_back(fmt::format("{}:{}: {}", test_.file, line + 1, text));
  }

  void verb(std::string_view text) {
    std::istringstream words{std::string(text)};
    std::string word;
    words >> word;
    if (word != "test")
      fault(size_t(test_.line) - 1, "the first line of a test begins with 'test'");
    for (int i = 0; words >> word && word[0] != '#'; ++i) {
      const size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (i == 0) test_.verb = name;
      if (equals != word.npos) {
        test_.options[name] = word.substr(equals + 1);
      } else if (i > 0) {
        fault(size_t(test_.line) - 1, fmt::format("'{}' is not an option with a value", word));
      }
    }
  }

  /// Finds graphs and `becomes`, and blanks the latter out of the module's text.
  void structure() {
    std::vector<Token> tokens;
    try {
      tokens = tokens_of(SourceText(test_.text, test_.file));
    } catch (const Error&) {
      return;  // the verb will report the same error
    }
    for (size_t at = 0; at < tokens.size();) {
      if (tokens[at].is("graph")) {
        at = graph(tokens, at);
      } else if (tokens[at].is("becomes")) {
        at = becomes(tokens, at);
      } else if (tokens[at].is('{')) {
        at = behind_block(tokens, at);
      } else {
        ++at;
      }
    }
    std::reverse(blanked_.begin(), blanked_.end());
    for (const auto& [begin, end] : blanked_) {
      for (size_t i = begin; i < end; ++i)
        if (test_.text[i] != '\n') test_.text[i] = ' ';
    }
  }

  size_t position(const Token& token) const {
    const size_t in_file = starts_[size_t(token.line) - 1] + size_t(token.column) - 1;
    return std::min(in_file - offset_, test_.text.size());
  }

  static size_t behind_block(const std::vector<Token>& tokens, size_t at) {
    int depth = 0;
    for (; at < tokens.size() && tokens[at].kind != TokenKind::end; ++at) {
      depth += tokens[at].is('{') - tokens[at].is('}');
      if (depth == 0) return at + 1;
    }
    return at;
  }

  static size_t next_brace(const std::vector<Token>& tokens, size_t at) {
    while (at < tokens.size() && tokens[at].kind != TokenKind::end && !tokens[at].is('{')) ++at;
    return at;
  }

  size_t graph(const std::vector<Token>& tokens, size_t at) {
    const size_t brace = next_brace(tokens, at);
    TestedGraph graph;
    graph.line = tokens[at].line;
    if (tokens[at + 1].kind == TokenKind::global) graph.name = tokens[at + 1].text;
    const size_t begin = position(tokens[at]);
    if (brace < tokens.size())
      graph.header = test_.text.substr(begin, position(tokens[brace]) - begin);
    test_.graphs.push_back(std::move(graph));
    return brace < tokens.size() ? behind_block(tokens, brace) : brace;
  }

  size_t becomes(const std::vector<Token>& tokens, size_t at) {
    const size_t word = position(tokens[at]), first = at + 1;
    size_t block = first;
    while (block < tokens.size() && tokens[block].is("region"))
      block = behind_block(tokens, next_brace(tokens, block));
    const size_t after = block < tokens.size() ? behind_block(tokens, block) : block;
    if (block >= tokens.size() || !tokens[block].is('{') || !tokens[after - 1].is('}')) {
      fault(size_t(tokens[at].line) - 1, "'becomes' without a block");
      return tokens.size();
    }
    if (test_.graphs.empty()) {
      fault(size_t(tokens[at].line) - 1, "'becomes' before any graph");
      return after;
    }
    Becomes becomes;
    becomes.line = tokens[at].line;
    const size_t begin = position(tokens[first]), middle = position(tokens[block]),
                 end = position(tokens[after - 1]) + 1;
    becomes.regions = test_.text.substr(begin, middle - begin);
    becomes.block = test_.text.substr(middle, end - middle);
    becomes.begin = begin + offset_;
    becomes.end = end + offset_;
    test_.graphs.back().becomes.push_back(std::move(becomes));
    blanked_.emplace_back(word, end);
    return after;
  }

  void directive(size_t line) {
    static const std::regex pattern(R"(\s*([A-Za-z][A-Za-z_-]*):\s*(.*?)\s*)");
    const std::string comment(trimmed(comment_of(text_of(line))));
    std::smatch match;
    if (!std::regex_match(comment, match, pattern)) return;
    const Directive directive{match[1], match[2], int(line) + 1};
    if (directive.word == "SPDX-License-Identifier") return;
    if (directive.text.empty()) fault(line, fmt::format("'# {}:' says nothing", directive.word));
    if (directive.word == "error") {
      test_.errors.push_back(directive);
    } else if (directive.word == "run") {
      test_.runs.push_back(directive);
    } else if (directive.word == "check" || directive.word == "not") {
      TestedGraph* graph = nullptr;
      for (TestedGraph& candidate : test_.graphs)
        if (candidate.line <= directive.line) graph = &candidate;
      if (graph == nullptr)
        return fault(line, fmt::format("'# {}:' before any graph", match[1].str()));
      graph->checks.push_back(directive);
    } else {
      fault(line, fmt::format("unknown directive '# {}:'", directive.word));
    }
  }

  std::string_view content_;
  const std::vector<size_t>& starts_;
  GraphTest test_;
  size_t offset_ = 0;  ///< offset in the file minus offset in the module's text
  std::vector<std::pair<size_t, size_t>> blanked_;
};

}  // namespace

std::vector<GraphTest> graph_tests(std::string_view content, const std::string& file) {
  const std::vector<size_t> starts = line_starts(content);
  std::vector<GraphTest> tests;
  const size_t lines = starts.size() - 1;
  size_t first = 0;
  for (size_t line = 0; line <= lines; ++line) {
    if (line < lines &&
        trimmed(content.substr(starts[line], starts[line + 1] - starts[line])) != "---")
      continue;
    tests.push_back(TestReader(content, starts, file).read(first, line));
    first = line + 1;
  }
  return tests;
}

std::vector<GraphPtr> graphs_of_tests(const std::string& path) {
  std::ostringstream contents;
  contents << std::ifstream(source_path(path)).rdbuf();
  std::vector<GraphPtr> graphs;
  for (const GraphTest& test : graph_tests(contents.str(), path))
    std::ranges::copy(parse(test.text, path).graphs, std::back_inserter(graphs));
  return graphs;
}

}  // namespace graphc::core::testing
