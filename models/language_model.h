// SPDX-License-Identifier: Apache-2.0
// What the language models share: the network, the loss of a window, and drawing new tokens one
// after another. language_program.h trains and evaluates them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/graphc.h"
#include "models/data/unknown.h"
#include "models/program.h"

namespace graphc::core {

/// How the parameters of a network are first drawn.
struct NetworkInitializers {
  Initializer embedding, lstm, softmax, softmax_bias;
  double forget_bias = 0;  ///< what the biases of the forget gates start at; other gates' at 0
  Initializer lstm_bias;   ///< of all biases of a layer, in the place of that, where there is one
};

/// Whether the softmax has weights of its own, or they are the embedding's table (Press and Wolf
/// 2017): one parameter, whose gradient is the sum of both uses.
enum class SoftmaxWeights { own, tied };

/// Tokens to logits: embedding, LSTM layers one over the other, a linear layer; dropout on what
/// goes up, none on what goes from step to step (Zaremba et al. 2014).
class LanguageNetwork {
 public:
  LanguageNetwork(Model& model, int64_t vocabulary, int64_t hidden, int64_t layers,
                  const NetworkInitializers& initializers,
                  SoftmaxWeights weights = SoftmaxWeights::own);

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
  /// What the last layer gives [..., hidden] to logits [..., vocabulary].
  Value softmax(Value x) const;

  /// The graph that draws tokens, one after another: inputs `given` i32[steps], the token of a step
  /// where it is known and -1 where it is to be drawn, `limit` i32[], below which drawn tokens are,
  /// `temperature` f32[], by which logits are divided (at 0 the likeliest token is taken), `key`
  /// i64[] of what is drawn, and `ranks` i32[k], whose extent is how many of the likeliest tokens
  /// are drawn from, or 0 (models/likeliest.h); result i32[steps], the tokens. It goes on from the
  /// states of the call before, whose names begin with "generate.".
  Value generate(Inputs& in) const;
  /// Inputs of that graph.
  std::vector<Tensor> random_generate_inputs(int64_t steps, uint64_t seed) const;

 private:
  int64_t vocabulary_, hidden_;
  Embedding embedding_;
  std::vector<Lstm> lstm_;
  std::optional<Linear> softmax_;      ///< nothing where its weights are the table
  std::optional<Param> softmax_bias_;  ///< the bias alone, there
};

/// What the loss of a window is summed over; it is a mean over the rest.
enum class SummedOver { steps_and_batch, steps, nothing };

/// The loss of a window: cross entropy of logits [steps, batch, vocabulary], nats.
Value window_loss(Value logits, Value targets, SummedOver summed);
/// What the loss of a window of so many steps and rows is divided by for nats an element.
double elements_of(SummedOver summed, int64_t steps, int64_t batch);

/// The note `vocabulary`. Throws ErrorKind::input where there is none.
const std::string& vocabulary_note(const Notes& notes);

/// Says what of a prompt the model does not know, by options.remark. Throws ErrorKind::input where
/// that is all of it: there is nothing to go on from.
void refuse_unknown(const Unknown& unknown, std::string_view unit, const GenerateOptions& options);

/// Draws `options.length` tokens below `limit` after `prompt`, which is not empty, by graph
/// `generate`, in a few calls; `write` is told of each as it is drawn, and returns false to end
/// early.
void generate_tokens(Session& session, const LanguageNetwork& network,
                     const std::vector<int32_t>& prompt, int32_t limit,
                     const GenerateOptions& options, const std::function<bool(int32_t)>& write);

}  // namespace graphc::core
