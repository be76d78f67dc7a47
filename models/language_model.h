// SPDX-License-Identifier: Apache-2.0
// Shared parts of the language models: the network, the loss of a window, and drawing of tokens.
// language_program.h trains and evaluates them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/graphc.h"
#include "models/data/unknown.h"
#include "models/language_layer.h"
#include "models/program.h"

namespace graphc::core {

/// The initialisers of a network's parameters.
struct NetworkInitializers {
  Initializer embedding, lstm, softmax, softmax_bias;
  double forget_bias = 0;  ///< initial bias of the forget gates; other gates start at 0
  Initializer lstm_bias;   ///< for all biases of a layer, overriding forget_bias if given
};

/// Whether the softmax has its own weights or shares the embedding's table (Press and Wolf 2017):
/// then one parameter, whose gradient sums both uses.
enum class SoftmaxWeights { own, tied };

/// Tokens to logits: an embedding, stacked recurrent layers, a linear layer; with dropout between
/// layers but not between steps (Zaremba et al. 2014).
class LanguageNetwork {
 public:
  LanguageNetwork(Model& model, int64_t vocabulary, int64_t hidden, int64_t layers,
                  const NetworkInitializers& initializers,
                  SoftmaxWeights weights = SoftmaxWeights::own, const LanguageCell& cell = {});

  /// The states of every layer between the windows of one graph. Each graph has its own: their
  /// names begin with `prefix`.
  using Carried = std::vector<std::vector<State>>;
  Carried carried(Inputs& in, const std::string& prefix, int64_t batch) const;
  /// Resets the carried states of a graph to zero.
  void reset(Session& session, const std::string& prefix) const;

  /// Rows of the embedding for tokens [...]: [..., hidden].
  Value embedded(Value tokens) const { return embedding_(tokens); }
  /// Embedded tokens [steps, batch, hidden] to logits [steps, batch, vocabulary]; starts from the
  /// carried states and updates them to those of the last step.
  Value logits(Value x, Carried& carried, double keep) const;
  /// The output of the last layer [..., hidden] to logits [..., vocabulary].
  Value softmax(Value x) const;

  /// The graph that draws tokens sequentially. Inputs: `given` i32[steps], the token of each step,
  /// or -1 to draw it; `limit` i32[], the exclusive upper bound of drawn tokens; `temperature`
  /// f32[], which divides the logits (0 takes the likeliest token); `key` i64[], the random key;
  /// `ranks` i32[k], whose extent is the number of likeliest tokens to draw from, or 0 for all
  /// (models/likeliest.h). Result: i32[steps], the tokens. It continues from the states of the
  /// previous call, whose names begin with "generate.".
  Value generate(Inputs& in) const;
  /// Inputs of that graph.
  std::vector<Tensor> random_generate_inputs(int64_t steps, uint64_t seed) const;
  /// Nominal FLOP of the layers in one step of one row.
  double layer_flop() const;

 private:
  int64_t vocabulary_, hidden_;
  Embedding embedding_;
  std::vector<LanguageLayer> layers_;
  std::optional<Linear> softmax_;      ///< empty if its weights are the table
  std::optional<Param> softmax_bias_;  ///< then only the bias
};

/// What the loss of a window is summed over; it is the mean over the rest.
enum class SummedOver { steps_and_batch, steps, nothing };

/// The loss of a window: cross entropy of logits [steps, batch, vocabulary], nats.
Value window_loss(Value logits, Value targets, SummedOver summed);
/// The divisor that turns the loss of a window of this size into nats per element.
double elements_of(SummedOver summed, int64_t steps, int64_t batch);

/// The note `vocabulary`. Throws ErrorKind::input if there is none.
const std::string& vocabulary_note(const Notes& notes);

/// Reports unknown elements of a prompt to options.remark. Throws ErrorKind::input if all of it is
/// unknown, because there is nothing to continue.
void refuse_unknown(const Unknown& unknown, std::string_view unit, const GenerateOptions& options);

/// Draws `options.length` tokens below `limit` after `prompt`, which is not empty, with graph
/// `generate`, in a few calls; `write` receives each token as it is drawn, and returns false to end
/// early.
void generate_tokens(Session& session, const LanguageNetwork& network,
                     const std::vector<int32_t>& prompt, int32_t limit,
                     const GenerateOptions& options, const std::function<bool(int32_t)>& write);

}  // namespace graphc::core
