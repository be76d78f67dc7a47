// SPDX-License-Identifier: Apache-2.0
// What the language models share: the network, training on the windows of a stream of tokens, and
// drawing new tokens one after another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/graphc.h"
#include "models/data/text_corpus.h"
#include "models/program.h"

namespace graphc {

/// How the parameters of a network are first drawn.
struct NetworkInitializers {
  Initializer embedding, lstm, softmax, softmax_bias;
  double forget_bias = 0;  ///< what the biases of the forget gates start at
};

/// Tokens to logits: embedding, LSTM layers one over the other, a linear layer; dropout on what
/// goes up, none on what goes from step to step (Zaremba et al. 2014).
class LanguageNetwork {
 public:
  LanguageNetwork(Model& model, int64_t vocabulary, int64_t hidden, int64_t layers,
                  const NetworkInitializers& initializers);

  /// The states of every layer between the windows of one graph, [batch, hidden]. Each graph has
  /// its own: their names begin with `prefix`.
  struct Carried {
    std::vector<State> h, c;
  };
  Carried carried(Inputs& in, const std::string& prefix, int64_t batch) const;
  /// Gives the carried states of a graph zeros again.
  void reset(Session& session, const std::string& prefix) const;

  /// Rows of the embedding for tokens [...]: [..., hidden].
  Value embedded(Value tokens) const { return embedding_(tokens); }
  /// Embedded tokens [steps, batch, hidden] to logits [steps, batch, vocabulary], going on from the
  /// carried states and leaving those of the last step in them.
  Value logits(Value x, Carried& carried, double keep) const;

  /// The graph that draws tokens, one after another: inputs `given` i32[steps], the token of a step
  /// where it is known and -1 where it is to be drawn, `limit` i32[], below which drawn tokens are,
  /// `temperature` f32[], by which logits are divided (at 0 the likeliest token is taken), and
  /// `key` i64[] of what is drawn; result i32[steps], the tokens. It goes on from the states of the
  /// call before, whose names begin with "generate.".
  Value generate(Inputs& in) const;
  /// Inputs of that graph.
  std::vector<Tensor> random_generate_inputs(int64_t steps, uint64_t seed) const;

 private:
  int64_t vocabulary_, hidden_;
  Embedding embedding_;
  std::vector<Lstm> lstm_;
  std::optional<Linear> softmax_;
};

/// The training of a language model: what its windows are and what a call of its graphs says.
/// Graph `train` takes tokens, targets and the rate, `forward` and `test` tokens and targets; each
/// returns the nats of an element, mean over the batch and summed over the steps, or mean over
/// both.
struct LanguageTask {
  const Program& program;  ///< draws the samples after epochs
  const LanguageNetwork& network;
  const Windows &train, &valid;
  const Windows* test = nullptr;  ///< evaluated after the last epoch by graph `test`
  int64_t epochs = 1;             ///< of the recipe
  bool summed_over_steps = true;  ///< whether the loss of a call is, or a mean over them too
  /// The rate of a step, from the epoch and the share of all steps that is done, in [0, 1).
  std::function<double(int64_t epoch, double done)> rate;
  /// Whether another epoch begins with states of zeros.
  bool reset_each_epoch = true;
  Notes notes;                      ///< what a checkpoint tells beside arrays: the vocabulary
  std::string_view unit = "words";  ///< what the elements are called

  /// The loss of a call on such windows / the mean nats of an element.
  double elements(const Windows& windows) const {
    return summed_over_steps ? double(windows.steps()) : 1;
  }
};

/// Trains window by window, evaluates after every epoch, reports and saves as the options say.
void train_language_model(Session& session, const TrainOptions& options, const LanguageTask& task);

/// Throws ErrorKind::input when training goes on from a checkpoint with other notes: its data are
/// not those the checkpoint was trained on.
void check_notes(const TrainOptions& options, const Notes& notes);
/// The note `vocabulary`. Throws ErrorKind::input where there is none.
const std::string& vocabulary_note(const GenerateOptions& options);

/// exp of the mean nats of an element over the windows, by an evaluation graph of the task's form.
double perplexity(Session& session, const LanguageTask& task, const std::string& graph,
                  const Windows& windows);

/// Draws `options.length` tokens below `limit` after `prompt`, which is not empty, by graph
/// `generate`, in a few calls; `write` is told of each as it is drawn, and returns false to end
/// early.
void generate_tokens(Session& session, const LanguageNetwork& network,
                     const std::vector<int32_t>& prompt, int32_t limit,
                     const GenerateOptions& options, const std::function<bool(int32_t)>& write);

}  // namespace graphc
