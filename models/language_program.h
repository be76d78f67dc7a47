// SPDX-License-Identifier: Apache-2.0
// A language model as a program: connects a network, a corpus and a schedule to training,
// evaluation and text generation. Models differ in the functions below `protected`.
#pragma once

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/text_corpus.h"
#include "models/language_model.h"
#include "models/parameters.h"
#include "models/program.h"

namespace graphc::core {

/// A corpus as read by a language model: streams of ids, and the vocabulary behind them.
struct LanguageCorpus {
  std::string vocabulary;                   ///< as noted in checkpoints
  int64_t size = 0;                         ///< number of ids
  std::vector<int32_t> train, valid, test;  ///< `test` is empty if the corpus has none

  LanguageCorpus() = default;
  explicit LanguageCorpus(TextCorpus corpus);
};

/// The location of a corpus, and how to read it.
struct CorpusSource {
  const std::optional<std::filesystem::path>& data;
  const Reading& reading;
  /// A checkpoint's vocabulary, in the form of its note, with which to number the elements; null:
  /// the text's own.
  const std::string* vocabulary = nullptr;
};

/// The parameters of every language model: hidden, layers, steps, batch, vocabulary, keep.
struct LanguageSizes {
  int64_t hidden, layers, steps, batch, vocabulary;
  double keep;

  /// Throws ErrorKind::usage for invalid values.
  explicit LanguageSizes(const Parameters& parameters, int64_t least_vocabulary = 1);
};

/// Graph `train` takes tokens, targets and the rate; `forward` and `test` take tokens and targets.
/// Each returns the loss of the window; `train` also the norm of its gradients. `generate` is that
/// of LanguageNetwork.
class LanguageProgram : public Program {
 public:
  Model& model() override { return model_; }
  Extents extents(std::string_view graph) const override;
  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override;
  Work work() const override;
  bool validates() const override { return true; }
  DataKind reads() const override { return DataKind::corpus; }
  void train(Session& session, const TrainOptions& options) const override;
  /// Perplexity, loss (nats per element) and the number of predicted elements, for any text,
  /// numbered with the vocabulary in the notes. Split `all` is the whole text.
  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override;
  /// Draws words of the vocabulary in the notes.
  void generate(Session& session, const GenerateOptions& options) const override {
    generate_words(session, options, 0);
  }

 protected:
  struct Setup {
    std::string_view name;  ///< of the model, as in the registry
    LanguageSizes sizes;
    NetworkInitializers initializers;
    SoftmaxWeights weights = SoftmaxWeights::own;
    SummedOver summed = SummedOver::nothing;
    int64_t epochs = 1;
    bool tests_by_word = false;  ///< whether the test reads one word at a time, with graph `test`
    std::string_view unit = "words";  ///< the name of the elements
    LanguageCell cell = {};           ///< of the layers
  };
  explicit LanguageProgram(Setup setup);

  /// Graph `train`: updates the parameters; returns train_results().
  virtual Results train_graph(Inputs& in) const = 0;
  /// The learning rate of a step, given the position and the completed share of all steps, in [0,
  /// 1).
  virtual double rate(const TrainPosition& at, double done) const = 0;
  /// Numbers the corpus with the vocabulary of the source; unknown elements give a remark.
  virtual LanguageCorpus read(const CorpusSource& source) const = 0;

  /// A corpus read by `read_corpus`, with the vocabulary of the source if it has one.
  template <typename Read>
  static LanguageCorpus read_words(const CorpusSource& source, const Read& read_corpus) {
    if (source.vocabulary == nullptr)
      return LanguageCorpus(read_corpus(CorpusReading{source.reading}));
    const Vocabulary vocabulary = Vocabulary::from_text(*source.vocabulary);
    return LanguageCorpus(read_corpus(CorpusReading{source.reading, &vocabulary}));
  }
  /// The loss of a window whose tokens and targets are inputs, continuing from the carried states
  /// whose names begin with `prefix`.
  Value loss(Inputs& in, const std::string& prefix, double keep) const;
  /// generate(), without the last `without` ids of the vocabulary.
  void generate_words(Session& session, const GenerateOptions& options, int32_t without) const;
  /// Throws ErrorKind::input if the model's vocabulary has fewer than `size` ids.
  void check_size(int64_t size, std::string_view whose) const;

  const LanguageSizes& sizes() const { return setup_.sizes; }
  const LanguageNetwork& network() const { return network_; }
  Params params() const { return model_.params(); }

 private:
  /// The training corpus, which must match the notes if there are any.
  LanguageCorpus read_to_train(const TrainOptions& options) const;
  /// The corpus of the training that is resumed.
  LanguageCorpus read_to_resume(const TrainOptions& options) const;
  /// What a checkpoint records of the corpus: its vocabulary, and its size and hash.
  Notes notes_of(const LanguageCorpus& corpus) const;
  /// The windows of split train, valid or test.
  Windows windows(const LanguageCorpus& corpus, std::string_view split) const;
  /// Windows over the whole corpus; fewer and shorter rows if it is short.
  Windows all_windows(LanguageCorpus& corpus) const;
  const char* test_graph() const { return setup_.tests_by_word ? "test" : "forward"; }
  double elements(const Windows& windows) const {
    return elements_of(setup_.summed, windows.steps(), windows.batch());
  }
  /// The mean nats per element over the windows, computed by an evaluation graph.
  double mean_nats(Session& session, const std::string& graph, const Windows& windows) const;
  std::string sample(Session& session, const TrainOptions& options, const Notes& notes) const;

  Setup setup_;
  Model model_;
  LanguageNetwork network_;
};

}  // namespace graphc::core
