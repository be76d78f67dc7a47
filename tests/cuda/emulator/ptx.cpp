// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tests/cuda/emulator/access.h"
#include "tests/cuda/emulator/grid.h"
#include "tests/cuda/emulator/lanes.h"

namespace graphc::core::cuda_emulator {
namespace {

constexpr uint32_t sign_bit = 0x80000000u, infinity = 0x7f800000u;

/// To nearest, ties away from zero. The low 13 bits of a tf32 are not specified: here they are not
/// zero.
uint32_t tf32_of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return 0x7fffffffu;
  if ((bits & ~sign_bit) == infinity) return bits;
  return (bits + 0x1000u) | 0x0aabu;
}

uint32_t bf16_of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return 0x7fffu;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

/// To nearest, ties to even.
uint32_t f16_of(float value) {
  const uint32_t sign = std::bit_cast<uint32_t>(value) >> 16 & 0x8000u;
  const double size = std::abs(double(value));
  if (value != value) return 0x7fffu;
  if (size >= 65520) return sign | 0x7c00u;
  if (size < 0x1p-14) return sign | uint32_t(std::nearbyint(size * 0x1p24));
  const int exponent = std::ilogb(size);
  // The 1 in front goes into the exponent, and so does what rounds up to the next power.
  const auto digits = uint32_t(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return sign | (uint32_t(exponent + 14) * 1024u + digits);
}

void to_tf32(Warp& warp, const Instruction& i, uint32_t lanes) {
  const float* value = warp.slot<float>(i.b);
  uint32_t* result = warp.slot<uint32_t>(i.result);
  each_lane_in_order(lanes, [&](uint32_t lane) { result[lane] = tf32_of(value[lane]); });
}

/// The first operand becomes the upper half.
template <auto rounded>
void to_pair(Warp& warp, const Instruction& i, uint32_t lanes) {
  const float* upper = warp.slot<float>(i.b);
  const float* lower = warp.slot<float>(i.b + register_bytes);
  uint32_t* result = warp.slot<uint32_t>(i.result);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    result[lane] = rounded(upper[lane]) << 16 | rounded(lower[lane]);
  });
}

void fence_of_gpu(Warp& warp, const Instruction&, uint32_t lanes) {
  each_lane_in_order(lanes, [&](uint32_t lane) { warp.grid->fence(warp, lane); });
}

/// Two words side by side, from memory aligned for both.
void load_pair(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.b);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const auto both = read_value<uint64_t>(warp, i, lane, address[lane]);
    warp.slot<uint32_t>(i.result)[lane] = uint32_t(both);
    warp.slot<uint32_t>(i.result + register_bytes)[lane] = uint32_t(both >> 32);
  });
}

void load_word(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.b);
  uint32_t* result = warp.slot<uint32_t>(i.result);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    result[lane] = read_value<uint32_t>(warp, i, lane, address[lane]);
  });
}

/// st.global: an address, and words.
void store_pair(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.result);
  const uint32_t* first = warp.slot<uint32_t>(i.c - register_bytes);
  const uint32_t* second = warp.slot<uint32_t>(i.c);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    write_value<uint64_t>(warp, i, lane, address[lane], uint64_t(second[lane]) << 32 | first[lane]);
  });
}

void store_word(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.result);
  const uint32_t* word = warp.slot<uint32_t>(i.c);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    write_value<uint32_t>(warp, i, lane, address[lane], word[lane]);
  });
}

/// Words behind each other by one access, which is aligned as a whole.
template <uint32_t words>
void check_alignment(const Warp& warp, const Instruction& i, uint32_t lane, uint64_t address) {
  if (address % (4 * words) != 0)
    lane_error(warp, i, lane,
               fmt::format("an access of {} bytes at {:#x}, wanted a multiple of {}", 4 * words,
                           address, 4 * words));
}

template <uint32_t words>
void load_global_words(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.b);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const uint64_t from = address[lane];
    check_alignment<words>(warp, i, lane, from);
    for (uint32_t word = 0; word < words; ++word)
      warp.slot<uint32_t>(i.result + word * register_bytes)[lane] =
          read_value<uint32_t>(warp, i, lane, from + 4 * word);
  });
}

/// st.global: an address, and words for behind each other, of which the last is `i.c`.
template <uint32_t words>
void store_global_words(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.result);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    check_alignment<words>(warp, i, lane, address[lane]);
    for (uint32_t word = 0; word < words; ++word)
      write_value<uint32_t>(warp, i, lane, address[lane] + 4 * word,
                            warp.slot<uint32_t>(i.c - (words - 1 - word) * register_bytes)[lane]);
  });
}

void move_word(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* from = warp.slot<uint32_t>(i.b);
  uint32_t* result = warp.slot<uint32_t>(i.result);
  each_lane_in_order(lanes, [&](uint32_t lane) { result[lane] = from[lane]; });
}

/// Off by less than a unit in the last place, which is what PTX promises: rounded to zero.
void approximate_reciprocal(Warp& warp, const Instruction& i, uint32_t lanes) {
  const float* of = warp.slot<float>(i.b);
  float* result = warp.slot<float>(i.result);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const double exact = 1.0 / (std::isnormal(of[lane]) || !std::isfinite(of[lane])
                                    ? double(of[lane])
                                    : std::copysign(0.0, double(of[lane])));
    float rounded = float(exact);
    if (std::isfinite(rounded) && std::abs(double(rounded)) > std::abs(exact))
      rounded = std::nextafter(rounded, 0.0f);
    result[lane] =
        std::isnormal(rounded) || !std::isfinite(rounded) ? rounded : std::copysign(0.0f, rounded);
  });
}

