// SPDX-License-Identifier: Apache-2.0
// Which defects of CUDA text change nothing, and why.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "tests/codegen/cuda/text_equal.h"

namespace graphc::core::testing {
namespace {

const std::vector<EqualPlace> kEqual = {
    {"one thread's work by all", "distinct[places[0]] = ", "all threads have the same to store"},
    {"blocks side by side", "at = (long long)blockIdx", "one block has all elements of some sums"},
    {"one thread's work by all", ") owned[", "all threads have the same to store"},
    {"thread of another axis", ") owned[", "all threads have the same to store"},
    {"zeros begin late", "terms_there",
     "the left operand has zeros there, and nothing is infinite"},
    {"thread of another axis", "distinct[places[0]] = ", "all threads have the same to store"},
    {"guard of one more", "const bool there_", "the right operand has zeros there in turn"},
    {"one later", "int lanes = 16; lanes > 0;",
     "lanes meet those 17 away, then 8, 4, 2 and 1: all others, too"},
    // A launch of its own, which waits for nothing, has written it there for the gradients.
    {"no first place", " h_1_2 = iteration == 0", "its history begins with the initial value"},
    {"no first place", " c_1 = iteration == 0", "its history begins with the initial value"},
};

/// Rules about what is done when all blocks meet.
const std::set<std::string_view> kOfBarriers = {"barrier removed", "barriers not counted"};

/// Rules about what is done between two pieces of a sum.
const std::set<std::string_view> kOfPieces = {"pieces before left out", "sum not begun again",
                                              "earlier pieces left out",
                                              "term of a piece left out"};

/// Rules about who owns what.
const std::set<std::string_view> kOfShares = {
    "blocks side by side",    "share off by one",      "own end left out",
    "end of all for the own", "from the first of all", "resident from the first column"};

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

/// Whether the nest of a loop that a line is in has one row.
bool is_of_one_row(const std::vector<Line>& lines, size_t at, const Launched& launched) {
  static const std::regex rows(R"(const long long rows = (rows_of_[0-9]+))");
  std::smatch match;
  while (at > 0 && !std::regex_search(lines[at].text, match, rows)) --at;
  return at > 0 && launched.largest(match[1].str()) == 1;
}

/// Whether the line is the last of what a block does between two turns of the loop over its work.
bool ends_a_turn(const std::vector<Line>& lines, size_t at) {
  const Line* loop = loop_around(lines, at, [](const Line&) { return true; });
  return loop != nullptr && (loop->statement.find("gridDim") != std::string::npos ||
                             loop->statement.find(")blocks_") != std::string::npos);
}

/// Whether a nest of a loop has no more blocks than are launched; not of placed ones.
bool has_one_turn(const std::vector<Line>& lines, size_t at, const Launched& launched) {
  int64_t blocks = 1;
  for (const char axis : {'x', 'y', 'z'})
    blocks *= of_nest(lines, at, launched, fmt::format("blocks_{}_of", axis));
  return blocks > 0 && blocks <= launched.blocks;
}

/// The loops of a placed nest around a line.
struct TileLoops {
  int64_t terms = 0;  ///< of the product; 0: the line is in none
  bool one_piece = true, one_stage = true, one_tile_of_rows = true, one_tile_of_columns = true;

