// SPDX-License-Identifier: Apache-2.0
#include "models/data/task_12ax.h"

#include <algorithm>

#include "models/random_inputs.h"

namespace graphc::core {

std::vector<int32_t> labels_12ax(std::string_view symbols) {
  std::vector<int32_t> labels;
  char digit = 0, letter = 0;
  for (const char symbol : symbols) {
    bool right = false;
    if (symbol == '1' || symbol == '2') digit = symbol;
    if (symbol == 'A' || symbol == 'B') letter = symbol;
    if (symbol == 'X' || symbol == 'Y') {
      right = symbol == 'X' ? digit == '1' && letter == 'A' : digit == '2' && letter == 'B';
      letter = 0;
    }
    labels.push_back(right ? 1 : 0);
  }
  return labels;
}

std::string sequence_12ax(uint64_t seed, const Lengths12Ax& lengths) {
  SplitMix draw(seed);
  const auto one_of = [&](auto... choices) {
    const std::string_view all[] = {choices...};
    return all[draw.below(int64_t(sizeof...(choices)))];
  };
  const int64_t spread = lengths.longest - lengths.shortest;
  const auto length = size_t(lengths.shortest + draw.below(spread + 1));
  std::string symbols(one_of("", "1", "2"));
  while (symbols.size() < length) {
    if (draw.uniform() < 0.5f) symbols += one_of("1", "2");
    if (draw.uniform() < 0.9f) symbols += one_of("AX", "BY");
    while (draw.uniform() < 0.5f)
      symbols += k12AxSymbols[size_t(draw.below(int64_t(k12AxSymbols.size())))];
  }
  symbols.resize(length);
  return symbols;
}

std::vector<Chunk12Ax> chunks_12ax(int64_t count, int64_t size, int64_t step, uint64_t seed,
                                   const Lengths12Ax& lengths) {
  std::vector<Chunk12Ax> chunks;
  SplitMix seeds(seed);
  for (int64_t i = 0; i < count; ++i) {
    const std::string symbols = sequence_12ax(seeds(), lengths);
    const std::vector<int32_t> labels = labels_12ax(symbols);
    for (size_t begin = 0;; begin += size_t(step)) {
      const size_t end = std::min(symbols.size(), begin + size_t(size));
      chunks.push_back({symbols.substr(begin, end - begin),
                        {labels.begin() + long(begin), labels.begin() + long(end)}});
      if (end == symbols.size()) break;
    }
  }
  return chunks;
}

std::vector<Tensor> batch_12ax(std::span<const Chunk12Ax> chunks, int64_t steps, int64_t batch) {
  Tensor x(Type{DType::f32, {steps, batch, int64_t(k12AxSymbols.size())}});
  Tensor lengths(Type{DType::i32, {batch}}), labels(Type{DType::i32, {steps, batch}});
  const std::span<float> ones = x.mutable_data<float>();
  const std::span<int32_t> length = lengths.mutable_data<int32_t>();
  const std::span<int32_t> label = labels.mutable_data<int32_t>();
  for (size_t row = 0; row < chunks.size(); ++row) {
    const Chunk12Ax& chunk = chunks[row];
    length[row] = int32_t(chunk.symbols.size());
    for (size_t t = 0; t < chunk.symbols.size(); ++t) {
      const size_t frame = t * size_t(batch) + row;
      ones[frame * k12AxSymbols.size() + k12AxSymbols.find(chunk.symbols[t])] = 1;
      label[frame] = chunk.labels[t];
    }
  }
  return {x, lengths, labels};
}

}  // namespace graphc::core
