// SPDX-License-Identifier: Apache-2.0
// A language model as a program: from a network, a corpus and a schedule to training, evaluation
// and text. What differs from model to model is below `protected`.
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

/// A corpus as a language model reads it: streams of ids, and what the ids stand for.
struct LanguageCorpus {
  std::string vocabulary;                   ///< as a checkpoint notes it
  int64_t size = 0;                         ///< ids that there are
  std::vector<int32_t> train, valid, test;  ///< `test` is empty where the corpus has none

  LanguageCorpus() = default;
  explicit LanguageCorpus(TextCorpus corpus);
};

/// Where a corpus is, and how it is read.
struct CorpusSource {
  const std::optional<std::filesystem::path>& data;
  const Reading& reading;
  /// The vocabulary of a checkpoint, as its note has it, to number the elements by; the text's own
  /// where there is none.
  const std::string* vocabulary = nullptr;
};

/// The parameters that every language model has: hidden, layers, steps, batch, vocabulary, keep.
struct LanguageSizes {
  int64_t hidden, layers, steps, batch, vocabulary;
  double keep;

  /// Throws ErrorKind::usage for values that cannot be.
  explicit LanguageSizes(const Parameters& parameters, int64_t least_vocabulary = 1);
};

/// Graph `train` takes tokens, targets and the rate, `forward` and `test` tokens and targets; each
/// returns the loss of the window, `train` the norm of its gradients too. `generate` is
/// LanguageNetwork's.
class LanguageProgram : public Program {
 public:
  Model& model() override { return model_; }
  Extents extents(std::string_view graph) const override;
  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override;
  Work work() const override;
  bool validates() const override { return true; }
  DataKind reads() const override { return DataKind::corpus; }
  void train(Session& session, const TrainOptions& options) const override;
  /// Perplexity, loss (nats an element) and the number of elements predicted, of any text: by the
  /// vocabulary in the notes. Split `all` is the whole text.
  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override;
  /// Draws words of the vocabulary in the notes.
  void generate(Session& session, const GenerateOptions& options) const override {
    generate_words(session, options, 0);
  }

 protected:
  struct Setup {
    std::string_view name;  ///< of the model, as the registry has it
    LanguageSizes sizes;
    NetworkInitializers initializers;
    SoftmaxWeights weights = SoftmaxWeights::own;
    SummedOver summed = SummedOver::nothing;
    int64_t epochs = 1;
    bool tests_by_word = false;  ///< whether the test reads one word at a time, by graph `test`
    std::string_view unit = "words";  ///< what the elements are called
  };
  explicit LanguageProgram(Setup setup);

  /// Graph `train`: an update of the parameters that lowers the loss; gives train_results().
  virtual Results train_graph(Inputs& in) const = 0;
  /// The rate of a step, from where training stands and the share of all steps that is done, in
  /// [0, 1).
  virtual double rate(const TrainPosition& at, double done) const = 0;
  /// Numbered by the vocabulary of the source, what it lacks is said by a remark.
  virtual LanguageCorpus read(const CorpusSource& source) const = 0;

  /// A corpus that `read_corpus` reads by the vocabulary of the source, if it has one.
  template <typename Read>
  static LanguageCorpus read_words(const CorpusSource& source, const Read& read_corpus) {
    if (source.vocabulary == nullptr)
      return LanguageCorpus(read_corpus(CorpusReading{source.reading}));
    const Vocabulary vocabulary = Vocabulary::from_text(*source.vocabulary);
    return LanguageCorpus(read_corpus(CorpusReading{source.reading, &vocabulary}));
  }
  /// The loss of a window whose tokens and targets are inputs, going on from the carried states
  /// whose names begin with `prefix`.
  Value loss(Inputs& in, const std::string& prefix, double keep) const;
  /// generate(), without the last ids of the vocabulary, so many.
  void generate_words(Session& session, const GenerateOptions& options, int32_t without) const;
  /// Throws ErrorKind::input when the model's vocabulary is smaller than one of so many ids.
  void check_size(int64_t size, std::string_view whose) const;

  const LanguageSizes& sizes() const { return setup_.sizes; }
  const LanguageNetwork& network() const { return network_; }
  Params params() const { return model_.params(); }

 private:
  /// The corpus to train on, which is the one the notes are of if there are any.
  LanguageCorpus read_to_train(const TrainOptions& options) const;
  /// The corpus of the training that is gone on with.
  LanguageCorpus read_to_resume(const TrainOptions& options) const;
  /// What a checkpoint tells of the corpus: its vocabulary, and what it is known by.
  Notes notes_of(const LanguageCorpus& corpus) const;
  /// The windows of split train, valid or test.
  Windows windows(const LanguageCorpus& corpus, std::string_view split) const;
  /// The windows of all that the corpus has; fewer rows and shorter ones where it is short.
  Windows all_windows(LanguageCorpus& corpus) const;
  const char* test_graph() const { return setup_.tests_by_word ? "test" : "forward"; }
  double elements(const Windows& windows) const {
    return elements_of(setup_.summed, windows.steps(), windows.batch());
  }
  /// The mean nats of an element over the windows, by an evaluation graph.
  double mean_nats(Session& session, const std::string& graph, const Windows& windows) const;
  std::string sample(Session& session, const TrainOptions& options, const Notes& notes) const;

  Setup setup_;
  Model model_;
  LanguageNetwork network_;
};

}  // namespace graphc::core
