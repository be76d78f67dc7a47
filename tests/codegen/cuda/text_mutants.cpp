// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/text_mutants.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "tests/codegen/cuda/text_lines.h"

namespace graphc::core::testing {
namespace {

const std::vector<TextRule> kRules = {
    // How threads and blocks wait for each other.
    {"barrier removed", "__syncthreads();", R"(__syncthreads\(\);)", ";"},
    {"vote without a barrier", "__syncthreads_or(", R"(__syncthreads_or\((\w+)\))", "$1"},
    {"barrier removed", "block_barrier(", R"(^if \(!block_barrier\([^;]*;)", ";"},
    {"fence removed", "fence.acq_rel.gpu",
     R"(asm volatile\("fence.acq_rel.gpu;" : : : "memory"\);)", ";"},
    {"left a block early", ") < wanted", R"(\) < wanted)", ") + 1u < wanted"},
    {"arrival not counted", "atomicAdd(", R"(^atomicAdd\(\w+, 1u\);)", ";"},
    {"polled by a plain read", "atomicAdd(", R"(atomicAdd\((arrived), 0u\))", "*$1"},
    {"barriers not counted", "barriers = ", R"(^barriers = [^;]*;)", ";"},
    {"one thread's work by all", "threadIdx.x == 0", R"(threadIdx\.x == 0)", "true"},
    {"barrier of a cluster removed", "cluster_barrier();", R"(^cluster_barrier\(\);)", ";"},
    {"blocks of a cluster by themselves", "cluster_barrier();", R"(^cluster_barrier\(\);)",
     "__syncthreads();"},
    {"cluster meets before the nest", "cluster_barrier();", R"(^cluster_barrier\(\);)", ";", true},
    {"cluster not awaited", "cluster.wait", R"(^asm volatile\("barrier\.cluster\.wait.*)", ";"},
    {"cluster not told", "cluster.arrive", R"(^asm volatile\("barrier\.cluster\.arrive.*)", ";"},
    // What blocks of a cluster write into each other's shared memory.
    {"last block left out", "rank < ", R"(rank < (\d+)u)", "rank + 1u < $1u"},
    {"first block left out", "rank = 0u", R"(rank = 0u)", "rank = 1u"},
    {"block beyond the cluster", "mapa", R"(\(rank\))", "(rank + 1u)"},
    {"first block for each", "mapa", R"(\(rank\))", "(0u)"},
    {"own block for the others", "mapa", R"(^asm volatile\("mapa.*)", ";"},
    {"own place for the other's", "*there = ", R"(^\*there = value;)", "*at = value;"},
    {"handed on to nobody", "store_to_all_", R"(^store_to_all_\d+\(.*\);)", ";"},
    {"handed on in this block alone", "store_to_all_", R"(^store_to_all_\d+\(&(.*\]), (\w+)\);)",
     "$1 = $2;"},
    {"handed on beside its place", "store_to_all_", R"(column\) \*)", "column + 1) *"},
    {"handed on into another tile", "store_to_all_", R"(row_begin\) / (\d+) \* )",
     "row_begin) / $1 + 1 * "},
    {"rows counted from the first of all", "row_begin", R"(\((\w+) - row_begin\))", "$1"},
    {"slot of this step", "iteration + 1", R"(\(iteration \+ 1\) % 2)", "iteration % 2"},
    {"first slot for both", "_size + slot", R"((\w+_at) \+ \w+_size \+ slot)", "$1 + slot"},
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
    // Fragments of tensor cores: which lane has what, in which register.
    {"register of another fragment", "][", R"((left_(?:fragment|low)\[at_row / 2\])\[(\d)\])",
     "$1[3 - $2]"},
    {"register of the other rows", "][", R"((left_(?:fragment|low)\[at_row / 2\])\[(\d)\])",
     "$1[$2 ^ 1]"},
    {"register of the other half", "right_", R"((right_(?:fragment|low))\[(\d)\](?![;,]))",
     "$1[1 - $2]"},
    {"registers exchanged", "\"{%", R"(%(\d), %(\d))", "%$2, %$1"},
    {"registers of both halves exchanged", "\"{%", R"(%5, %6)", "%6, %5"},
    {"operands exchanged", "\"{%", R"(%7\}, \{%8)", "%8}, {%7"},
    {"sum of the row before", "\"+f\"", R"(at_row \+ 1\])", "at_row]"},
    {"sum of the column before", "\"+f\"", R"(at_column \+ 1\])", "at_column]"},
    {"pair exchanged", "_pair(", R"(_pair\((\([^()]*\)), (\([^()]*\))\))", "_pair($2, $1)"},
    {"lane of a group for the group", "group", R"(\bgroup\b(?! = ))", "in_group"},
    {"group for the lane of it", "in_group", R"(\bin_group\b(?! = ))", "group"},
    {"first warp", "warp_", R"(\bwarp_(?:row|column)\b(?! = ))", "0"},
    {"row of a warp for the column", "warp_row", R"(\bwarp_row\b(?! = ))", "warp_column"},
    {"column of a warp for the row", "warp_column", R"(\bwarp_column\b(?! = ))", "warp_row"},
    {"remainder for quotient of a sum", ") / ", R"(\) / (\d+)\b)", ") % $1"},
    {"quotient for remainder of a sum", ") % ", R"(\) % (\d+)\b)", ") / $1"},
    {"stride of a warp off by one", "warp_", R"(\* (\d+)\b)", "* ($1 + 1)"},
    {"stride of a fragment off by one", "(lane_", R"(\* (\d+)\b)", "* ($1 + 1)"},
    {"stride of shared memory off by one", "] = ", R"(^(\w+\[[^=]*?) \* (\d+)\b(?=[^=]*\] = ))",
     "$1 * ($2 + 1)"},
    {"stride of rows handed on off by one", "row_begin)", R"(\) \* (\d+)\b)", ") * ($1 + 1)"},
    {"row of eight before", "+ 8", R"(left_row \+ 8\))", "left_row)"},
    {"first terms of an instruction", "lane_", R"((lane_(?:term|word)) \+ \d+)", "$1"},
    {"every other term skipped", "at_term += ", R"(at_term \+= (\d+))", "at_term += 2 * $1"},
    {"low digits left out", "_low[", R"(_low(\S*) = tf32_bits\(.*\);)", "_low$1 = 0u;"},
    {"nothing taken off", " - tf32_value", R"( - tf32_value\([^()]*\))", ""},
    {"high digits for the low", "\"r\"", R"(\((left|right)_low\[)", "($1_fragment["},
    {"unspecified digits kept", "& 0x", R"( & 0x\w+)", ""},
    // What a block owns in a placed loop, and what it keeps in shared memory.
    {"share off by one", "_group * ", R"((\w+_group) \* (\w+_(?:owned|each)_\d+))",
     "$1 * ($2 + 1)"},
    {"own end left out", "_begin_", R"((\w+_begin_\d+ \+ \w+) < (\w+) \? \1 : \2)", "$1"},
    {"end of all for the own", "_begin_", R"((\w+_begin_\d+ \+ \w+) < (\w+) \? \1 : \2)", "$2"},
    {"from the first of all", "_begin;", R"(= (?:row|column)_begin;)", "= 0;"},
    {"groups meet in one place", "block_barrier(", R"(arrived \+ row_group \* \d+)", "arrived"},
    {"over the left piece", "&shared[", R"(&shared\[staging \+ \d+\])", "&shared[staging]"},
    {"at the first of shared memory", "&shared[", R"(&shared\[\w+\])", "&shared[0]"},
    {"resident tile counted from 0", "resident_tile = ", R"(\(first_column - column_begin\))",
     "first_column"},
    {"first resident tile", "resident_tile = ", R"(\(first_column - column_begin\) / \d+)", "0"},
    {"first piece resident", "resident_tile = ", R"( \+ (?:first_term|piece) / \d+\))", ")"},
    {"last resident words left out", "< words_there)", R"( < words_there\))",
     " + 1 < words_there)"},
    {"resident from the first column", "to = &", R"(\(first_column - column_begin\))",
     "first_column"},
    // Copies to shared memory ahead, and matrices from there.
    {"copies not awaited", "await_copies", R"(^await_copies_but_\d+\(\);)", ";"},
    {"a group too few awaited", "wait_group", R"(wait_group 2)", "wait_group 3"},
    {"group of copies not ended", "end_copies();", R"(^end_copies\(\);)", ";"},
    {"copy left out", "copy_", R"(^copy_\d+\(.*\);)", ";"},
    {"copy for zeros", " : 0u);", R"([^,]* \? (\w+_bytes) : 0u)", "$1"},
    {"zeros for a copy", "_bytes = ", R"(max\(min\()", "min(min("},
    {"place of this stage", "next_place", R"(\bnext_place \*)", "place *"},
    {"place of the next stage", "place", R"(\bplace \*)", "next_place *"},
    {"place never left", "place = ", R"(^(?:next_)?place = .*;)", ";"},
    {"stage not counted", "next_stage = ", R"(^next_stage = [^;]*;)", ";"},
    {"same terms again", "_from = &", R"(^(?:left|right)_from = .*;)", ";"},
    {"row of another matrix", "_at = ", R"(lane / (\d+))", "lane % $1"},
    {"stride of a copy off by one", "copy_", R"(at \* (\d+)\b)", "at * ($1 + 1)"},
    {"stride of a matrix off by one", "_at + place", R"(\* (\d+)\b)", "* ($1 + 16)"},
    // What is left out at the edges.
    {"guard of a load removed", "&& ", R"(\((?:threadIdx\.)?\w+ < \w+ && )", "("},
    {"last guard of a load removed", "&& ", R"( && \w+ < \w+(?= \?))", ""},
    {"guard of a store removed", "if (", R"(^if \((?:row < rows|column < columns)\))", "if (true)"},
    {"guard of one more", " < ", R"(^(?!for )(.*?\b(?:row|column|term|i)) < (\w+)\b)", "$1 <= $2"},
    {"last guard of one more", " < ", R"(^(?!for )(.*\b(?:row|column|term|i)) < (\w+)\b)",
     "$1 <= $2"},
    {"last one for each", "min(", R"(min\(([^,]*), ([^(),]*)\))", "($2)"},
    {"zeros begin late", " < terms_there", R"( < terms_there)", " <= terms_there"},
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

/// Where the nest before a line begins: it stands as far in.
size_t nest_before(const std::vector<Line>& lines, size_t at) {
  const size_t indent = indent_of(lines[at]);
  while (at-- > 0) {
    if (lines[at].statement == "{" && indent_of(lines[at]) == indent) return at;
  }
  return 0;
}

/// The text with another line at this place.
std::string with_line(const std::vector<Line>& lines, size_t at, const std::string& line) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) text += (i == at ? line : lines[i].text) + "\n";
  return text;
}

}  // namespace

const std::vector<TextRule>& text_rules() { return kRules; }

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
        if (rule.before_nest)
          mutant.text = with_line(lines_of(mutant.text), nest_before(lines, i), before + " {");
        const bool is_change = now != before || rule.before_nest;
        if (is_change && known.insert(mutant.text).second) mutants.push_back(std::move(mutant));
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

bool is_placed(const TextMutant& mutant) {
  return mutant.text.find("column_groups") != std::string::npos;
}

bool Launched::has_row_groups() const {
  return std::ranges::any_of(numbers, [&](const auto& number) {
    const auto owned = numbers.find("rows_owned_" + number.first.substr(number.first.size() - 1));
    return number.first.starts_with("rows_of_") && owned != numbers.end() &&
           owned->second < number.second;
  });
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

}  // namespace graphc::core::testing
