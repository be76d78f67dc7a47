// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "codegen/targets/cuda/text/mma_layout.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/operand_text.h"
#include "codegen/targets/cuda/text/scalar_text.h"
#include "codegen/targets/cuda/text/shared_text.h"

namespace graphc::core::cuda::internal {
namespace {

constexpr std::string_view kFunctions =
    R"(__device__ __forceinline__ void load_words(unsigned* words, unsigned address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address));
}

__device__ __forceinline__ void store_words(unsigned address, const unsigned* words) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
               : : "r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

)";

/// For clusters.
constexpr std::string_view kClusterFunctions =
    R"(// The corresponding address in the block of that rank of the cluster.
__device__ __forceinline__ unsigned peer_address(unsigned address, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

// An mbarrier whose phases end when one thread has said how many bytes to expect, and they came.
__device__ __forceinline__ void begin_counting(unsigned counter, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(counter), "r"(1u) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               : : "r"(counter), "r"(bytes) : "memory");
}

// Waits for the end of a phase; the first thread then lets the phase after the next begin.
__device__ __forceinline__ void await_bytes(unsigned counter, unsigned parity, unsigned bytes) {
  unsigned is_over = 0u;
  while (is_over == 0u)
    asm volatile("{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2; "
                 "selp.u32 %0, 1, 0, done; }"
                 : "=r"(is_over) : "r"(counter), "r"(parity) : "memory");
  if (threadIdx.x == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 : : "r"(counter), "r"(bytes) : "memory");
}

)";

/// For blocks that are no cluster.
constexpr std::string_view kGetWords =
    R"(// Words that another block may have stored before the last barrier.
__device__ __forceinline__ void get_words(unsigned* words, const unsigned* at) {
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "l"(at) : "memory");
}

)";

/// The same where tiles have eight rows.
constexpr std::string_view kGetTwoWords =
    R"(// Words that another block may have stored before the last barrier.
__device__ __forceinline__ void get_two_words(unsigned* words, const unsigned* at) {
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1]) : "l"(at) : "memory");
}

__device__ __forceinline__ void store_two_words(unsigned address, const unsigned* words) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};"
               : : "r"(address), "r"(words[0]), "r"(words[1]) : "memory");
}

)";

/// For fused multiply-adds.
constexpr std::string_view kGiveSums =
    R"(// Lane 8 t + u has the sums of its terms for rows 0 to 7 of column u. Lane 4 g + q gets
// those of all terms for row g and columns 2 q and 2 q + 1.
__device__ __forceinline__ void give_sums(const float* sums, float* own) {
  const int lane = threadIdx.x % 32;
  float half[4], pair[2];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float kept = lane & 16 ? sums[i + 4] : sums[i];
    half[i] = kept + __shfl_xor_sync(0xffffffffu, lane & 16 ? sums[i] : sums[i + 4], 16);
  }
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float kept = lane & 8 ? half[i + 2] : half[i];
    pair[i] = kept + __shfl_xor_sync(0xffffffffu, lane & 8 ? half[i] : half[i + 2], 8);
  }
  // Rows 2 t and 2 t + 1 of column u. A lane reads one number of each of two others.
  const int row = lane / 4, from = row / 2 * 8 + lane % 4 * 2;
  const float one = __shfl_sync(0xffffffffu, lane & 1 ? pair[1] : pair[0], from + row % 2);
  const float other = __shfl_sync(0xffffffffu, lane & 1 ? pair[0] : pair[1], from + 1 - row % 2);
  own[0] = row % 2 == 0 ? one : other;
  own[1] = row % 2 == 0 ? other : one;
}

)";

/// For tiles of eight rows.
constexpr std::string_view kLoadTwoWords =
    R"(__device__ __forceinline__ void load_two_words(unsigned* words, unsigned address) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1]) : "r"(address));
}

)";

/// For sums of squares of distances from a mean.
constexpr std::string_view kOneOver =
    R"(// One over a count of numbers; 0 for none of them.
__device__ __forceinline__ float one_over(int count) {
  return count > 0 ? 1.0f / (float)count : 0.0f;
}

)";

/// {0}: words that a lane sends; {1}: their parameters; {2}: their places in the instruction;
/// {3}: they as operands; {4}: the place behind them; {5}: blocks of a cluster; {6}: the suffix of
/// the instruction for so many.
constexpr const char* kSend =
    R"(// Writes words into the shared memory of all blocks, where an mbarrier counts them.
__device__ __forceinline__ void send_{0}(unsigned address, unsigned counter, {1}) {{
  #pragma unroll
  for (unsigned rank = 0u; rank < {5}u; ++rank) {{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{6}.b32 "
                 "[%0], {2}, [%{4}];"
                 : : "r"(peer_address(address, rank)), {3},
                     "r"(peer_address(counter, rank)) : "memory");
  }}
}}

)";

