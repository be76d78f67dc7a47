// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/text_mutants.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace graphc::testing {
namespace {

const std::vector<TextRule> kRules = {
    // How threads and blocks wait for each other.
    {"barrier removed", "__syncthreads();", R"(__syncthreads\(\);)", ";"},
    {"vote without a barrier", "__syncthreads_or(", R"(__syncthreads_or\((\w+)\))", "$1"},
    {"meeting removed", "meet(", R"(^if \(!meet\([^;]*;)", ";"},
    {"fence removed", "__threadfence();", R"(__threadfence\(\);)", ";"},
    {"left a block early", ") < wanted", R"(\) < wanted)", ") + 1u < wanted"},
    {"arrival not counted", "atomicAdd(", R"(^atomicAdd\(\w+, 1u\);)", ";"},
    {"polled by a plain read", "atomicAdd(", R"(atomicAdd\((arrived), 0u\))", "*$1"},
    {"meetings not counted", "meetings = ", R"(^meetings = [^;]*;)", ";"},
    {"one thread's work by all", "threadIdx.x == 0", R"(threadIdx\.x == 0)", "true"},
    // Where things are.
    {"stride off by one", "* ",
     R"(\* (width|\w+_(?:row|k|column|part|step|slot|block|outer(?:_\d+)?)(?:_\d+)?)\b)",
     "* ($1 + 1)"},
    {"indices exchanged", "][", R"((\w+)\[([^\[\]]+)\]\[([^\[\]]+)\](?!.*\{\}))", "$1[$3][$2]"},
    {"remainder for quotient", " / ",
     R"(\b(slot|rest|i|column|block|half|lanes|warps|x|width|parts|terms|blocks_x) / (\w+))",
     "$1 % $2"},
    {"quotient for remainder", " % ", R"((\w+) % (\w+))", "$1 / $2"},
    {"thread of another axis", "thread", R"(\bthread(Idx\.|_)x\b(?! = ))", "thread$1y"},
    {"thread of this axis", "thread", R"(\bthread(Idx\.|_)y\b(?! = ))", "thread$1x"},
    {"blocks side by side", "block", R"(\bblock(Idx\.|_)x\b(?! = ))", "block$1y"},
    {"blocks below each other", "block", R"(\bblock(Idx\.|_)y\b(?! = ))", "block$1x"},
    {"step for iteration", "step = ", R"(step = steps - 1 - iteration;)", "step = iteration;"},
    {"iteration for step", "step = ", R"(step = iteration;)", "step = steps - 1 - iteration;"},
    {"other slot", "iteration % 2", R"(iteration % 2)", "(iteration + 1) % 2"},
    {"first place an iteration late", "iteration == 0 ?", R"(iteration == 0 \?)",
     "iteration == 1 ?"},
    {"no first place", "iteration == 0 ?", R"(iteration == 0 \?)", "false ?"},
    // What is left out at the edges.
    {"guard of a load removed", "&& ", R"((?:\bthreadIdx\.)?\b\w+ < \w+ && )", ""},
    {"last guard of a load removed", "&& ", R"( && \w+ < \w+(?= \?))", ""},
    {"guard of a store removed", "if (", R"(^if \((?:row < rows|column < columns)\))", "if (true)"},
    {"guard of one more", " < ", R"(^(?!for )(.*?\b(?:row|column|term|i)) < (\w+)\b)", "$1 <= $2"},
    {"last guard of one more", " < ", R"(^(?!for )(.*\b(?:row|column|term|i)) < (\w+)\b)",
     "$1 <= $2"},
    {"guard of a condition removed", "&& column < columns)", R"( && column < columns\))", ")"},
    // Sums.
    {"array not emptied", "= {};", R"( = \{\};)", ";"},
    {"sum not begun", " = 0", R"(^((?:float|double|int|unsigned|long long) \w+) = 0\w*(?:\.0f?)?;)",
     "$1;"},
    {"maximum not begun", " = __uint_as_float(", R"(^(float \w+) = __uint_as_float\(\d+u\);)",
     "$1;"},
    {"sum not begun again", "all_", R"(^all_\w+ = 0(?:\.0f?)?;)", ";"},
    {"earlier pieces left out", "sums_", R"(^(sums_\d+\[.*\]) = \1 \+ )", "$1 = "},
    {"pieces before left out", "before_", R"(\(before_\w+ \+ (\w+)\))", "$1"},
    {"term of a piece left out", " ? piece + ", R"(\? piece \+ (\d+) :)", "? piece + $1 - 1 :"},
    {"tree of half the height", "= ", R"(\b(lanes|half|warps) = (\d+);)", "$1 = $2 / 2;"},
    {"tree without its last step", " > 0;", R"((lanes|half|warps) > 0;)", "$1 > 1;"},
    {"shuffle of half the distance", "__shfl", R"(, lanes\))", ", (lanes + 1) / 2)"},
    {"tree of half the distance", "]", R"(\+ (half|warps)\])", "+ $1 / 2]"},
    {"store left out", "] = ", R"(^(?:if \([^=]*== 0\) )?\w+\[.*\] = [^;]*;$)", ";"},
    // Several nests in a launch.
    {"nest of other blocks", "block_begin_of_", R"(^if \(block >= block_begin_of_\d+[^)]*\))",
     "if (false)"},
    {"another nest's blocks as well", "blocks_until_", R"(^if \(block < blocks_until_\d+\))",
     "if (true)"},
    {"blocks of all nests counted", "inner = ", R"(= block - block_begin;)", "= block;"},
    // Loops.
    {"one less", "for (", R"(^(for \([^;]*; \w+ < [^;&]*[^;& ])( &&|;))", "$1 - 1$2"},
    {"one more", "for (",
     R"(^(for \([^;]*; (?:row|column|i|j|iteration|at_term|at_part|at_row|at_column)) < )",
     "$1 <= "},
    {"one later", "for (", R"(^(for \((?:long long|int) (\w+) = )([^;]+);)", "$1$3 + 1;"},
};

const std::vector<EqualPlace> kEqual = {
    {"one thread's work by all", "distinct[places[0]] = ", "all threads have the same to store"},
    {"guard of a load removed", "_block + (term", "panels end in zeros"},
    {"guard of one more", "_block + (term", "panels end in zeros"},
    {"thread of another axis", "distinct[places[0]] = ", "all threads have the same to store"},
};

/// Rules about what is done when all blocks meet.
const std::set<std::string_view> kOfMeetings = {"meeting removed", "meetings not counted"};

/// Rules about what is done between two pieces of a sum.
const std::set<std::string_view> kOfPieces = {"pieces before left out", "sum not begun again",
                                              "earlier pieces left out",
                                              "term of a piece left out"};

/// A line without the space and the comment around it.
std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  const size_t comment = line.find("//");
  size_t end = comment == std::string::npos ? line.size() : comment;
  while (end > first && line[end - 1] == ' ') --end;
  return line.substr(first, end - first);
}

