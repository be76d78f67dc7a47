// SPDX-License-Identifier: Apache-2.0
// char-lstm on text: Nietzsche, or WikiText-2's characters. char_lstm_text.cpp trains it,
// char_lstm_samples.cpp draws text.
#pragma once

#include "models/char_lstm_network.h"
#include "models/data/character_windows.h"
#include "models/data/characters.h"
#include "models/parameters.h"
#include "models/program.h"

namespace graphc::core {

class CharLstmOfText : public Program {
 public:
  explicit CharLstmOfText(const Parameters& parameters);

  Model& model() override { return model_; }
  Extents extents(std::string_view graph) const override;
  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override;
  /// Looking up characters does not count as work.
  Work work() const override;
  DataKind reads() const override { return DataKind::corpus; }
  std::string default_split() const override { return has_splits() ? "test" : "train"; }
  void train(Session& session, const TrainOptions& options) const override;
  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override;
  void generate(Session& session, const GenerateOptions& options) const override;

 private:
  /// The loss and the share of correct characters.
  Results evaluation(Inputs& in) const;
  /// The character that follows a window, of which the first `length` characters are given. Nothing
  /// is carried between windows: in training every window starts from zero states.
  Value drawn(Inputs& in) const;

  bool has_splits() const { return corpus_ == "wikitext-2"; }
  /// A part of the corpus, preprocessed for training.
  std::string text_of(const std::optional<std::filesystem::path>& data, std::string_view part,
                      const Reading& reading) const;
  /// Throws ErrorKind::input unless the model has exactly one class per character.
  Characters characters_of(std::string_view alphabet) const;
  /// Text at each temperature, drawn as in the original script: without a prompt it continues a
  /// window of the text, another one after each epoch.
  std::string samples_of(Session& session, const TrainOptions& options, const Notes& notes,
                         const CharacterWindows& windows, int64_t epoch) const;

  std::string corpus_;
  int64_t steps_, batch_;
  double rate_;
  Model model_;
  CharLstmNetwork network_;
};

}  // namespace graphc::core
