// SPDX-License-Identifier: Apache-2.0
#include "models/data/task_12ax.h"

#include <gmock/gmock.h>

#include <set>

namespace graphc::core {
namespace {

using ::testing::ElementsAre;

/// The rule again, looking back from every symbol.
int32_t label_looking_back(const std::string& symbols, size_t at) {
  const char last = symbols[at];
  if (last != 'X' && last != 'Y') return 0;
  // The letter: an A or B before any other X or Y.
  const std::string before = symbols.substr(0, at);
  const size_t letter = before.find_last_of("ABXY"), digit = before.find_last_of("12");
  if (letter == before.npos || digit == before.npos) return 0;
  const std::string three{before[digit], before[letter], last};
  return three == "1AX" || three == "2BY" ? 1 : 0;
}

TEST(Task12Ax, LabelsFollowTheRule) {
  EXPECT_THAT(labels_12ax("1AX"), ElementsAre(0, 0, 1));
  EXPECT_THAT(labels_12ax("2AXBY"), ElementsAre(0, 0, 0, 0, 1));
  // What is ignored, a digit between letter and X, and a letter that is used up.
  EXPECT_THAT(labels_12ax("1A3CZX"), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_THAT(labels_12ax("2A1XX"), ElementsAre(0, 0, 0, 1, 0));
  EXPECT_THAT(labels_12ax("AX1"), ElementsAre(0, 0, 0));
  EXPECT_THAT(labels_12ax(""), ElementsAre());
}

TEST(Task12Ax, SequencesHaveEveryLengthAndSymbolAndTheLabelsOfTheRule) {
  std::set<size_t> lengths;
  std::set<char> symbols;
  int64_t frames = 0, right = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string sequence = sequence_12ax(seed);
    const std::vector<int32_t> labels = labels_12ax(sequence);
    ASSERT_EQ(labels.size(), sequence.size());
    for (size_t i = 0; i < sequence.size(); ++i) {
      ASSERT_EQ(labels[i], label_looking_back(sequence, i)) << sequence << " at " << i;
      right += labels[i];
    }
    frames += int64_t(sequence.size());
    lengths.insert(sequence.size());
    symbols.insert(sequence.begin(), sequence.end());
  }
  EXPECT_EQ(lengths.size(), 91u);
  EXPECT_EQ(*lengths.begin(), 10u);
  EXPECT_EQ(*lengths.rbegin(), 100u);
  EXPECT_EQ(symbols.size(), k12AxSymbols.size());
  EXPECT_NEAR(double(frames) / 2000, 55, 2);
  // R are rare, but there are some.
  EXPECT_GT(right * 20, frames);
  EXPECT_LT(right * 4, frames);
  EXPECT_EQ(sequence_12ax(7), sequence_12ax(7));
}

TEST(Task12Ax, ChunksCoverTheirSequencesAndKeepTheirLabels) {
  const std::vector<Chunk12Ax> whole = chunks_12ax(50, 1000, 1000, 9);
  const std::vector<Chunk12Ax> chunks = chunks_12ax(50, 50, 25, 9);
  ASSERT_EQ(whole.size(), 50u);
  size_t next = 0;
  for (const Chunk12Ax& sequence : whole) {
    EXPECT_EQ(sequence.labels, labels_12ax(sequence.symbols));
    for (size_t begin = 0;; begin += 25) {
      const Chunk12Ax& chunk = chunks.at(next++);
      const size_t length = std::min<size_t>(50, sequence.symbols.size() - begin);
      ASSERT_EQ(chunk.symbols, sequence.symbols.substr(begin, length));
      for (size_t i = 0; i < length; ++i) ASSERT_EQ(chunk.labels[i], sequence.labels[begin + i]);
      if (begin + length == sequence.symbols.size()) break;
    }
  }
  EXPECT_EQ(next, chunks.size());
}

TEST(Task12Ax, ABatchHasOneHotSymbolsLengthsAndLabelsAndZerosBehind) {
  const std::vector<Chunk12Ax> chunks{{"1AX", {0, 0, 1}}, {"Z", {0}}};
  const std::vector<Tensor> batch = batch_12ax(chunks, 4, 3);
  EXPECT_EQ(batch[0].shape(), (Shape{4, 3, 9}));
  EXPECT_THAT(batch[1].to_vector<int>(), ElementsAre(3, 1, 0));
  EXPECT_THAT(batch[2].to_vector<int>(), ElementsAre(0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0));
  const std::vector<float> x = batch[0].to_vector();
  std::vector<size_t> ones;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 0) ones.push_back(i);
  }
  // Frame [t, row] begins at (3 t + row) 9; 1, A, X and Z are symbols 0, 3, 6 and 8.
  EXPECT_THAT(ones, ElementsAre(0, 9 + 8, 27 + 3, 54 + 6));
}

}  // namespace
}  // namespace graphc::core
