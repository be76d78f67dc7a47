// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/api_page.h"

#include <algorithm>
#include <vector>

#include "ir/error.h"
#include "tests/testing/documents.h"
#include "tests/testing/trimmed.h"

namespace graphc::core::testing {
namespace {

bool is_word_at(std::string_view text, size_t at, std::string_view word) {
  return text.substr(at, word.size()) == word;
}

/// The end of text that is not code: a comment, a string or a character at `at`; otherwise `at`.
size_t skipped(std::string_view text, size_t at) {
  if (is_word_at(text, at, "//")) return std::min(text.find('\n', at), text.size());
  if (text[at] != '"' && text[at] != '\'') return at;
  size_t end = at + 1;
  while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
  return end + 1;
}

/// The position after the brace that closes the one at `open`.
size_t behind_braces(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    const size_t end = skipped(text, at);
    if (end != at) {
      at = end - 1;
    } else if (text[at] == '{') {
      ++depth;
    } else if (text[at] == '}' && --depth == 0) {
      return at + 1;
    }
  }
  throw input_error({}, "a brace is open at the end of a header");
}

/// The declaration without member initialisers, with its line breaks.
std::string signature(std::string_view code) {
  for (size_t at = code.find(") :"), next; at != code.npos; at = next) {
    next = code.find(") :", at + 1);
    if (code.substr(at, 4) != ") ::") return std::string(code.substr(0, at + 1));
  }
  const size_t below = code.find(")\n      :");
  return std::string(trimmed(code.substr(0, below == code.npos ? below : below + 1)));
}

class Declarations {
 public:
  explicit Declarations(std::string_view text) : text_(text) {}

  std::string read() {
    scope(text_.size(), true);
    return std::string(trimmed(out_)) + "\n";
  }