/// Whether it is a statement, or begins one, and no head of a function.
bool is_statement(const std::string& line, const std::string& text) {
  if (!line.starts_with("  ") || text.empty() || text.starts_with("__shared__")) return false;
  return text.ends_with(";") || text.starts_with("for (") || text.starts_with("if (") ||
         text.starts_with("while (") || text.starts_with("} else");
}

struct Line {
  std::string text, statement;
  bool counts = false;
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    const std::string statement = trimmed(line);
    lines.push_back({line, statement, is_statement(line, statement)});
  }
  return lines;
}

/// The text with another line at this place.
std::string with_line(const std::vector<Line>& lines, size_t at, const std::string& line) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) text += (i == at ? line : lines[i].text) + "\n";
  return text;
}

size_t indent_of(const Line& line) { return line.text.find_first_not_of(' '); }

/// The loop around a line, or the last of them that `wanted` is true of; null: none.
template <typename Wanted>
const Line* loop_around(const std::vector<Line>& lines, size_t at, const Wanted& wanted) {
  size_t indent = indent_of(lines[at]);
  // A mutant's line stands at the left: what is below it says how far in it was.
  for (size_t i = at + 1; i < lines.size() && indent == 0; ++i) {
    indent = indent_of(lines[i]) + (lines[i].statement.starts_with("}") ? 2 : 0);
  }
  for (size_t i = at; i-- > 0;) {
    if (lines[i].statement.empty() || indent_of(lines[i]) >= indent) continue;
    indent = indent_of(lines[i]);
    if (lines[i].statement.starts_with("for (") && wanted(lines[i])) return &lines[i];
  }
  return nullptr;
}

/// The head of the function that a line is in.
std::string head_above(const std::vector<Line>& lines, size_t at) {
  while (at > 0 && lines[at].text.find("__global__") == std::string::npos &&
         lines[at].text.find("__device__") == std::string::npos)
    --at;
  return lines[at].text;
}

/// By how much the loop over pieces around a line goes on; 0: there is none.
int64_t stride_around(const std::vector<Line>& lines, size_t at) {
  static const std::regex step(R"(\+= ([0-9]+)\) \{$)");
  std::smatch match;
  const Line* loop = loop_around(
      lines, at, [&](const Line& line) { return std::regex_search(line.statement, match, step); });
  return loop == nullptr ? 0 : std::stoll(match[1]);
}

