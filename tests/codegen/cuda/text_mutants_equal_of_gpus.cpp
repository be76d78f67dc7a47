// SPDX-License-Identifier: Apache-2.0
// Which defects of texts for tensor cores and for clusters change nothing, and why.
#include <algorithm>
#include <regex>
#include <set>

#include "tests/codegen/cuda/text_equal.h"

namespace graphc::core::testing {
namespace {

/// Rules about where blocks of a cluster meet.
const std::set<std::string_view> kOfClusterBarriers = {"barrier of a cluster removed",
                                                       "blocks of a cluster by themselves",
                                                       "cluster meets before the nest"};

/// What the index of an unrolled loop around a line is at most; -1: there is no such loop.
int64_t largest_index(const std::vector<Line>& lines, size_t at, const std::string& index) {
  const std::regex head(R"(^for \(int )" + index +
                        R"( = 0; \w+ < (\d+); (?:\+\+\w+|\w+ \+= (\d+))\) \{$)");
  std::smatch match;
  const Line* loop = loop_around(
      lines, at, [&](const Line& line) { return std::regex_search(line.statement, match, head); });
  if (loop == nullptr) return -1;
  const int64_t end = std::stoll(match[1]), step = match[2].matched ? std::stoll(match[2]) : 1;
  return (end - 1) / step * step;
}

/// How many terms the pieces around a line have that lie in shared memory.
int64_t staged_terms(const std::vector<Line>& lines, size_t at) {
  static const std::regex head(R"(first_term \+= (\d+)\) \{$)");
  std::smatch match;
  const Line* loop = loop_around(
      lines, at, [&](const Line& line) { return std::regex_search(line.statement, match, head); });
  return loop == nullptr ? 0 : std::stoll(match[1]);
}

/// Whether a defect of the term of which it is asked whether there is one, where its number has
/// been loaded, takes only terms for others that are there, too: a lane's words of a step are two,
/// so the first half stands for both.
bool decides_on_zeros(const TextMutant& mutant) {
  return mutant.before.starts_with("words[more] = word < 2 ? ") &&
         mutant.now.find(" + word / 2 * ") != std::string::npos;
}

/// Whether the fragments that are staged before a left operand is emptied lie in all of it.
bool lies_below_weights(const std::vector<Line>& lines, size_t at) {
  static const std::regex registers(R"(last = turn < \d+ \? (\d+) : .* begin \+ (\d+) < last)"),
      ready(R"(store_words\(ready \+ .* \* (\d+) \+ load\) \* 32 \+ lane\))"),
      words(R"(at < (\d+); at \+= 256)");
  std::smatch match;
  while (at > 0 && !std::regex_search(lines[at].statement, match, words)) --at;
  const int64_t emptied = at > 0 ? std::stoll(match[1]) : 0;
  int64_t loads = 0;
  for (; at > 0; --at) {
    if (std::regex_search(lines[at].statement, match, ready)) loads = std::stoll(match[1]);
    if (std::regex_search(lines[at].statement, match, registers))
      return emptied > 0 &&
             std::min(std::stoll(match[1]), std::stoll(match[2])) * loads * 8 * 128 >= emptied;
  }
  return false;
}

/// Whether a defect of a place moves it in later steps alone, where only what the first step reads
/// is loaded.
bool moves_later_steps(const TextMutant& mutant, const std::vector<Line>& lines, size_t at) {
  bool counts_up = false;
  while (at > 0 && lines[at].statement.find(" = ") != std::string::npos &&
         lines[at].statement != "const long long iteration = 0;")
    counts_up |= lines[at--].statement == "const long long step = iteration;";
  const bool is_later = mutant.before.find("iteration == 0 ? ") != std::string::npos &&
                        mutant.now.find("iteration == 0 ? ") != std::string::npos;
  const bool is_stride = counts_up && mutant.rule->name == std::string_view("stride off by one") &&
                         mutant.before.find(" + step * ") != std::string::npos;
  return lines[at].statement == "const long long iteration = 0;" && (is_later || is_stride);
}

/// Whether a word of a message about rows has no number: it is what the array begins with.
bool fills_up_chunk(const TextMutant& mutant, const std::vector<Line>& lines) {
  std::smatch match;
  if (mutant.rule->name != std::string_view("store left out") ||
      !std::regex_search(mutant.before, match,
                         compiled(R"(^shared\[at \+ \d\] = (partial_rows\[\d+\])\[at_row\];)")))
    return false;
  const std::string word = match[1].str() + "[at_row] = ";
  return std::ranges::none_of(lines,
                              [&](const Line& line) { return line.statement.starts_with(word); });
}

/// Whether blocks exchange fragments through memory.
bool has_words_of_memory(const std::string& text) {
  return text.find("get_words(") != std::string::npos ||
         text.find("get_two_words(") != std::string::npos;
}

std::string_view why_equal_in_fragments(const TextMutant& mutant, const std::vector<Line>& lines,
                                        size_t at) {
  const std::string_view rule = mutant.rule->name;
  std::smatch match;
  if (rule == "every other term skipped" &&
      std::regex_search(mutant.before, match, compiled(R"(at_term \+= (\d+))")) &&
      std::stoll(match[1]) >= staged_terms(lines, at))
    return "one instruction has all terms of a piece";
  if (rule == "one less" &&
      std::regex_search(mutant.now, match, compiled(R"(< (\d+) - 1; at_\w+ \+= (\d)\))")) &&
      std::stoll(match[2]) > 1 && std::stoll(match[1]) % std::stoll(match[2]) == 0)
    return "it goes on by more than one";
  if ((mutant.before == "copies[at] = 0u;" || lines[at + 1].statement == "copies[at] = 0u;") &&
      lies_below_weights(lines, at))
    return "weights lie there, which are finite; the other operand has zeros";
  if (rule == "quotient for remainder" && mutant.now.ends_with(" + word / 4;") &&
      lines[at + 1].statement.starts_with("const int terms_there = "))
    return "more terms are there, and the left operand has zeros for them";
  if (rule.starts_with("quotient for remainder") && decides_on_zeros(mutant))
    return "the other operand has zeros there";
  if (fills_up_chunk(mutant, lines)) return "nobody takes a number from there";
  if (moves_later_steps(mutant, lines, at)) return "only what the first step reads is loaded there";
  // A block's unit tiles may reach into the columns of the next one.
  if (rule == "end of all for the own" && mutant.before.find("column_end_") != std::string::npos &&
      has_words_of_memory(mutant.text))
    return "blocks that own the columns store the same bytes, and terms beyond them have zeros";
  if (rule == "term of a piece left out") return "an instruction takes in the last term, too";
  if (rule == "first warp" && mutant.before.starts_with("const float this_") &&
      mutant.before.find(" ? ") != std::string::npos)
    return "a lane beyond the edge loads the number of its row and does not use it";
  if (rule.ends_with(" off by one") &&
      std::regex_search(mutant.now, match, compiled(R"((at_\w+)( / 2)? \* \(\d+ \+ \d+\))")) &&
      largest_index(lines, at, match[1]) / (match[2].matched ? 2 : 1) == 0)
    return "the index is 0";
  return {};
}

/// The rows of the one tile of rows that a nest of a loop has around a line, in the block that has
/// the fewest; 0: it has more tiles.
int64_t rows_of_one_tile(const std::vector<Line>& lines, size_t at, const Launched& launched) {
  static const std::regex head(R"(first_row \+= (?:\(long long\)blocks_y \* )?(\d+)\) \{$)");
  std::smatch match;
  const Line* loop = loop_around(
      lines, at, [&](const Line& line) { return std::regex_search(line.statement, match, head); });
  const int64_t rows = of_nest(lines, at, launched, "rows_of");
  int64_t owned = of_nest(lines, at, launched, "rows_owned");
  if (owned == 0) owned = rows;
  if (loop == nullptr || owned == 0 || owned > std::stoll(match[1])) return 0;
  return rows - (rows - 1) / owned * owned;
}

/// The first column of a tile's last warp.
int64_t last_warp_column(const std::vector<Line>& lines, size_t at) {
  static const std::regex warps(R"(warp_column = warp % (\d+) \* (\d+);)");
  std::smatch match;
  while (at > 0 && !std::regex_search(lines[at].statement, match, warps)) --at;
  return at > 0 ? (std::stoll(match[1]) - 1) * std::stoll(match[2]) : 0;
}

/// The guard of a warp leaves out work of no use: other guards are as good if they leave out no
/// other.
std::string_view why_equal_in_guard(const TextMutant& mutant, const std::vector<Line>& lines,
                                    size_t at, const Launched& launched) {
  const std::string_view rule = mutant.rule->name;
  if (!mutant.before.starts_with("if (") ||
      mutant.before.find("warp_column < ") == std::string::npos)
    return {};
  if (rule == "first warp") return "a warp beyond the edge adds to sums that nobody stores";
  if (mutant.before.find("warp_row < rows_there") != std::string::npos &&
      rule != "row of a warp for the column" && rule != "column of a warp for the row")
    return "a warp beyond the edge adds to sums that nobody stores";
  const int64_t rows = rows_of_one_tile(lines, at, launched);
  if (rows == 0) return {};
  if (rule == "guard of a load removed" && rows == of_nest(lines, at, launched, "rows_of"))
    return "all rows are in one tile, and a warp beyond them adds to sums that nobody stores";
  if (rule == "row of a warp for the column" && last_warp_column(lines, at) < rows)
    return "no warp begins with a column beyond the number of rows";
  return {};
}

/// Of a product in parts of its terms, which are as long in every launch.
std::string_view why_equal_in_parts(const TextMutant& mutant, const std::vector<Line>& lines,
                                    size_t at, const Launched& launched) {
  if (mutant.text.find("end_copies();") == std::string::npos ||
      mutant.text.find("extent_0") == std::string::npos)
    return {};
  if (mutant.before.starts_with("rest = ") &&
      !lines[at + 1].statement.starts_with("const long long outer_"))
    return "nobody reads it";
  std::smatch match;
  const bool ahead = loop_around(lines, at, [](const Line& line) {
                       return line.statement.find("slot < ") != std::string::npos;
                     }) != nullptr;
  const auto is_stage = [&](const Line& line) {
    return std::regex_search(line.statement, match, compiled(R"(next_stage \* (\d+)ll)"));
  };
  if (ahead && mutant.before.find("terms_there") != std::string::npos &&
      std::ranges::any_of(lines, is_stage) && launched.largest("terms") >= 3 * std::stoll(match[1]))
    return "the first stages have all their terms";
  return {};
}

/// Stores of two columns at a time are there where the number of columns is even.
std::string_view why_equal_in_pairs(const TextMutant& mutant, const std::vector<Line>& lines,
                                    size_t at) {
  if (mutant.text.find("store_pair(") == std::string::npos ||
      mutant.text.find("end_copies();") == std::string::npos)
    return {};
  const std::string_view rule = mutant.rule->name;
  const bool of_first =
      rule == "one less" && mutant.now.find("first_column < columns - 1;") != std::string::npos;
  const bool of_second = rule == "quotient for remainder" &&
                         mutant.now.find("at_column / 2 < columns_there") != std::string::npos;
  const bool of_next = rule == "stride of a warp off by one" &&
                       mutant.now.find("at_column / 2 * (8 + 1)") != std::string::npos &&
                       mutant.now.find(" < columns_there") != std::string::npos &&
                       largest_index(lines, at, "at_column") % 2 == 0;
  if (of_first || of_second || of_next) return "where a column is not there, an even one is not";
  return {};
}

/// Which left operand a line gives its first content.
std::string exchanged_name(const std::string& line) {
  std::smatch match;
  return std::regex_search(line, match, compiled(R"((exchanged_\d+_\d+)_(?:at|size))"))
             ? match[1].str()
             : std::string();
}

/// Whether threads read no row of a left operand but their own one.
bool is_read_by_one_row(const std::vector<Line>& lines, const std::string& exchanged) {
  const auto names = [&](const Line& line) {
    return line.statement.find(" = &" + exchanged + "[") != std::string::npos;
  };
  auto line = std::ranges::find_if(lines, names);
  while (line != lines.end() && !line->statement.starts_with("for (int at_row = ")) ++line;
  return line != lines.end() && line->statement.find("at_row < 1; ++at_row") != std::string::npos;
}

/// Whether blocks meet in the first step before one of them touches what is exchanged.
bool meets_before_use(const std::vector<Line>& lines, size_t at, const std::string& exchanged) {
  while (++at < lines.size() && lines[at].statement != "cluster_barrier();") {
    if (lines[at].statement.find(exchanged) != std::string::npos) return false;
  }
  return true;
}

/// Why a defect of what lies in shared memory before the first step changes nothing.
std::string_view why_equal_in_first_content(const TextMutant& mutant,
                                            const std::vector<Line>& lines, size_t at,
                                            const Launched& launched) {
  const std::string_view rule = mutant.rule->name;
  const std::string& before = mutant.before;
  const std::string exchanged = exchanged_name(before);
  const bool is_zero =
      before.ends_with("slot] = 0.0f;") ||
      (before.starts_with("for (") && lines[at + 1].statement.ends_with("_at + slot] = 0.0f;"));
  std::smatch match;
  if (rule == "remainder for quotient" &&
      std::regex_search(mutant.now, match,
                        compiled(R"(row_begin \+ slot % (\d+) / .* \* (\d+) \+ at_row;)"))) {
    const int64_t stride = std::stoll(match[1]), rows = std::stoll(match[2]);
    const int64_t size = launched.largest(exchanged_name(lines[at + 1].statement) + "_size");
    const int64_t terms = launched.largest("terms");
    const bool rounded = mutant.now.find("+ 15) / 16 * 16") != std::string::npos;
    const int64_t there = rounded ? (terms + 15) / 16 * 16 : terms;
    if (size == stride * there && rows <= there)
      return "there is one tile, of no more rows than there are terms";
  }
  if (exchanged.empty()) return {};
  if (before.starts_with("shared[")) {
    if ((rule == "last guard of a load removed" || rule == "last guard of one more") &&
        lines[at - 2].statement.find("term = in_tile / ") != std::string::npos)
      return "there are so many terms in a tile";
    if ((rule == "last guard of a load removed" || rule == "last guard of one more") &&
        mutant.text.find("mma.sync") != std::string::npos)
      return "what is beyond the terms is multiplied with zeros";
    if (rule == "guard of a load removed" && before.find("at_row < ") != std::string::npos &&
        mutant.now.find("at_row < ") == std::string::npos)
      return "what lies between two terms is not read";
  }
  if (rule == "one later" && is_zero)
    return "the first row of the first term is handed on before it is read";
  // Only of an operand that the steps make first is the content before them nothing but zeros.
  const bool over_zeros =
      rule != "first slot for both" || lines[at - 1].statement.ends_with("_at + slot] = 0.0f;");
  if (is_zero && over_zeros && mutant.text.find("mma.sync") == std::string::npos &&
      is_read_by_one_row(lines, exchanged))
    return "every element is handed on before it is read, and nothing else is read";
  return {};
}

std::string_view why_equal_in_clusters(const TextMutant& mutant, const std::vector<Line>& lines,
                                       size_t at) {
  const std::string_view rule = mutant.rule->name;
  if (kOfClusterBarriers.contains(rule) && lines[at + 1].text == "}" &&
      has_met_since_stores(lines, at))
    return "nobody writes into another's shared memory since the barrier within the step";
  if (rule == "cluster meets before the nest" &&
      lines[at + 1].statement.starts_with("for (long long iteration") &&
      meets_before_use(lines, at, exchanged_name(lines[at - 3].statement)))
    return "the operand is used behind the first barrier of a step";
  return {};
}

}  // namespace

bool has_met_since_stores(const std::vector<Line>& lines, size_t at) {
  bool met = false;
  while (at-- > 0) {
    if (lines[at].statement.starts_with("store_to_all_")) return met;
    met |= lines[at].statement == "cluster_barrier();";
  }
  return false;
}

std::string_view why_equal_of_gpus(const TextMutant& mutant, const std::vector<Line>& lines,
                                   size_t at, const Launched& launched) {
  const auto has = [&](std::string_view what) {
    return mutant.text.find(what) != std::string::npos;
  };
  if (has("mma.sync") || has("give_sums(")) {
    std::string_view reason = why_equal_in_fragments(mutant, lines, at);
    if (reason.empty()) reason = why_equal_in_guard(mutant, lines, at, launched);
    if (reason.empty()) reason = why_equal_in_pairs(mutant, lines, at);
    if (reason.empty()) reason = why_equal_in_parts(mutant, lines, at, launched);
    if (!reason.empty()) return reason;
  }
  if (has("cluster_barrier")) {
    const std::string_view reason = why_equal_in_clusters(mutant, lines, at);
    return reason.empty() ? why_equal_in_first_content(mutant, lines, at, launched) : reason;
  }
  return {};
}

}  // namespace graphc::core::testing
