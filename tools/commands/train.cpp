// SPDX-License-Identifier: Apache-2.0
// graphc train: trains a model, with progress on stderr and a log of JSON lines.
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "models/registry.h"
#include "passes/pipeline.h"
#include "runtime/clock.h"
#include "tools/commands/commands.h"
#include "tools/commands/compile_options.h"

namespace graphc::commands {
namespace {

struct Options {
  std::string model, data, init, log;
  std::vector<std::string> parameters;
  SessionOptions session;
  TrainOptions train;
  GivenOptions given;
  std::optional<int64_t> epochs;
  int64_t max_steps = 0;
};

volatile std::sig_atomic_t stopped_by = 0;

void stop(int signal) {
  stopped_by = signal;
  // A second signal ends the process at once.
  std::signal(signal, SIG_DFL);
}

/// Writes one JSON object a line, as events happen; "-" is stdout.
class Log {
 public:
  explicit Log(const std::string& path) : path_(path) {
    if (path.empty() || path == "-") return;
    file_ = std::fopen(path.c_str(), "w");
    if (file_ == nullptr) throw resource_error("{}: {}", path, std::strerror(errno));
  }
  ~Log() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Log(const Log&) = delete;

  void write(const TrainEvent& event) {
    if (path_.empty()) return;
    nlohmann::ordered_json line{
        {"event", event.event}, {"epoch", event.epoch}, {"step", event.step}};
    const auto add = [&](const char* name, const std::optional<double>& value) {
      if (value) line[name] = *value;
    };
    add("loss", event.loss);
    add("learning_rate", event.learning_rate);
    add("words_per_s", event.words_per_s);
    add("train_perplexity", event.train_perplexity);
    add("valid_perplexity", event.valid_perplexity);
    add("test_perplexity", event.test_perplexity);
    const std::string text = line.dump() + "\n";
    if (path_ == "-") {
      write_stdout(text);
    } else if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() ||
               std::fflush(file_) != 0) {
      throw resource_error("{}: {}", path_, std::strerror(errno));
    }
  }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
};

/// What people see: a line now and then, and one for every epoch.
class Progress {
 public:
  void show(const TrainEvent& event) {
    if (event.event == "step") {
      const double now = steady_seconds();
      if (now - last_ < kSeconds) return;
      last_ = now;
    }
    std::string line = event.event == "end"
                           ? fmt::format("end       {} steps", event.step)
                           : fmt::format("epoch {}   step {}", event.epoch, event.step);
    const auto add = [&](const char* name, const std::optional<double>& value) {
      if (value) line += fmt::format("   {} {:.6g}", name, *value);
    };
    add("loss", event.loss);
    if (event.loss && event.words_per_s) add("perplexity", std::exp(*event.loss));
    add("train perplexity", event.train_perplexity);
    add("valid perplexity", event.valid_perplexity);
    add("test perplexity", event.test_perplexity);
    if (event.words_per_s) line += fmt::format("   {:.0f} words/s", *event.words_per_s);
    fmt::print(stderr, "{}\n", line);
  }

 private:
  static constexpr double kSeconds = 2;
  double last_ = steady_seconds() - kSeconds;  ///< the first step is shown
};

/// Refuses what the target would ignore or does not know, before any data is read.
void check_compile_options(const Options& options) {
  const std::string& name = options.session.target;
  const Target& on = name.empty() ? default_target() : target(name);
  options.given.check(on);
  standard_pipeline(options.session.compile.variant, options.session.compile.unroll);
}

int train(Options& options) {
  check_compile_options(options);
  const auto program = make_program(options.model, options.parameters);
  Session session(program->model(), options.session);
  if (!options.init.empty()) session.load(options.init);
  Log log(options.log);
  Progress progress;
  fmt::print(stderr, "{}: {} parameters, target {}\n", options.model,
             program->model().parameter_count(), session.target().name);
  options.train.epochs = options.epochs;
  if (options.max_steps > 0) options.train.max_steps = options.max_steps;
  if (!options.data.empty()) options.train.data = options.data;
  options.train.report = [&](const TrainEvent& event) {
    log.write(event);
    progress.show(event);
  };
  options.train.stop = [] { return stopped_by != 0; };
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
  program->train(session, options.train);
  if (stopped_by == 0) return 0;
  fmt::print(stderr, "stopped by signal {}\n", int(stopped_by));
  return 128 + int(stopped_by);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("train", "Train a model");
  auto options = std::make_shared<Options>();
  verb->add_option("MODEL", options->model, "a model: see `graphc models`")->required();
  verb->add_option("PARAMETERS", options->parameters, "of the model: size=test batch=20");
  verb->add_option("--data", options->data,
                   "the folder of the corpus; else the model's folder in $GRAPHC_DATA");
  verb->add_option("--epochs", options->epochs,
                   "passes over the data; the model's recipe if absent")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--max-steps", options->max_steps, "end after so many steps")
      ->check(CLI::PositiveNumber);
  verb->add_option("--seed", options->session.seed, "of initial values and random draws")
      ->capture_default_str();
  verb->add_option("--init", options->init, "parameters to begin with, a safetensors file");
  verb->add_option("--log", options->log, "write events as JSON lines; - is stdout");
  verb->add_option("--target", options->session.target, "what to compile for");
  verb->add_option("--precision", options->session.compile.precision, "what f32 are computed in")
      ->capture_default_str();
  add_compile_options(*verb, options->session.compile, options->given,
                      {"threads", "variant", "unroll", "cpu"});
  verb->callback([=, &action] { action = [=] { return train(*options); }; });
}

}  // namespace graphc::commands