  bool one_tile() const { return one_tile_of_rows && one_tile_of_columns; }
};
TileLoops tile_loops(const std::vector<Line>& lines, size_t at, const Launched& launched) {
  static const std::regex head(R"(^for \(long long (\w+) = .* < (\w+); .* \+= ([0-9]+)\) \{$)");
  TileLoops loops;
  int64_t staged = std::numeric_limits<int64_t>::max(), turn = staged;
  loop_around(lines, at, [&](const Line& line) {
    std::smatch match;
    if (!std::regex_search(line.statement, match, head)) return false;
    const std::string what = match[1];
    const int64_t stride = std::stoll(match[3]);
    const auto terms = launched.numbers.find(match[2]);
    if (what == "turn") turn = stride;
    if (what == "first_term") staged = stride;
    // Stages of pieces, or pieces of stages.
    if ((what == "piece" || what == "first_term") && terms != launched.numbers.end()) {
      loops.terms = terms->second;
      loops.one_piece = std::min(stride, turn) >= loops.terms;
      loops.one_stage = (what == "piece" ? std::min(stride, staged) : stride) >= loops.terms;
    }
    if (what == "first_row")
      loops.one_tile_of_rows = stride >= of_nest(lines, at, launched, "rows_owned");
    if (what == "first_column")
      loops.one_tile_of_columns = stride >= of_nest(lines, at, launched, "columns_owned");
    return false;
  });
  return loops;
}

/// Whether a defect lets elements beyond the edge be computed that are not stored.
bool is_of_what_is_not_stored(const TextMutant& mutant, const std::vector<Line>& lines, size_t at) {
  if (mutant.rule->name == "store left out") return is_never_read(mutant.before, lines);
  return mutant.rule->name.ends_with("guard of one more") &&
         mutant.now.starts_with("const bool there = ") && lines[at + 1].statement != "if (there) {";
}

/// Whether the rows of threads are no more than the columns that the least block owns.
bool has_no_thread_beyond(const std::vector<Line>& lines, size_t at, const Launched& launched) {
  static const std::regex threads(R"(threads_y = ([0-9]+);)");
  std::smatch match;
  while (at > 0 && !std::regex_search(lines[at].statement, match, threads)) --at;
  const int64_t others =
      (launched.largest("column_groups") - 1) * launched.largest("columns_owned");
  return at > 0 && std::stoll(match[1]) <= launched.largest("columns_of") - others;
}

/// Whether the loop over tiles at a line is over a product with a matrix that is not resident.
bool is_of_matrix_in_memory(const std::vector<Line>& lines, size_t at) {
  bool has_pieces = false;
  while (++at < lines.size() && lines[at].statement.find("threads_x") == std::string::npos) {
    if (lines[at].statement.find("resident_tile") != std::string::npos) return false;
    has_pieces |= lines[at].statement.find("piece = 0") != std::string::npos;
  }
  return has_pieces;
}

/// How many terms lie in shared memory of a matrix that is resident, at most.
int64_t resident_terms(const std::vector<Line>& lines, size_t at, const Launched& launched) {
  while (at > 0 && !lines[at].statement.starts_with("const long long terms_there = ")) --at;
  const int64_t terms = launched.largest("terms");
  const bool rounded = lines[at].statement.find("+ 15) / 16 * 16") != std::string::npos;
  return rounded ? (terms + 15) / 16 * 16 : terms;
}

/// Whether a matrix that is resident has a word more than instructions take in.
bool resident_words_are_beyond(const TextMutant& mutant, const std::vector<Line>& lines, size_t at,
                               const Launched& launched) {
  while (at > 0 && !lines[at].statement.starts_with("const int words_there = ")) --at;
  const int64_t terms = launched.largest("terms");
  const bool of_eight = mutant.text.find("m16n8k8") != std::string::npos;
  return of_eight && lines[at].statement.find("+ 15) / 16 * 16") != std::string::npos &&
         (terms + 7) / 8 * 8 < (terms + 15) / 16 * 16;
}

/// Whether slots of a resident matrix are in the block's one tile still where the tile's number is
/// (slot % `width_of_parts`) / `terms`: 0 for the columns that the block owns.
bool is_of_first_tile(const std::vector<Line>& lines, size_t at, int64_t width_of_parts,
                      int64_t owned, int64_t terms) {
  std::smatch match;
  if (!std::regex_search(lines[at + 1].statement, match, compiled(R"(of_block \* (\d+))")))
    return false;
  const int64_t width = std::stoll(match[1]);
  return owned <= width && (width_of_parts <= terms || (width_of_parts == width && owned <= terms));
}

/// Whether what a nest writes is read in the next one, the first of the next step after the last,
/// by the thread that wrote it: threads lie on the one's columns as they do on the other's terms.
/// On tensor cores they lie otherwise.
bool reads_its_own(const std::vector<Line>& lines, size_t at) {
  static const std::regex threads(R"(threads_x = ([0-9]+),)"), staged(R"(first_term \+= ([0-9]+))");
  std::smatch match;
  const auto number_in = [&](size_t line, const std::regex& pattern) {
    return std::regex_search(lines[line].statement, match, pattern) ? std::stoll(match[1]) : 0;
  };
  if (std::ranges::any_of(lines, [](const Line& line) {
        return line.statement.find("mma.sync") != std::string::npos;
      }))
    return false;
  int64_t mine = 0, next = 0, terms = 0;
  for (size_t line = at; line > 0 && mine == 0; --line) mine = number_in(line, threads);
  size_t line = at;
  for (size_t i = 0; i < lines.size() && next == 0; ++i, ++line) {
    next = number_in(line % lines.size(), threads);
  }
  for (; line < at + lines.size() && terms == 0; ++line) {
    if (number_in(line % lines.size(), threads) > 0) break;
    terms = number_in(line % lines.size(), staged);
  }
  // Of more terms than there are threads, each thread has some.
  return mine == (terms > 0 ? std::min<int64_t>(terms, 256) : next);
}

/// Why a defect of where a tile lies in shared memory changes nothing.
std::string_view why_equal_in_tile(const TextMutant& mutant, const std::vector<Line>& lines,
                                   size_t at, const Launched& launched, const TileLoops& loops) {
  const std::string_view rule = mutant.rule->name;
  static const std::regex left(R"(^const (?:float|double)\* left_)"),
      right(R"(^(?:const )?(?:float|double)\* (?:resident_tile|to = &resident_))");
  const bool of_left = std::regex_search(mutant.before, left);
  const bool of_right = std::regex_search(mutant.before, right);
  std::smatch place;
  if (rule == "remainder for quotient of a sum" &&
      ((of_left && loops.one_tile_of_rows) || (of_right && loops.one_tile_of_columns)))
    return "its blocks have one tile there";
  if (rule == "remainder for quotient of a sum" &&
      mutant.now.find(" + 15) % 16 * 16)") != std::string::npos &&
      std::regex_search(mutant.now, place, compiled(R"(\(row - row_begin\) / (\d+) \*)")) &&
      of_nest(lines, at, launched, "rows_owned") <= std::stoll(place[1]))
    return "its blocks have one tile there";
  if (rule == "guard of a load removed" && loops.one_tile_of_rows &&
      std::regex_search(mutant.before, compiled(R"(\bwarp < \d+ && )")) &&
      !std::regex_search(mutant.now, compiled(R"(\bwarp < \d+ && )")))
    return "warps without sums are beyond the rows of the one tile";
  if (rule == "rows counted from the first of all" && !launched.has_row_groups())
    return "there is one group of rows";
  if (rule == "rows counted from the first of all" && of_left &&
      std::regex_search(mutant.now, place, compiled(R"(\bfirst_row / (\d+))"))) {
    const int64_t owned = of_nest(lines, at, launched, "rows_owned");
    const int64_t rows = of_nest(lines, at, launched, "rows_of");
    if (loops.one_tile_of_rows && (rows - 1) / owned * owned < std::stoll(place[1]))
      return "all blocks begin within the first tile";
  }
  if (rule == "stride of rows handed on off by one" && of_left && loops.one_tile_of_rows &&
      loops.one_stage)
    return "it is the first term of the first tile";
  return {};
}

/// Why a defect of a loop whose blocks own rows and columns changes nothing.
std::string_view why_equal_in_placed(const TextMutant& mutant, const std::vector<Line>& lines,
                                     size_t at, const Launched& launched) {
  const std::string_view rule = mutant.rule->name;
  std::smatch place;
  if (rule == "at the first of shared memory" &&
      std::regex_search(mutant.before, place, compiled(R"(shared\[(\w+)\])")) &&
      launched.largest(place[1].str()) == 0)
    return "it lies there";
  if (rule == "barrier removed") {
    const std::string& next = lines[at + 1].statement;
    if (next.starts_with("unsigned barriers") || next.starts_with("for (long long iteration"))
      return "what is resident is read behind the barrier of a left piece";
  }
  const TileLoops loops = tile_loops(lines, at, launched);
  if (rule == "last resident words left out" &&
      resident_words_are_beyond(mutant, lines, at, launched))
    return "they are zeros beyond the terms that are multiplied";
  const std::string_view of_tile = why_equal_in_tile(mutant, lines, at, launched, loops);
  if (!of_tile.empty()) return of_tile;
  if (loops.terms > 0 && loops.one_tile() && rule == "barrier removed" && loops.one_stage &&
      lines[at + 1].statement == "}")
    return "its blocks have one tile each";
  if (loops.terms > 0 && loops.one_tile_of_columns && rule == "first resident tile")
    return "its blocks have one tile each";
  if (rule == "first piece resident" && loops.one_stage) return "its terms are one piece";
  if (rule == "barrier removed" && loops.terms == 0 && reads_its_own(lines, at))
    return "each thread reads what it has written";
  if (mutant.before == "cluster_barrier();" && lines[at + 1].text == "  }" &&
      reads_its_own(lines, at) && has_met_since_stores(lines, at))
    return "each thread reads what it has written, and what is handed on was met for before";
  if (kOfPieces.contains(rule) && loops.terms > 0 && loops.one_piece)
    return "it is launched with one piece";
  const bool of_columns = mutant.before.find("column") < mutant.before.find("row_");
  if (kOfShares.contains(rule) && of_columns && launched.largest("column_groups") == 1)
    return "there is one group of columns";
  const bool of_rows =
      (kOfShares.contains(rule) && !of_columns) || rule == "groups meet in one place" ||
      (rule == "guard of a load removed" && loops.one_tile() && mutant.before.starts_with("if ("));
  if (of_rows && !launched.has_row_groups()) return "there is one group of rows";
  if (rule == "from the first of all" && of_columns && is_of_matrix_in_memory(lines, at))
    return "blocks that own the columns store the same bytes";
  const int64_t owned = of_nest(lines, at, launched, "columns_owned");
  if (std::regex_search(mutant.now, place, compiled(R"(column / ([0-9]+) \* \(\w+ \+ 1\))")) &&
      std::stoll(place[1]) >= of_nest(lines, at, launched, "columns_of"))
    return "it is launched with one panel";
  if ((rule == "resident tile counted from 0" || rule == "resident from the first column") &&
      std::regex_search(mutant.before, place, compiled(R"(column_begin\) / (\d+))")) &&
      (launched.largest("column_groups") - 1) * owned < std::stoll(place[1]))
    return "all columns are in the first tile";
  if (rule == "remainder for quotient" &&
      std::regex_search(mutant.now, place, compiled(R"(of_block = slot % (\d+) / )")) &&
      is_of_first_tile(lines, at, std::stoll(place[1]), owned, resident_terms(lines, at, launched)))
    return "its blocks have one tile each";
  if (rule == "thread of another axis" && mutant.now.ends_with("thread_y = threadIdx.y / 256;"))
    return "it is 0";
  if (rule == "thread of another axis" && mutant.before.starts_with("if (first_row") &&
      has_no_thread_beyond(lines, at, launched))
    return "every thread has a column";
  return {};
}

/// Why a defect of where threads meet, or of which of them do something, changes nothing.
std::string_view why_equal_of_threads(const TextMutant& mutant, const std::vector<Line>& lines,
                                      size_t at, const Launched& launched, bool in_loop) {
  const std::string_view rule = mutant.rule->name;
  if (rule == "barrier removed" && lines[at + 1].statement == "}" && ends_a_turn(lines, at) &&
      (!in_loop || has_one_turn(lines, at, launched)))
    return "its blocks have one turn each";
  if (rule == "thread of another axis" && in_loop &&
      (mutant.before.find("(thread_x < columns ? ") != std::string::npos ||
       (mutant.before.starts_with("if (first_row") &&
        tile_loops(lines, at, launched).one_tile_of_columns)) &&
      has_no_thread_beyond(lines, at, launched))
    return "there are as many columns";
  return {};
}

/// Why a defect of where elements of packed matrices are changes nothing.
std::string_view why_equal_in_panels(const TextMutant& mutant, const Launched& launched) {
  std::smatch panel;
  if (std::regex_search(mutant.now, panel, compiled(R"(column / ([0-9]+) \* \(\w+ \+ 1\))")) &&
      std::stoll(panel[1]) >= launched.largest("columns"))
    return "it is launched with one panel";
  if (launched.largest("from_matrix") == 0 &&
      mutant.now.starts_with("const long long matrix = i % of_matrix"))
    return "it is launched with one matrix";
  return {};
}

}  // namespace

int64_t of_nest(const std::vector<Line>& lines, size_t at, const Launched& launched,
                const std::string& what) {
  static const std::regex range(R"(columns = columns_of_([0-9]+);)");
  std::smatch match;
  while (at > 0 && !std::regex_search(lines[at].statement, match, range)) --at;
  const auto found = launched.numbers.find(what + "_" + (at > 0 ? match[1].str() : ""));
  return found == launched.numbers.end() ? 0 : found->second;
}

const std::vector<EqualPlace>& equal_places() { return kEqual; }

std::string_view why_equal(const TextMutant& mutant, const Launched& launched) {
  const std::string_view rule = mutant.rule->name;
  const std::vector<Line> lines = lines_of(mutant.text);
  const size_t at = size_t(mutant.line) - 1;
  const bool in_loop = mutant.text.find("iteration < steps") != std::string::npos;
  const bool of_next_stage = block_around(lines, at, [](const Line& line) {
                               return line.statement.starts_with("if (loaded_term < ");
                             }) != nullptr;
  const TileLoops loops = tile_loops(lines, at, launched);
  if (of_next_stage && loops.terms > 0 && loops.one_stage)
    return "there is no stage behind the first";
  if (is_of_what_is_not_stored(mutant, lines, at)) return "it is not stored, or nobody reads it";
  const std::string_view of_gpu = why_equal_of_gpus(mutant, lines, at, launched);
  if (!of_gpu.empty()) return of_gpu;
  if (is_placed(mutant)) {
    const std::string_view reason = why_equal_in_placed(mutant, lines, at, launched);
    if (!reason.empty()) return reason;
  }
  const bool of_blocks =
      rule.starts_with("blocks ") || kOfBarriers.contains(rule) ||
      (in_loop && head_above(lines, at).find(" block_barrier(") != std::string::npos);
  if (of_blocks && launched.blocks == 1) return "it is launched with one block";
  if (rule == "one less" && mutant.before.find("* blockDim.x)") != std::string::npos &&
      !launched.has_single_column)
    return "no block begins with the last column";
  // Its stride of rows is 0, or nothing.
  const bool of_rows = std::regex_search(
      mutant.now,
      compiled(R"(\brow \* \(\w+ \+ 1\)|; row <= rows; |^if \((?:true|row <= rows)\))"));
  if (of_rows && launched.largest("rows") == 1 && !in_loop) return "it is launched with one row";
  if (of_rows && in_loop && is_of_one_row(lines, at, launched)) return "its nest has one row";
  const std::string_view of_panels = why_equal_in_panels(mutant, launched);
  if (!of_panels.empty()) return of_panels;
  if (kOfPieces.contains(rule)) {
    const int64_t stride = stride_around(lines, at);
    const int64_t most =
        std::max({launched.largest("rows"), launched.largest("columns"),
                  rule == "earlier pieces left out" || rule == "term of a piece left out"
                      ? launched.largest("terms")
                      : 0});
    if (stride >= most) return "it is launched with one piece";
  }
  const std::string_view of_threads = why_equal_of_threads(mutant, lines, at, launched, in_loop);
  if (!of_threads.empty()) return of_threads;
  // Where a matrix is resident its panels end with its terms.
  if (mutant.before.starts_with("held_") &&
      (rule == "guard of a load removed" || rule == "guard of one more"))
    return mutant.now.find("column <= column_end") != std::string::npos
               ? "columns of others are not multiplied with"
               : std::string_view();
  for (const EqualPlace& equal : kEqual) {
    if (rule == equal.rule && mutant.before.find(equal.part) != std::string::npos)
      return equal.reason;
  }
  return {};
}

}  // namespace graphc::core::testing
