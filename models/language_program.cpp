// SPDX-License-Identifier: Apache-2.0
#include "models/language_program.h"

#include <algorithm>
#include <cmath>

#include "models/data_notes.h"
#include "models/random_inputs.h"
#include "models/read_ahead.h"
#include "models/training.h"

namespace graphc::core {
namespace {

/// `ptb-lm` as an identifier of our text.
std::string identifier(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, '-', '_');
  return result;
}

}  // namespace

LanguageCorpus::LanguageCorpus(TextCorpus corpus)
    : vocabulary(corpus.vocabulary.to_text()),
      size(corpus.vocabulary.size()),
      train(std::move(corpus.train)),
      valid(std::move(corpus.valid)),
      test(std::move(corpus.test)) {}

LanguageSizes::LanguageSizes(const Parameters& parameters, int64_t least_vocabulary)
    : hidden(parameters.integer("hidden")),
      layers(parameters.layers()),
      steps(parameters.integer("steps")),
      batch(parameters.integer("batch")),
      vocabulary(parameters.integer("vocabulary", least_vocabulary)),
      keep(parameters.keep()) {}

LanguageProgram::LanguageProgram(Setup setup)
    : setup_(std::move(setup)),
      model_(identifier(setup_.name)),
      network_(model_, sizes().vocabulary, sizes().hidden, sizes().layers, setup_.initializers,
               setup_.weights, setup_.cell) {
  model_.graph("train", Mode::training, [this](Inputs& in) { return train_graph(in); });
  model_.graph("forward", [this](Inputs& in) { return loss(in, "forward.", 1); });
  if (setup_.tests_by_word)
    model_.graph("test", [this](Inputs& in) { return loss(in, "test.", 1); });
  model_.graph("generate", [this](Inputs& in) { return network_.generate(in); });
}

Value LanguageProgram::loss(Inputs& in, const std::string& prefix, double keep) const {
  Value tokens = in("tokens", i32, {"steps", "batch"});
  Value targets = in("targets", i32, {"steps", "batch"});
  LanguageNetwork::Carried states = network_.carried(in, prefix, in.extent("batch"));
  const Value logits = network_.logits(network_.embedded(tokens), states, keep);
  return window_loss(logits, targets, setup_.summed);
}

Extents LanguageProgram::extents(std::string_view graph) const {
  if (graph == "test") return {{"steps", 1}, {"batch", 1}};
  if (graph == "generate") return {{"steps", sizes().steps}, {"ranks", 0}};
  return {{"steps", sizes().steps}, {"batch", sizes().batch}};
}

std::vector<Tensor> LanguageProgram::random_inputs(std::string_view graph, uint64_t seed) const {
  if (graph == "generate") return network_.random_generate_inputs(sizes().steps, seed);
  const Extents extents = this->extents(graph);
  const Shape shape{extents.at("steps"), extents.at("batch")};
  std::vector<Tensor> inputs{random_integers(shape, sizes().vocabulary, 2 * seed),
                             random_integers(shape, sizes().vocabulary, 2 * seed + 1)};
  if (graph == "train") inputs.push_back(Literal::of(float(rate({}, 0))));
  return inputs;
}

Work LanguageProgram::work() const {
  const double h = double(sizes().hidden), words = double(sizes().steps * sizes().batch);
  const double forward = words * (network_.layer_flop() + 2 * h * double(sizes().vocabulary));
  return {.examples = sizes().batch,
          .words = sizes().steps * sizes().batch,
          .unit = setup_.unit,
          .forward_flop = forward,
          .train_flop = 3 * forward};
}

void LanguageProgram::check_size(int64_t size, std::string_view whose) const {
  if (size <= sizes().vocabulary) return;
  throw input_error({}, "{} has {} {}: the model's vocabulary has {}", whose, size, setup_.unit,
                    sizes().vocabulary);
}

LanguageCorpus LanguageProgram::read_to_train(const TrainOptions& options) const {
  if (!options.notes.empty()) return read_to_resume(options);
  const auto given = options.init.find("vocabulary");
  LanguageCorpus corpus =
      read({options.data, options.reading, given == options.init.end() ? nullptr : &given->second});
  check_size(corpus.size, "the corpus");
  return corpus;
}

