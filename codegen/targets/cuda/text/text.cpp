// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/text.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

namespace graphc::core::cuda {
namespace {

/// Words of the language.
constexpr std::string_view kWords =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
    "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
    "else enum explicit export extern false float for friend goto if inline int long mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "register reinterpret_cast requires return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t while xor xor_eq";

/// Functions that the text calls, and its own variables.
constexpr std::string_view kOwn =
    "abs absf acos acosf ahead apart around arrived asin asinf at at_column at_part "
    "at_position at_row at_term at_two atan atanf await_bytes await_copies_but_2 barriers batch "
    "begin begin_counting behind bf16_bits bf16_of_pair bf16_pair bf16_value block blockDim "
    "column_lane get_two_words give_sums of_columns staged store_two_words terms_lane "
    "blockIdx block_barrier block_begin block_group block_x block_y block_z bytes ceil ceilf "
    "cluster_barrier column column_begin column_end column_group column_groups column_there "
    "columns columns_there copies copy_16 copy_4 copy_8 copysign copysignf cos cosf cosh "
    "coshf count counter each end end_copies erf erff exchange exp exp2 exp2f expf expm1 "
    "expm1f f16_pair fabs fabsf first first_at first_column first_row first_term first_turn "
    "floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf following from get_words gridDim "
    "group half i in_group in_line in_shared in_tile in_turn in_vain inbox inner isinf isinff "
    "isnan isnanf iteration lane lane_term lane_terms lane_word lanes larger larger_double "
    "last last_line last_term left limit line load load_bf16_pair load_pair load_two_words "
    "load_words loaded_term log log1p log1pf log2 log2f logf loop_number matrix matrix_group "
    "max maxf mean means min minf more near_term next next_column next_place next_row "
    "next_stage numbers numbers_of_rows of of_block one_over one_over_all one_over_count "
    "operand outer own packed pair part partial_rows patience peer_address piece place "
    "place_of_sums places polls pow powf put_2 put_4 rank ready renewed resident_tile "
    "resident_word rest right rint rintf row row_begin row_end row_group row_groups row_sums "
    "row_there row_tile rows rows_there rsqrt rsqrtf second send_1 send_2 send_2_sums send_4 "
    "send_4_sums shared shared_address sigmoid sigmoid_double sin sinf sinh sinhf slot slots "
    "smaller smaller_double split sqrt sqrtf stage stage_end stages staging step steps "
    "store_bf16_pair store_pair store_words strip stuck sum sums tan tanf tanh tanhf term "
    "terms_there tf32_bits tf32_value there thread threadIdx thread_x thread_y threads_x "
    "threads_y tile to trunc truncf turn unit unit_tile wanted warp warp_column warp_of_piece "
    "warp_row warps whole word words words_there";

/// Prefixes of its own variables whose names end in a number or another name.
constexpr std::string_view kOwnBeginnings[] = {
    "ahead_",        "before_",       "block_begin_",   "blocks_",      "column_begin_",
    "column_end_",   "columns_of_",   "columns_owned_", "counter_",     "exchanged_",
    "extent_",       "first_",        "from_",          "group_begin_", "group_end_",
    "handed_",       "held_",         "inbox_",         "kept_",        "left_",
    "limit_",        "more_weights_", "number_",        "of_warps_",    "operand_",
    "other_",        "outer_",        "partial_",       "resident_",    "right_",
    "row_begin_",    "row_end_",      "rows_each_",     "rows_of_",     "rows_owned_",
    "store_to_all_", "sums_",         "term_",          "term_of_",     "there_",
    "threads_x_",    "weights_"};

/// Every kernel looks up a few hundred names: searching the texts took a tenth of compilation.
const std::unordered_set<std::string_view>& taken_words() {
  static const std::unordered_set<std::string_view> words = [] {
    std::unordered_set<std::string_view> all;
    for (std::string_view text : {kWords, kOwn}) {
      while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        all.insert(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
      }
    }
    return all;
  }();
  return words;
}

bool is_taken(std::string_view name) {
  // Macros of the compiler's headers consist of capitals or begin with these prefixes.
  const bool capitals = name.size() > 1 && std::ranges::none_of(name, [](char c) {
                          return std::islower(static_cast<unsigned char>(c)) != 0;
                        });
  if (capitals || name.starts_with("cuda") || name.starts_with("CU")) return true;
  return taken_words().contains(name) ||
         std::ranges::any_of(kOwnBeginnings,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

std::string_view stored_type_text(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::bf16:
      return "unsigned short";
    case DType::i32:
      return "int";
    case DType::i64:
      return "long long";
    case DType::u32:
      return "unsigned";
    case DType::u8:
    case DType::boolean:
      return "unsigned char";
  }
  return "";
}

std::string_view register_type_text(DType dtype) {
  if (dtype == DType::bf16) return "float";
  return dtype == DType::boolean ? "bool" : stored_type_text(dtype);
}

std::string in_comment(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c < ' ' || c > '~' || c == '\\') c = '?';
  }
  return text;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto is_of_name = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (!(at > 0 && is_of_name(at - 1)) && !is_of_name(at + word.size())) return true;
  }
  return false;
}

std::string needed_lines(std::string_view declarations, std::string_view text) {
  std::string needed;
  // A declaration may need those before it.
  while (!declarations.empty()) {
    declarations.remove_suffix(1);  // the end of the line
    const size_t before = declarations.rfind('\n');
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = declarations.substr(begin);
    declarations = declarations.substr(0, begin);
    const std::string_view left = line.substr(0, line.find(" = "));
    const std::string_view name = left.substr(left.rfind(' ') + 1);
    if (has_word(text, name) || has_word(needed, name)) needed.insert(0, std::string(line) + '\n');
  }
  return needed;
}

void TextWriter::lines(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    text_.append(size_t(indent_ - 1) * 2, ' ');
    text_ += text.substr(0, end);
    text_ += '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::string Names::make(std::string_view wanted) {
  std::string name;
  for (const char c : wanted) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    // Two underscores in a row are reserved for the compiler.
    if (fits && (c != '_' || name.empty() || name.back() != '_')) name += c;
    if (!fits && !name.empty() && name.back() != '_') name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  while (!name.empty() && name.front() == '_') name.erase(0, 1);
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front()))) name = "v" + name;
  if (is_taken(name)) name = "value_" + name;
  const int before = taken_[name]++;
  if (before == 0) return name;
  return make(fmt::format("{}_{}", name, before + 1));
}

}  // namespace graphc::core::cuda