/// Whether the line is the last of what a block does between two turns of the loop over its work.
bool ends_a_turn(const std::vector<Line>& lines, size_t at) {
  const Line* loop = loop_around(lines, at, [](const Line&) { return true; });
  return loop != nullptr && loop->statement.find("gridDim") != std::string::npos &&
         at + 1 < lines.size() && lines[at + 1].statement == "}";
}

const std::regex& compiled(std::string_view pattern) {
  static std::map<std::string_view, std::regex> all;
  auto found = all.find(pattern);
  if (found == all.end())
    found = all.emplace(pattern, std::regex(pattern.begin(), pattern.end())).first;
  return found->second;
}

}  // namespace

const std::vector<TextRule>& text_rules() { return kRules; }

const std::vector<EqualPlace>& equal_places() { return kEqual; }

std::vector<TextMutant> mutants_of(const std::string& text) {
  const std::vector<Line> lines = lines_of(text);
  std::vector<TextMutant> mutants;
  std::set<std::string> known{text};
  for (const TextRule& rule : kRules) {
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string& before = lines[i].statement;
      if (!lines[i].counts || before.find(rule.contains) == std::string::npos) continue;
      const std::sregex_iterator end;
      for (std::sregex_iterator at(before.begin(), before.end(), compiled(rule.pattern)); at != end;
           ++at) {
        std::string now = before.substr(0, size_t(at->position()));
        now += at->format(std::string(rule.replacement));
        now += before.substr(size_t(at->position() + at->length()));
        TextMutant mutant{&rule, int(i) + 1, before, now, with_line(lines, i, now)};
        if (known.insert(mutant.text).second) mutants.push_back(std::move(mutant));
      }
    }
  }
  return mutants;
}

int64_t Launched::largest(std::string_view beginning) const {
  int64_t most = 0;
  for (const auto& [name, number] : numbers) {
    if (name.starts_with(beginning)) most = std::max(most, number);
  }
  return most;
}

std::vector<std::string> parameters_of(const std::string& text) {
  std::vector<std::string> names;
  const size_t head = text.find("__global__");
  const size_t begin = text.find('(', text.find(')', head)), end = text.find(')', begin);
  std::istringstream all(text.substr(begin + 1, end - begin - 1));
  for (std::string one; std::getline(all, one, ',');)
    names.push_back(one.substr(one.find_last_of(" *") + 1));
  return names;
}

std::string_view why_equal(const TextMutant& mutant, const Launched& launched) {
  const std::string_view rule = mutant.rule->name;
  const std::vector<Line> lines = lines_of(mutant.text);
  const size_t at = size_t(mutant.line) - 1;
  const bool in_loop = mutant.text.find("iteration < steps") != std::string::npos;
  const bool of_blocks = rule.starts_with("blocks ") || kOfMeetings.contains(rule) ||
                         (in_loop && head_above(lines, at).find(" meet(") != std::string::npos);
  if (of_blocks && launched.blocks == 1) return "it is launched with one block";
  if (rule == "one less" && mutant.before.find("* blockDim.x)") != std::string::npos &&
      !launched.has_single_column)
    return "no block begins with the last column";
  // Its stride of rows is 0, or nothing.
  const bool of_rows = std::regex_search(
      mutant.now,
      compiled(R"(\brow \* \(\w+ \+ 1\)|; row <= rows; |^if \((?:true|row <= rows)\))"));
  if (of_rows && launched.largest("rows") == 1 && !in_loop) return "it is launched with one row";
  std::smatch panel;
  if (std::regex_search(mutant.now, panel, compiled(R"(column / ([0-9]+) \* \(\w+ \+ 1\))")) &&
      std::stoll(panel[1]) >= launched.largest("columns"))
    return "it is launched with one panel";
  if (kOfPieces.contains(rule)) {
    const int64_t stride = stride_around(lines, at);
    const int64_t most =
        std::max({launched.largest("rows"), launched.largest("columns"),
                  rule == "earlier pieces left out" || rule == "term of a piece left out"
                      ? launched.largest("terms")
                      : 0});
    if (stride >= most) return "it is launched with one piece";
  }
  if (rule == "barrier removed" && !in_loop && ends_a_turn(lines, at))
    return "its blocks have one turn each";
  for (const EqualPlace& equal : kEqual) {
    if (rule == equal.rule && mutant.before.find(equal.part) != std::string::npos)
      return equal.reason;
  }
  return {};
}

}  // namespace graphc::testing
