// SPDX-License-Identifier: Apache-2.0
// Uniform numbers by blocks: those of the operation, wherever a piece begins and ends.
#include "runtime/philox.h"

#include <gmock/gmock.h>

#include <vector>

#include "ir/build.h"
#include "ir/evaluate.h"

namespace graphc::core {
namespace {

/// The published first words of Random123 under key 0, without their lower 8 bits.
TEST(FillUniform, BeginsWithPublishedBits) {
  std::vector<float> found(4);
  fill_uniform(0, 0, found);
  EXPECT_THAT(found,
              ::testing::ElementsAre(0x6627e8p-24f, 0xe169c5p-24f, 0xbc57acp-24f, 0x9b00dbp-24f));
}

std::vector<float> evaluated(int64_t key, int64_t first, size_t count) {
  std::vector<int64_t> indices;
  for (size_t i = 0; i < count; ++i) indices.push_back(first + int64_t(i));
  Graph graph("words");
  const Value of_key = graph.input({DType::i64, {}}, "key");
  const Value index = graph.input({DType::i64, {int64_t(count)}}, "index");
  graph.set_results({graph.add(ops::philox, {of_key, index}).result()});
  const Literal words =
      evaluate(graph,
               {Literal::of(key), Literal(std::span<const int64_t>(indices), {int64_t(count)})})
          .results[0];
  std::vector<float> numbers;
  for (const uint32_t word : words.data<uint32_t>()) numbers.push_back(float(word >> 8) * 0x1p-24f);
  return numbers;
}

TEST(FillUniform, IsTheOperation) {
  for (const int64_t key : {int64_t{0}, int64_t{-7}, int64_t{0x123456789abcdef}}) {
    // Counters of more than 32 bits, and those at which the upper half changes within a piece.
    for (const int64_t block : {int64_t{0}, int64_t{3}, (int64_t{1} << 32) - 5, int64_t{1} << 40}) {
      for (const size_t count : {0, 1, 3, 4, 6, 63, 64, 65, 127, 128, 129, 300}) {
        const std::vector<float> wanted = evaluated(key, block * kNumbersOfBlock, count);
        // What lies behind must stay as it is.
        std::vector<float> found(count + 1, 5.0f), plain(count + 1, 5.0f);
        fill_uniform(key, block, std::span(found).first(count));
        fill_uniform_plainly(key, block, std::span(plain).first(count));
        EXPECT_EQ(found, plain) << key << ' ' << block << ' ' << count;
        EXPECT_EQ(found.back(), 5.0f);
        found.pop_back();
        EXPECT_EQ(found, wanted) << key << ' ' << block << ' ' << count;
      }
    }
  }
}

}  // namespace
}  // namespace graphc::core