LanguageCorpus LanguageProgram::read_to_resume(const TrainOptions& options) const {
  const std::string& vocabulary = vocabulary_note(options.notes);
  LanguageCorpus corpus = read({options.data, options.reading});
  if (corpus.vocabulary != vocabulary) {
    // A training initialised from another one has that one's vocabulary.
    LanguageCorpus numbered = read({options.data, options.reading, &vocabulary});
    if (!is_same_data(notes_of(numbered), options.notes)) {
      throw other_data_error(
          fmt::format("they have another vocabulary than the checkpoint, of {} {}: wanted its {}",
                      corpus.size, setup_.unit, numbered.size));
    }
    corpus = std::move(numbered);
  }
  check_size(corpus.size, "the corpus");
  check_same_data(notes_of(corpus), options.notes, options.reading);
  return corpus;
}

Notes LanguageProgram::notes_of(const LanguageCorpus& corpus) const {
  std::vector<PartOfData> parts;
  for (const auto& [name, ids] :
       {std::pair<std::string_view, const std::vector<int32_t>&>("train", corpus.train),
        {"valid", corpus.valid},
        {"test", corpus.test}}) {
    if (ids.empty()) continue;
    parts.push_back(
        {.name = name,
         .elements = int64_t(ids.size()),
         .unit = setup_.unit,
         .values = {Literal(std::span<const int32_t>(ids), Shape{int64_t(ids.size())})}});
  }
  Notes notes = data_notes(std::move(parts));
  notes.emplace("vocabulary", corpus.vocabulary);
  return notes;
}

Windows LanguageProgram::windows(const LanguageCorpus& corpus, std::string_view split) const {
  if (split == "test" && setup_.tests_by_word) return Windows(corpus.test, 1, 1);
  const std::vector<int32_t>& stream = split == "train"   ? corpus.train
                                       : split == "valid" ? corpus.valid
                                                          : corpus.test;
  try {
    return Windows(stream, sizes().batch, sizes().steps);
  } catch (Error& error) {
    error.note(fmt::format("split '{}': wanted more text, or less of batch or steps", split));
    throw;
  }
}

Windows LanguageProgram::all_windows(LanguageCorpus& corpus) const {
  std::vector<int32_t>& all = corpus.train;
  all.insert(all.end(), corpus.valid.begin(), corpus.valid.end());
  all.insert(all.end(), corpus.test.begin(), corpus.test.end());
  const auto count = int64_t(all.size());
  const int64_t batch = std::clamp<int64_t>(count / (sizes().steps + 1), 1, sizes().batch);
  const int64_t steps = std::clamp<int64_t>(count / batch - 1, 1, sizes().steps);
  return Windows(all, batch, steps);
}

double LanguageProgram::mean_nats(Session& session, const std::string& graph,
                                  const Windows& windows) const {
  const Type type{DType::i32, {windows.steps(), windows.batch()}};
  session.compile(graph, {type, type});
  network_.reset(session, graph + ".");
  double total = 0;
  for (int64_t i = 0; i < windows.count(); ++i) {
    const Window window = windows.window(i);
    total += session(graph, window.tokens, window.targets).scalar();
  }
  return total / (double(windows.count()) * elements(windows));
}

/// The text to report after an epoch; empty if none is wanted.
std::string LanguageProgram::sample(Session& session, const TrainOptions& options,
                                    const Notes& notes) const {
  if (options.sample <= 0) return {};
  std::string text = options.sample_prompt;
  generate(session, {.prompt = options.sample_prompt,
                     .length = options.sample,
                     .temperature = 0.7,
                     .notes = notes,
                     .write = [&](std::string_view more) { return text += more, true; }});
  return text;
}

