// SPDX-License-Identifier: Apache-2.0
#include "models/language_model.h"

#include <algorithm>
#include <cmath>

#include "models/random_inputs.h"
#include "models/training.h"

namespace graphc {
namespace {

/// Tokens drawn in one call of graph `generate`: few calls, and yet text appears as it is drawn.
constexpr int64_t kTokensPerCall = 32;
const std::string kGenerate = "generate.";

/// The text to report after an epoch; empty where none is wanted.
std::string sample(Session& session, const TrainOptions& options, const LanguageTask& task) {
  if (options.sample <= 0) return {};
  std::string text = options.sample_prompt;
  task.program.generate(session,
                        {.prompt = options.sample_prompt,
                         .length = options.sample,
                         .temperature = 0.7,
                         .notes = task.notes,
                         .write = [&](std::string_view more) { return text += more, true; }});
  return text;
}

std::string state_name(const std::string& prefix, const char* state, size_t layer) {
  return fmt::format("{}{}.{}", prefix, state, layer);
}

}  // namespace

LanguageNetwork::LanguageNetwork(Model& model, int64_t vocabulary, int64_t hidden, int64_t layers,
                                 const NetworkInitializers& initializers)
    : vocabulary_(vocabulary),
      hidden_(hidden),
      embedding_(model, "embedding", vocabulary, hidden, initializers.embedding) {
  for (int64_t l = 0; l < layers; ++l) {
    lstm_.emplace_back(model, fmt::format("lstm.{}", l), hidden, hidden, initializers.lstm,
                       initializers.forget_bias);
  }
  softmax_.emplace(model, "softmax", hidden, vocabulary, initializers.softmax,
                   initializers.softmax_bias);
}

LanguageNetwork::Carried LanguageNetwork::carried(Inputs& in, const std::string& prefix,
                                                  int64_t batch) const {
  Carried states;
  for (size_t l = 0; l < lstm_.size(); ++l) {
    states.h.push_back(in.state(state_name(prefix, "h", l), Shape{batch, hidden_}));
    states.c.push_back(in.state(state_name(prefix, "c", l), Shape{batch, hidden_}));
  }
  return states;
}

void LanguageNetwork::reset(Session& session, const std::string& prefix) const {
  for (size_t l = 0; l < lstm_.size(); ++l) {
    session.reset(state_name(prefix, "h", l));
    session.reset(state_name(prefix, "c", l));
  }
}

Value LanguageNetwork::logits(Value x, Carried& carried, double keep) const {
  x = dropout(x, {.keep = keep});
  for (size_t l = 0; l < lstm_.size(); ++l)
    x = dropout(lstm_[l].run(x, carried.h[l], carried.c[l]), {.keep = keep});
  return (*softmax_)(x);
}

Value LanguageNetwork::generate(Inputs& in) const {
  Value given = in("given", i32, {"steps"});
  Value limit = in("limit", i32, {});
  Value temperature = in("temperature", f32, {});
  // A key of its own: drawing text while training changes nothing that training draws.
  Value key = in("key", i64, {});
  Carried states = carried(in, kGenerate, 1);
  State token = in.state(kGenerate + "token", Type{DType::i32, {1}});
  // No temperature is too low: a quotient of this size leaves the noise no say.
  Value divisor = maximum(temperature, 1e-6);
  Value allowed = less(iota(*given.node->graph, {1, vocabulary_}, 1), limit);
  return scan(given, [&](Value known) {
    Value x = embedded(token);
    for (size_t l = 0; l < lstm_.size(); ++l) {
      lstm_[l].step(x, states.h[l], states.c[l]);
      x = states.h[l];
    }
    Value logits = select(allowed, (*softmax_)(x) / divisor, -HUGE_VAL);
    Value drawn = categorical(fold_in(key, cast(step_index(), DType::i64)), logits);
    token = select(greater_equal(known, 0), reshape(known, {1}), drawn);
    return at(token, 0);
  });
}

std::vector<Tensor> LanguageNetwork::random_generate_inputs(int64_t steps, uint64_t seed) const {
  return {random_integers({steps}, vocabulary_, seed), Literal::of(int32_t(vocabulary_)),
          Literal::of(1.0f), Literal::of(int64_t(seed))};
}

void check_notes(const TrainOptions& options, const Notes& notes) {
  if (options.notes.empty() || options.notes == notes) return;
  throw input_error({},
                    "the data have another vocabulary than the checkpoint: wanted the data it was "
                    "trained on");
}

const std::string& vocabulary_note(const GenerateOptions& options) {
  const auto note = options.notes.find("vocabulary");
  if (note == options.notes.end())
    throw input_error({}, "no vocabulary: wanted a checkpoint that `graphc train` wrote");
  return note->second;
}

double perplexity(Session& session, const LanguageTask& task, const std::string& graph,
                  const Windows& windows) {
  const Type type{DType::i32, {windows.steps(), windows.batch()}};
  session.compile(graph, {type, type});
  task.network.reset(session, graph + ".");
  double total = 0;
  for (int64_t i = 0; i < windows.count(); ++i) {
    const Window window = windows.window(i);
    total += session(graph, window.tokens, window.targets).scalar();
  }
  return std::exp(total / (double(windows.count()) * task.elements(windows)));
}

void train_language_model(Session& session, const TrainOptions& options, const LanguageTask& task) {
  const Windows& windows = task.train;
  const Type type{DType::i32, {windows.steps(), windows.batch()}};
  session.compile("train", {type, type, {DType::f32, {}}});

  Training training(options, task.epochs, task.notes, task.unit);
  const double steps = double(training.epochs() * windows.count());
  const auto rate_now = [&] {
    const TrainPosition& at = training.position();
    return task.rate(at.epoch, double(at.epoch * windows.count() + at.window) / steps);
  };
  bool ended_epoch = false;
  while (training.goes_on()) {
    training.begin_epoch(windows.count());
    if (training.position().window == 0 && task.reset_each_epoch) task.network.reset(session, "");
    while (training.in_epoch()) {
      const double rate = rate_now();
      const Window window = windows.window(training.position().window);
      const double loss =
          session("train", window.tokens, window.targets, Literal::of(float(rate))).scalar();
      training.step(loss / task.elements(windows), windows.steps() * windows.batch(), rate);
    }
    // An epoch cut short has no perplexities: they would compare with nothing.
    if (!training.epoch_is_done()) break;
    const double mean = training.position().total / double(windows.count());
    const double valid = perplexity(session, task, "forward", task.valid);
    ended_epoch = true;
    training.end_epoch(std::exp(mean), valid, sample(session, options, task));
  }
  std::optional<double> test;
  if (task.test != nullptr && ended_epoch && training.is_done())
    test = perplexity(session, task, "test", *task.test);
  training.end(test);
}

void generate_tokens(Session& session, const LanguageNetwork& network,
                     const std::vector<int32_t>& prompt, int32_t limit,
                     const GenerateOptions& options, const std::function<bool(int32_t)>& write) {
  GRAPHC_CHECK(!prompt.empty(), "a prompt without tokens");
  session.compile(
      "generate",
      {{DType::i32, {kTokensPerCall}}, {DType::i32, {}}, {DType::f32, {}}, {DType::i64, {}}});
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
        session("generate", given, Literal::of(limit), temperature, Literal::of(key));
    const Literal out = result.literal();
    for (size_t i = forced; i < tokens.size() && drawn < options.length; ++i, ++drawn) {
      if (!write(out.data<int32_t>()[i])) return;
    }
  }
}

}  // namespace graphc
