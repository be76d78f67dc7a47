// SPDX-License-Identifier: Apache-2.0
#include "models/language_model.h"

#include <algorithm>
#include <cmath>

#include "models/likeliest.h"
#include "models/random_inputs.h"

namespace graphc::core {
namespace {

/// Tokens per call of graph `generate`: few calls, but text still appears while it is drawn.
constexpr int64_t kTokensPerCall = 32;
const std::string kGenerate = "generate.";

std::string state_name(const std::string& prefix, const std::string& state, size_t layer) {
  return fmt::format("{}{}.{}", prefix, state, layer);
}

Lstm lstm_of(Model& model, const std::string& name, int64_t hidden,
             const NetworkInitializers& initializers) {
  if (initializers.lstm_bias) {
    return Lstm(model, name, hidden, hidden,
                {.weights = initializers.lstm, .biases = initializers.lstm_bias});
  }
  return Lstm(model, name, hidden, hidden, initializers.lstm, initializers.forget_bias);
}

}  // namespace

LanguageNetwork::LanguageNetwork(Model& model, int64_t vocabulary, int64_t hidden, int64_t layers,
                                 const NetworkInitializers& initializers, SoftmaxWeights weights,
                                 const LanguageCell& cell)
    : vocabulary_(vocabulary),
      hidden_(hidden),
      embedding_(model, "embedding", vocabulary, hidden, initializers.embedding) {
  for (int64_t l = 0; l < layers; ++l) {
    const std::string name = fmt::format("{}.{}", cell.name, l);
    if (cell.name == "lstm") {
      layers_.emplace_back(lstm_of(model, name, hidden, initializers));
    } else {
      layers_.emplace_back(model, name, hidden, cell);
    }
  }
  if (weights == SoftmaxWeights::tied) {
    softmax_bias_.emplace(model.param("softmax.b", {vocabulary}, initializers.softmax_bias));
  } else {
    softmax_.emplace(model, "softmax", hidden, vocabulary, initializers.softmax,
                     initializers.softmax_bias);
  }
}

LanguageNetwork::Carried LanguageNetwork::carried(Inputs& in, const std::string& prefix,
                                                  int64_t batch) const {
  Carried states;
  for (size_t l = 0; l < layers_.size(); ++l) {
    std::vector<State>& own = states.emplace_back();
    for (const BlockState& state : layers_[l].states(batch)) {
      own.push_back(in.state(state_name(prefix, state.name, l), state.shape, constant(state.start),
                             {.transient = true}));
    }
  }
  return states;
}

void LanguageNetwork::reset(Session& session, const std::string& prefix) const {
  for (size_t l = 0; l < layers_.size(); ++l) {
    for (const BlockState& state : layers_[l].states(1))
      session.reset(state_name(prefix, state.name, l));
  }
}

Value LanguageNetwork::logits(Value x, Carried& carried, double keep) const {
  x = dropout(x, {.keep = keep});
  for (size_t l = 0; l < layers_.size(); ++l) x = layers_[l].run(x, carried[l], keep);
  return softmax(x);
}

Value LanguageNetwork::softmax(Value x) const {
  if (softmax_) return (*softmax_)(x);
  return matmul(x, embedding_.table, false, true) + *softmax_bias_;
}

Value LanguageNetwork::generate(Inputs& in) const {
  Value given = in("given", i32, {"steps"});
  Value limit = in("limit", i32, {});
  Value temperature = in("temperature", f32, {});
  // A separate key: drawing text during training does not affect the training's random numbers.
  Value key = in("key", i64, {});
  Value ranks = in("ranks", i32, {"ranks"});
  Carried states = carried(in, kGenerate, 1);
  State token = in.state(kGenerate + "token", Type{DType::i32, {1}}, zeros(), {.transient = true});
  // No temperature is too low: with such large quotients the noise has no effect.
  Value divisor = maximum(temperature, 1e-6);
  Value allowed = less(iota(*given.node->graph, {1, vocabulary_}, 1), limit);
  return scan(given, [&](Value known) {
    Value x = embedded(token);
    for (size_t l = 0; l < layers_.size(); ++l) x = layers_[l].step(x, states[l]);
    Value logits = select(allowed, softmax(x) / divisor, -HUGE_VAL);
    Value drawn =
        categorical(fold_in(key, cast(step_index(), DType::i64)), keep_likeliest(logits, ranks));
    token = select(greater_equal(known, 0), reshape(known, {1}), drawn);
    return at(token, 0);
  });
}

double LanguageNetwork::layer_flop() const {
  double flop = 0;
  for (const LanguageLayer& layer : layers_) flop += layer.flop();
  return flop;
}

std::vector<Tensor> LanguageNetwork::random_generate_inputs(int64_t steps, uint64_t seed) const {
  return {random_integers({steps}, vocabulary_, seed), Literal::of(int32_t(vocabulary_)),
          Literal::of(1.0f), Literal::of(int64_t(seed)), ranks_of(0, vocabulary_)};
}

Value window_loss(Value logits, Value targets, SummedOver summed) {
  const Value nats = cross_entropy(logits, targets);
  switch (summed) {
    case SummedOver::steps_and_batch:
      return sum(nats);
    case SummedOver::steps:
      return sum(nats) / targets.shape()[1];
    case SummedOver::nothing:
      return mean(nats);
  }
  GRAPHC_CHECK(false, "a loss that is summed in no known way");
}

double elements_of(SummedOver summed, int64_t steps, int64_t batch) {
  if (summed == SummedOver::steps_and_batch) return double(steps) * double(batch);
  return summed == SummedOver::steps ? double(steps) : 1;
}

const std::string& vocabulary_note(const Notes& notes) {
  const auto note = notes.find("vocabulary");
  if (note == notes.end())
    throw input_error({}, "no vocabulary: wanted a checkpoint that `graphc train` wrote");
  return note->second;
}

void refuse_unknown(const Unknown& unknown, std::string_view unit, const GenerateOptions& options) {
  // An empty prompt begins a line, which a text without lines does not know either.
  if (unknown.counts.empty() || options.prompt.empty()) return;
  const std::string found = fmt::format("the prompt: {}", unknown.to_text(unit));
  if (unknown.total() == unknown.all)
    throw input_error({}, "{}: wanted at least one that is", found);
  if (options.remark) options.remark(fmt::format("{}: they are read as unknown", found));
}

void generate_tokens(Session& session, const LanguageNetwork& network,
                     const std::vector<int32_t>& prompt, int32_t limit,
                     const GenerateOptions& options, const std::function<bool(int32_t)>& write) {
  GRAPHC_CHECK(!prompt.empty(), "a prompt without tokens");
  const Literal ranks = ranks_of(options.top_k, limit);
  session.compile("generate", {{DType::i32, {kTokensPerCall}},
                               {DType::i32, {}},
                               {DType::f32, {}},
                               {DType::i64, {}},
                               ranks.type()});
  network.reset(session, kGenerate);
  Literal first(Type{DType::i32, {1}});
  first.mutable_data<int32_t>()[0] = prompt[0];
  session.set_state(kGenerate + "token", first);

  const Tensor temperature = Literal::of(float(options.temperature));
  size_t known = 1;
  for (int64_t drawn = 0, call = 0; drawn < options.length; ++call) {
    Literal given(Type{DType::i32, {kTokensPerCall}});
    const std::span<int32_t> tokens = given.mutable_data<int32_t>();
    std::ranges::fill(tokens, -1);
    const size_t forced = std::min(prompt.size() - known, tokens.size());
    std::copy_n(prompt.begin() + long(known), forced, tokens.begin());
    known += forced;
    const int64_t key = initial_key(session.options().seed, fmt::format("generate.{}", call));
    const Tensor result =
        session("generate", given, Literal::of(limit), temperature, Literal::of(key), ranks);
    const Literal out = result.literal();
    for (size_t i = forced; i < tokens.size() && drawn < options.length; ++i, ++drawn) {
      if (!write(out.data<int32_t>()[i])) return;
    }
  }
}

}  // namespace graphc::core