 private:
  /// Reads declarations up to `end`; `shown` tells whether the following ones are public.
  void scope(size_t end, bool shown) {
    while (at_ < end) {
      if (text_[at_] == '\n') {
        blank_ = blank_ || (at_ > 0 && text_[at_ - 1] == '\n');
        ++at_;
      } else if (text_[at_] == ' ') {
        ++at_;
      } else if (is_word_at(text_, at_, "//")) {
        const size_t line_end = skipped(text_, at_);
        comment_ += indent() + std::string(text_.substr(at_, line_end - at_)) + "\n";
        at_ = line_end;
      } else if (text_[at_] == '#') {
        for (; at_ < end && text_[at_] != '\n'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
      } else if (is_word_at(text_, at_, "private:") || is_word_at(text_, at_, "public:")) {
        shown = text_[at_ + 1] == 'u';
        at_ = text_.find('\n', at_);
        comment_.clear();
      } else if (is_word_at(text_, at_, "GRAPHC_")) {
        macro(shown);
      } else {
        declaration(shown);
      }
    }
  }

  /// A unary or binary function declared by a macro.
  void macro(bool shown) {
    const size_t open = text_.find('(', at_), close = text_.find(')', at_);
    const bool unary = is_word_at(text_, at_, "GRAPHC_UNARY");
    const std::string name(text_.substr(open + 1, close - open - 1));
    at_ = text_.find('\n', at_);
    put(unary ? "Value " + name + "(Value x);" : "Value " + name + "(Operand a, Operand b);",
        shown);
  }

  void declaration(bool shown) {
    const size_t begin = at_;
    int depth = 0;
    bool value = false;  // after `=` braces are part of a value
    for (;; ++at_) {
      const size_t end = skipped(text_, at_);
      if (end != at_) at_ = end;
      const char c = text_[at_];
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      value |= c == '=' && depth == 0 && text_[at_ + 1] == ' ';
      if (c == ';' && depth == 0) break;
      if (c != '{' || depth != 0) continue;
      // `member{value}` after a constructor's colon; the brace of a body follows a blank.
      if (!value && text_[at_ - 1] == ' ') return braces(begin, shown);
      at_ = behind_braces(text_, at_) - 1;
    }
    ++at_;
    std::string code(text_.substr(begin, at_ - begin));
    const size_t next = text_.find_first_not_of(' ', at_);
    if (next != text_.npos && is_word_at(text_, next, "//")) {
      const size_t line_end = text_.find('\n', at_);
      code += text_.substr(at_, line_end - at_);
      at_ = line_end;
    }
    const std::string_view last = std::string_view(code).substr(code.rfind('\n') + 1);
    const bool forward = code.starts_with("friend ") ||
                         ((last.starts_with("class ") || last.starts_with("struct ")) &&
                          last.find_first_of("{(") == last.npos);
    put(code, shown && !forward);
  }

  /// A class, a namespace or the body of a function.
  void braces(size_t begin, bool shown) {
    const std::string_view head = trimmed(text_.substr(begin, at_ - begin));
    const size_t close = behind_braces(text_, at_);
    std::string_view kind = head;
    if (kind.starts_with("template")) kind = kind.substr(std::min(kind.find('\n'), kind.size()));
    kind = trimmed(kind);
    if (kind.starts_with("requires"))
      kind = trimmed(kind.substr(std::min(kind.find('\n'), kind.size())));
    if (head.starts_with("namespace")) {
      const bool inner = head.find("detail") != head.npos;
      comment_.clear();
      ++at_;
      if (!inner) scope(close - 1, shown);
      at_ = std::min(text_.find('\n', close), text_.size());
    } else if (kind.starts_with("class ") || kind.starts_with("struct ")) {
      put(std::string(head) + " {", shown);
      ++at_;
      ++depth_;
      scope(close - 1, shown && kind.starts_with("struct "));
      --depth_;
      comment_.clear();
      blank_ = false;
      at_ = close + 1;
      put("};", shown);
    } else if (kind.starts_with("enum ")) {
      at_ = close + 1;
      put(std::string(text_.substr(begin, at_ - begin)), shown);
    } else {
      at_ = close + (close < text_.size() && text_[close] == ';' ? 1 : 0);
      put(signature(head) + ";", shown);
    }
  }

  void put(const std::string& code, bool shown) {
    if (shown) {
      if (blank_ || !comment_.empty()) out_ += out_.ends_with("{\n") ? "" : "\n";
      out_ += comment_ + indent() + code + "\n";
    }
    comment_.clear();
    blank_ = false;
  }

  std::string indent() const { return std::string(size_t(depth_) * 2, ' '); }

  const std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  bool blank_ = false;
  std::string comment_, out_;
};

/// The lines of a header's introductory comment, without the licence, and the rest.
std::pair<std::string, std::string> introduced(const std::string& header) {
  std::string prose;
  size_t at = header.find('\n') + 1;
  while (header.compare(at, 2, "//") == 0) {
    const size_t end = header.find('\n', at);
    std::string line = header.substr(at + 2, end - at - 2);
    if (line.starts_with(" ")) line.erase(0, 1);
    prose += line + "\n";
    at = end + 1;
  }
  return {prose, header.substr(at)};
}

/// Converts prose to Markdown; indented lines become code.
std::string as_markdown(const std::string& prose) {
  std::string text, line;
  bool code = false;
  for (char c : prose) {
    line += c;
    if (c != '\n') continue;
    const bool indented = line.starts_with("  ");
    if (indented != code && line != "\n") {
      if (code && text.ends_with("\n\n")) text.pop_back();
      text += code ? "```\n\n" : "```cpp\n";
      code = indented;
    }
    text += code && indented ? line.substr(2) : line;
    line.clear();
  }
  return text + (code ? "```\n" : "");
}

}  // namespace

std::string declarations_of(std::string_view header) { return Declarations(header).read(); }

std::string api_page() {
  std::string page =
      "# The frontend on one page\n\n"
      "What `#include \"frontend/graphc.h\"` gives, header by header, as it is declared there; of "
      "classes the public\nparts. A test writes it: `GRAPHC_BLESS=1 "
      "build/dev/bin/graphc_source_tree_tests --gtest_filter='ApiPage.*'`.\nThe operations by "
      "themselves, with shapes and derivatives, are in [ops.md](ops.md).\n";
  for (const char* path : {"frontend/graphc.h",
                           "frontend/vocabulary.h",
                           "frontend/model.h",
                           "frontend/state.h",
                           "frontend/params.h",
                           "ir/build.h",
                           "ir/indexing.h",
                           "frontend/functions.h",
                           "frontend/scan.h",
                           "frontend/layers.h",
                           "frontend/initializers.h",
                           "frontend/lengths.h",
                           "frontend/optimizer.h",
                           "frontend/param_groups.h",
                           "frontend/schedules.h",
                           "frontend/fit.h",
                           "frontend/checkpoints.h",
                           "frontend/progress.h",
                           "frontend/tensorboard.h",
                           "frontend/data.h",
                           "frontend/table.h",
                           "frontend/session.h",
                           "frontend/round_up.h",
                           "frontend/buckets.h",
                           "frontend/shared_graph.h",
                           "frontend/model_file.h",
                           "frontend/load_report.h",
                           "frontend/curve.h",
                           "frontend/plot.h",
                           "frontend/summary.h",
                           "frontend/profile.h",
                           "frontend/pytorch.h",
                           "frontend/files.h",
                           "ir/error.h",
                           "ir/text.h",
                           "ir/elements.h",
                           "ir/literal.h",
                           "runtime/tensor.h",
                           "runtime/files/trace_file.h",
                           "runtime/files/safetensors.h",
                           "runtime/ranks/ranks.h"}) {
    const auto [prose, code] = introduced(document_text(path));
    page += "\n## " + std::string(path) + "\n\n" + as_markdown(prose);
    page += "\n```cpp\n" + declarations_of(code) + "```\n";
  }
  return page;
}

}  // namespace graphc::core::testing