void LanguageProgram::train(Session& session, const TrainOptions& options) const {
  const LanguageCorpus corpus = read_to_train(options);
  const Notes notes = notes_of(corpus);
  const Windows train = windows(corpus, "train"), valid = windows(corpus, "valid");
  std::optional<Windows> held_back;
  if (!corpus.test.empty()) held_back = windows(corpus, "test");
  const Type type{DType::i32, {train.steps(), train.batch()}};
  session.compile("train", {type, type, {DType::f32, {}}});
  // Report errors in the prompt now instead of after an epoch.
  if (options.sample > 0 && !options.sample_prompt.empty()) {
    generate(session, {.prompt = options.sample_prompt,
                       .length = 0,
                       .notes = notes,
                       .remark = options.reading.remark,
                       .write = [](std::string_view) { return true; }});
  }

  Training training(options, setup_.epochs, notes, setup_.unit);
  const int64_t all_steps = training.epochs() * train.count();
  ReadAhead<Window> reader([&, next = training.position().epoch * train.count() +
                                      training.position().window]() mutable {
    return next < all_steps ? std::optional(train.window(next++ % train.count())) : std::nullopt;
  });
  while (training.goes_on()) {
    training.begin_epoch(train.count());
    if (training.position().window == 0) network_.reset(session, "");
    while (training.in_epoch()) {
      const TrainPosition& at = training.position();
      const double done = double(at.epoch * train.count() + at.window);
      const double rate_now = rate(at, done / double(all_steps));
      const auto [window, made] = reader.next();
      const Outputs results = training.checked([&] {
        return session("train", window.tokens, window.targets, Literal::of(float(rate_now)));
      });
      training.step({.loss = results["loss"].scalar() / elements(train),
                     .words = train.steps() * train.batch(),
                     .learning_rate = rate_now,
                     .gradient_norm = results["gradient_norm"].scalar(),
                     .read = made});
    }
    // A partial epoch has no comparable perplexity.
    if (!training.epoch_is_done()) break;
    const double mean = training.position().total / double(train.count());
    const double validation =
        training.evaluated([&] { return mean_nats(session, "forward", valid); });
    training.validated(validation);
    training.end_epoch({{"train_perplexity", std::exp(mean)}},
                       {{"valid_perplexity", std::exp(validation)}},
                       [&] { return sample(session, options, notes); });
  }
  std::function<std::vector<Metric>()> test;
  if (held_back && training.wants_test()) {
    test = [&]() -> std::vector<Metric> {
      return {{"test_perplexity", std::exp(mean_nats(session, test_graph(), *held_back))}};
    };
  }
  training.end(test);
}

std::vector<Metric> LanguageProgram::evaluate(Session& session,
                                              const EvaluateOptions& options) const {
  // Without a checkpoint, any numbering will do.
  const std::string* vocabulary = options.notes.empty() ? nullptr : &vocabulary_note(options.notes);
  LanguageCorpus corpus = read({options.data, options.reading, vocabulary});
  check_size(corpus.size, vocabulary == nullptr ? "the corpus" : "the checkpoint's vocabulary");
  const bool tests = !corpus.test.empty(), all = options.split == "all";
  if (options.split != "train" && options.split != "valid" && !all &&
      !(tests && options.split == "test")) {
    throw Error(ErrorKind::usage, {},
                fmt::format("{} has no split '{}': there are train, valid{}, and all", setup_.name,
                            options.split, tests ? ", test" : ""));
  }
  const Windows windows = all ? all_windows(corpus) : this->windows(corpus, options.split);
  const double loss =
      mean_nats(session, options.split == "test" ? test_graph() : "forward", windows);
  const int64_t count = windows.count() * windows.steps() * windows.batch();
  return {
      {"perplexity", std::exp(loss)}, {"loss", loss}, {std::string(setup_.unit), double(count)}};
}

void LanguageProgram::generate_words(Session& session, const GenerateOptions& options,
                                     int32_t without) const {
  const Vocabulary words = Vocabulary::from_text(vocabulary_note(options.notes));
  check_size(words.size(), "the vocabulary");
  if (words.size() <= without)
    throw input_error({}, "a vocabulary of {} words: wanted more than {}", words.size(), without);
  // Without a prompt, start a line.
  const std::string prompt = options.prompt.empty() ? "\n" : options.prompt;
  const std::vector<std::string_view> split = split_words(prompt);
  if (split.empty()) throw input_error({}, "a prompt without words: '{}'", prompt);
  refuse_unknown(words.unknown(split), "words", options);
  const auto write = [&](int32_t token) {
    const std::string& word = words.word(token);
    return options.write(word == kEndOfLine ? "\n" : fmt::format(" {}", word));
  };
  generate_tokens(session, network_, words.ids(split, "the prompt", prompt), words.size() - without,
                  options, write);
}

}  // namespace graphc::core
