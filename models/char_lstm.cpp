// SPDX-License-Identifier: Apache-2.0
#include "models/char_lstm.h"

#include <array>

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 8> kCharLstmParameters{{
    {"corpus", "synthetic", "synthetic, nietzsche or wikitext-2"},
    {"hidden", "128", "units"},
    {"steps", "40", "characters of a window"},
    {"batch", "128", "windows of a batch; the last one has what is left"},
    {"unroll", "false", "whether the graph has a copy of the cell for each step, or one loop"},
    {"vocabulary", "", "characters that are told apart, or bits; it follows the corpus"},
    {"samples", "50000", "of the synthetic corpus"},
    {"learning-rate", "0.01", "of RMSprop"},
}};

constexpr std::array<std::string_view, 3> kCorpora{"synthetic", "nietzsche", "wikitext-2"};
constexpr std::array<const char*, 3> kVocabularies{"60", "57", "37"};

}  // namespace

constinit const ModelRecord char_lstm_model{
    .name = "char-lstm",
    .summary = "the character behind a window of text: Keras' LSTM, the last state, softmax",
    .parameters = kCharLstmParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      const size_t corpus = parameters.choice("corpus", kCorpora);
      parameters.set_default("vocabulary", kVocabularies[corpus]);
      parameters.integer("samples");  // validates the value even if it is unused
      return corpus == 0 ? make_char_lstm_of_bits(parameters) : make_char_lstm_of_text(parameters);
    },
};

}  // namespace graphc::core