void no_operation(Warp&, const Instruction&, uint32_t) {}

constexpr PtxGroup of_product[] = {{'f', 4, true}, {'r', 4, true}, {'r', 2, true}, {'f', 4, true}};
constexpr PtxGroup of_matrices[] = {{'r', 4, true}, {'r', 1, false, true}};
constexpr PtxGroup of_conversion[] = {{'r'}, {'f'}};
constexpr PtxGroup of_move[] = {{'r'}, {'r'}};
constexpr PtxGroup of_reciprocal[] = {{'f'}, {'f'}};
constexpr PtxGroup of_pair[] = {{'r'}, {'f'}, {'f'}};
constexpr PtxGroup of_mapping[] = {{'l'}, {'l'}, {'r'}};

constexpr PtxGroup of_global_pair_load[] = {{'f', 2, true}, {'l', 1, false, true}};
constexpr PtxGroup of_global_word_load[] = {{'r'}, {'l', 1, false, true}};
constexpr PtxGroup of_global_words_load[] = {{'r', 4, true}, {'l', 1, false, true}};
constexpr PtxGroup of_global_two_words_load[] = {{'r', 2, true}, {'l', 1, false, true}};
constexpr PtxGroup of_global_two_words_store[] = {{'l', 1, false, true}, {'r', 2, true}};
constexpr PtxGroup of_global_words_store[] = {{'l', 1, false, true}, {'r', 4, true}};
constexpr PtxGroup of_global_pair_store[] = {{'l', 1, false, true}, {'f', 2, true}};
constexpr PtxGroup of_global_word_store[] = {{'l', 1, false, true}, {'r'}};

constexpr PtxInstruction table[] = {
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", of_product, multiply_tf32,
     Control::collective},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", of_product, multiply_bf16,
     Control::collective},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", of_product, multiply_f16,
     Control::collective},
    {"cvt.rna.tf32.f32", of_conversion, to_tf32},
    {"cvt.rn.bf16x2.f32", of_pair, to_pair<bf16_of>},
    {"cvt.rn.f16x2.f32", of_pair, to_pair<f16_of>},
    {"mov.u32", of_move, move_word},
    {"rcp.approx.ftz.f32", of_reciprocal, approximate_reciprocal, Control::plain, false,
     PtxInstruction::Result::first, true},
    {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", of_matrices, load_matrices, Control::collective,
     true},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", of_matrices, load_matrices_transposed,
     Control::collective, true},
    {"mapa.u64", of_mapping, map_shared_rank},
    {"ld.global.v2.f32", of_global_pair_load, load_pair, Control::plain, true},
    {"ld.global.u32", of_global_word_load, load_word, Control::plain, true},
    {"ld.global.v2.u32", of_global_two_words_load, load_global_words<2>, Control::plain, true},
    {"ld.global.v4.u32", of_global_words_load, load_global_words<4>, Control::plain, true},
    {"st.global.v2.u32", of_global_two_words_store, store_global_words<2>, Control::plain, true,
     PtxInstruction::Result::none},
    {"st.global.v4.u32", of_global_words_store, store_global_words<4>, Control::plain, true,
     PtxInstruction::Result::none},
    {"st.global.v2.f32", of_global_pair_store, store_pair, Control::plain, true,
     PtxInstruction::Result::none},
    {"st.global.u32", of_global_word_store, store_word, Control::plain, true,
     PtxInstruction::Result::none},
    {"fence.acq_rel.gpu", {}, fence_of_gpu, Control::plain, true},
    {"barrier.cluster.arrive.release", {}, no_operation, Control::cluster_arrive, true},
    {"barrier.cluster.wait.acquire", {}, no_operation, Control::cluster_wait, true},
};

std::array<std::span<const PtxInstruction>, 3> all_instructions() {
  return {table, asynchronous_instructions(), copy_instructions()};
}

}  // namespace

void map_shared_rank(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.b);
  const uint32_t* rank = warp.slot<uint32_t>(i.c);
  uint64_t* result = warp.slot<uint64_t>(i.result);
  const Allocation& own = warp.block->shared;
  const auto& blocks = warp.block->cluster->blocks;
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const uint64_t offset = address[lane] - own.begin;
    if (offset >= own.size)
      lane_error(warp, i, lane, "mapa of an address outside the block's shared memory");
    if (rank[lane] >= blocks.size())
      lane_error(warp, i, lane,
                 fmt::format("mapa to block {} of a cluster of {}", rank[lane], blocks.size()));
    result[lane] = blocks[rank[lane]]->shared.begin + offset;
  });
}

size_t PtxInstruction::operands() const {
  size_t sum = 0;
  for (const PtxGroup& group : groups) sum += size_t(group.count);
  return sum;
}

const PtxInstruction* ptx_named(std::string_view name, std::string_view text) {
  const auto has = [&](std::string_view literal) {
    return literal.empty() || text.find(fmt::format(" {},", literal)) != std::string_view::npos ||
           text.find(fmt::format(" {};", literal)) != std::string_view::npos;
  };
  for (const auto& part : all_instructions()) {
    for (const PtxInstruction& one : part) {
      if (one.name == name && std::ranges::all_of(one.groups, has, &PtxGroup::literal)) return &one;
    }
  }
  return nullptr;
}

std::string ptx_names() {
  std::string names;
  std::string_view last;
  for (const auto& part : all_instructions()) {
    for (const PtxInstruction& one : part) {
      if (one.name == last) continue;
      last = one.name;
      if (!names.empty()) names += ", ";
      names += one.name;
    }
  }
  return names;
}

}  // namespace graphc::core::cuda_emulator