/// The same through memory.
constexpr const char* kPut =
    R"(// Stores words for all blocks, which read them behind a barrier.
__device__ __forceinline__ void put_{0}(unsigned* at, {1}) {{
  asm volatile("st.global{4}.u32 [%0], {2};" : : "l"(at), {3} : "memory");
}}

)";

/// {0}: sums that a lane sends; {1}: their parameters; {2}: their places in the instruction; {3}:
/// they as operands; {4}: the place behind them.
constexpr const char* kSendSums =
    R"(// Writes sums into the shared memory of a block, whose mbarrier counts them.
__device__ __forceinline__ void send_{0}_sums(unsigned address, unsigned counter, unsigned rank,
                                             {1}) {{
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v{0}.b32 "
               "[%0], {{{2}}}, [%{4}];"
               : : "r"(peer_address(address, rank)), {3},
                   "r"(peer_address(counter, rank)) : "memory");
}}

)";

/// The device function that hands on so many words.
std::string send_text(int words, const CountedLoop& loop) {
  std::vector<std::string> parameters, places, operands;
  for (int word = 0; word < words; ++word) {
    parameters.push_back(fmt::format("unsigned word_{}", word));
    places.push_back(fmt::format("%{}", word + 1));
    operands.push_back(fmt::format("\"r\"(word_{})", word));
  }
  const std::string all = fmt::format("{}", fmt::join(places, ", "));
  const std::string vector = words == 1 ? all : fmt::format("{{{}}}", all);
  const std::string suffix = words == 1 ? std::string() : fmt::format(".v{}", words);
  if (loop.through_memory)
    return fmt::format(kPut, words, fmt::join(parameters, ", "), vector, fmt::join(operands, ", "),
                       suffix);
  return fmt::format(kSend, words, fmt::join(parameters, ", "), vector, fmt::join(operands, ", "),
                     words + 1, loop.blocks, suffix);
}

/// The device function that sends so many partial sums to one block.
std::string send_sums_text(int count) {
  std::vector<std::string> parameters, places, operands;
  for (int i = 0; i < count; ++i) {
    parameters.push_back(fmt::format("float sum_{}", i));
    places.push_back(fmt::format("%{}", i + 1));
    operands.push_back(fmt::format("\"r\"(__float_as_uint(sum_{}))", i));
  }
  return fmt::format(kSendSums, count, fmt::join(parameters, ", "), fmt::join(places, ", "),
                     fmt::join(operands, ", "), count + 1);
}

/// The device function term_of_N as text.
void write_term_of(TextWriter& text, const CountedLoop& loop, const CountedProduct& product) {
  text.line(
      "// The term of a left operand at a place, 0 to 7, of a block's strip; -1: none. Strips");
  text.line("// are in the order of those who make them: blocks, units, parts.");
  text.open("__device__ __forceinline__ int term_of_{}(int block, int in_block, int place)",
            product.name());
  for (size_t i = product.stores.size(); i-- > 0;) {
    const CountedStore& store = product.stores[i];
    if (store.first_strip > 0) text.open("if (in_block >= {})", store.first_strip);
    // The store's strip `own` has a part of a unit tile.
    const std::string own =
        store.first_strip == 0 ? "in_block" : fmt::format("(in_block - {})", store.first_strip);
    const std::string tile = store.parts == 1 ? own : fmt::format("{} / {}", own, store.parts);
    text.line("const int unit = {} * {} + place, column = block * {} + unit;", tile, kUnits,
              store.units_of_block);
    // No branch, so that lanes load many terms at a time.
    text.line("const bool there = (block < {}) & (in_block < {}) & (unit < {}) & (column < {});",
              loop.blocks, product.strips_of_block, store.units_of_block, store.units);
    const std::string part = store.parts == 1
                                 ? std::string()
                                 : fmt::format("{} % {} * {} + ", own, store.parts, store.units);
    const std::string first =
        store.store.first_term == 0 ? std::string() : fmt::format("{} + ", store.store.first_term);
    text.line("return there ? {}{}column : -1;", first, part);
    if (store.first_strip > 0) text.close();
  }
  text.close();
  text.blank();
}

}  // namespace

std::string unit_tile_text(const CountedNest& nest) {
  if (nest.warps == 1) return "0";
  const std::string warp =
      nest.warps == kCountedWarps ? "warp" : fmt::format("warp % {}", nest.warps);
  return nest.tiles_of_warp == 1 ? warp : fmt::format("{} * {}", warp, nest.tiles_of_warp);
}

std::string split_text(const CountedNest& nest) {
  return nest.warps == 1 ? std::string("warp") : fmt::format("warp / {}", nest.warps);
}

std::string first_step_text(const CountedProduct& product) {
  if (product.lanes.splits() == 1) return {};
  return fmt::format("{} * {} + ", split_text(product.lanes), product.steps_of_warp);
}

