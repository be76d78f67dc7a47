// SPDX-License-Identifier: Apache-2.0
// Text generation of char-lstm: one character at a time, after a window of the previous ones.
#include <algorithm>
#include <array>

#include "models/char_lstm_text.h"
#include "models/language_model.h"
#include "models/likeliest.h"
#include "models/random_inputs.h"

namespace graphc::core {
namespace {

constexpr std::array<double, 4> kTemperatures{0.2, 0.5, 1.0, 1.2};

}  // namespace

std::string CharLstmOfText::samples_of(Session& session, const TrainOptions& options,
                                       const Notes& notes, const CharacterWindows& windows,
                                       int64_t epoch) const {
  if (options.sample <= 0) return {};
  std::string prompt = options.sample_prompt;
  if (prompt.empty()) {
    const Characters characters = characters_of(notes.at("vocabulary"));
    SplitMix draw(SplitMix(session.options().seed)() + uint64_t(epoch));
    for (const int32_t id : windows.window(draw.below(windows.count())))
      prompt += characters.text(id);
  }
  std::string all;
  for (const double temperature : kTemperatures) {
    all += fmt::format("{}temperature {}:\n{}", all.empty() ? "" : "\n", temperature, prompt);
    generate(session, {.prompt = prompt,
                       .length = options.sample,
                       .temperature = temperature,
                       .notes = notes,
                       .write = [&](std::string_view more) { return all += more, true; }});
  }
  return all;
}

void CharLstmOfText::generate(Session& session, const GenerateOptions& options) const {
  const Characters characters = characters_of(vocabulary_note(options.notes));
  // Without a prompt, start with the first character of the alphabet: a newline or a space.
  const std::string prompt = lower_case(options.prompt);
  std::vector<int32_t> ids = prompt.empty() ? std::vector<int32_t>{0} : characters.ids(prompt);
  if (const Unknown unknown = characters.unknown(prompt); !unknown.counts.empty()) {
    throw input_error({}, "the prompt: {}, which has no character that stands for others",
                      unknown.to_text("characters"));
  }
  const Tensor temperature = Literal::of(float(options.temperature));
  const Tensor key = Literal::of(initial_key(session.options().seed, "generate"));
  const Tensor ranks = ranks_of(options.top_k, network_.vocabulary());
  for (int64_t drawn = 0; drawn < options.length; ++drawn) {
    const size_t length = std::min(ids.size(), size_t(steps_));
    Literal x(Type{DType::i32, {steps_, 1}}), known(Type{DType::i32, {1}});
    std::copy(ids.end() - long(length), ids.end(), x.mutable_data<int32_t>().begin());
    known.mutable_data<int32_t>()[0] = int32_t(length);
    const Tensor next = session("generate", x, known, temperature, key, Literal::of(drawn), ranks);
    ids.push_back(next.item<int32_t>());
    if (!options.write(characters.text(ids.back()))) return;
  }
}

}  // namespace graphc::core