std::string_view word_function(Factors factors) {
  const bool is_whole = factors == Factors::split_tf32 || factors == Factors::as_stored;
  return is_whole ? std::string_view("__float_as_uint") : mma_form(factors).rounded;
}

std::string_view column_lane_text(const CountedProduct& product) {
  return product.uses_fma() ? "column_lane" : "group";
}

std::string_view terms_lane_text(const CountedProduct& product) {
  return product.uses_fma() ? "terms_lane" : "in_group";
}

std::string counted_functions(const CountedLoop& loop) {
  std::set<int> sends;
  TextWriter terms;
  for (const CountedProduct& product : loop.products) {
    for (const CountedStore& store : product.stores) {
      if (!product.scatters) sends.insert(product.words_of_send(store));
    }
    write_term_of(terms, loop, product);
  }
  if (loop.through_memory && !loop.rows.exchanges.empty()) sends.insert(4);
  std::string text = std::string(kSharedAddress) + std::string(kFunctions);
  if (!loop.through_memory) text += kClusterFunctions;
  if (loop.through_memory && (loop.rows_of_lane == 2 || !loop.rows.exchanges.empty()))
    text += kGetWords;
  if (loop.through_memory && loop.rows_of_lane == 1) text += kGetTwoWords;
  if (loop.uses_fma()) text += kGiveSums;
  std::set<int> sums;
  for (const RowExchange& exchange : loop.rows.exchanges) {
    if (!loop.through_memory) sums.insert(exchange.words);
  }
  if (loop.rows_of_lane == 1 || sums.contains(2)) text += kLoadTwoWords;
  for (const int words : sends) text += send_text(words, loop);
  for (const CountedProduct& product : loop.products) {
    if (product.scatters) sums.insert(product.left_words());
  }
  for (const int count : sums) text += send_sums_text(count);
  if (std::ranges::any_of(loop.rows.exchanges,
                          [](const RowExchange& exchange) { return !exchange.squares.empty(); }))
    text += kOneOver;
  return text + terms.text();
}

namespace {

/// Declares the mbarriers of products and the addresses of what is exchanged.
void write_exchange_in_cluster(TextWriter& text, const CountedLoop& loop) {
  text.line("// Of each left operand two mbarriers, and its first copy.");
  for (size_t i = 0; i < loop.products.size(); ++i) {
    const CountedProduct& product = loop.products[i];
    const std::string name = product.name();
    text.line("const unsigned counter_{} = in_shared + {}u;", name, 16 * i);
    text.line("const unsigned operand_{} = in_shared + {}u;", name, 4 * product.operand_at);
    if (product.scatters)
      text.line("const unsigned inbox_{} = in_shared + {}u;", name, 4 * product.inbox_at);
  }
  text.open("if (threadIdx.x == 0)");
  for (const CountedProduct& product : loop.products) {
    for (int copy = 0; copy < 2; ++copy)
      text.line("begin_counting(counter_{} + {}u, {}u);", product.name(), 8 * copy,
                product.bytes_of_use);
  }
  for (const RowExchange& exchange : loop.rows.exchanges) {
    for (int copy = 0; copy < 2; ++copy)
      text.line("begin_counting(in_shared + {}u, {}u);", loop.counter_of(exchange) + 8 * copy,
                loop.bytes_of(exchange));
  }
  text.close();
}

/// The same of blocks that exchange through memory.
void write_exchange_in_memory(TextWriter& text, const CountedLoop& loop, std::string_view group) {
  text.line("// Of each left operand two copies in memory, and the sums of the block's warps.");
  for (const CountedProduct& product : loop.products) {
    text.line("unsigned* operand_{} = exchange + {} * {} + {};", product.name(), group,
              loop.exchange_words, product.operand_at);
    text.line("const unsigned inbox_{} = in_shared + {}u;", product.name(), 4 * product.inbox_at);
  }
  if (!loop.rows.exchanges.empty())
    text.line("unsigned* numbers_of_rows = exchange + {} * {};", group, loop.exchange_words);
}

}  // namespace

void write_counted_beginning(TextWriter& text, const CountedLoop& loop, std::string_view group) {
  text.line("const int rank = (int)column_group;");
  text.line("const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
  text.line("const int group = lane / 4, in_group = lane % 4;");
  if (loop.uses_fma()) text.line("const int terms_lane = lane / 8, column_lane = lane % 8;");
  text.line("const unsigned in_shared = shared_address(shared);");
  loop.through_memory ? write_exchange_in_memory(text, loop, group)
                      : write_exchange_in_cluster(text, loop);
  for (const CountedProduct& product : loop.products) {
    const std::string name = product.name();
    if (product.in_registers > 0)
      text.line("unsigned weights_{}[{}][{}];", name, product.in_registers, product.words_of_step);
    if (product.weights_words > 0)
      text.line("const unsigned more_weights_{} = in_shared + {}u;", name, 4 * product.weights_at);
  }
}

}  // namespace graphc::core::cuda::internal
