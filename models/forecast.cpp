// SPDX-License-Identifier: Apache-2.0
#include "models/forecast.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/graphc.h"
#include "models/batch_training.h"
#include "models/data/table_windows.h"
#include "models/random_inputs.h"

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 10> kForecastParameters{{
    {"target", "1", "the column to forecast: its name, or its number from 1"},
    {"columns", "", "the columns to forecast it from, with commas between; the target if empty"},
    {"steps", "48", "rows of a window"},
    {"horizon", "1", "how many rows after the window's last one the target is"},
    {"hidden", "64", "units of a layer"},
    {"layers", "1", "LSTM layers, at most 1000"},
    {"batch", "64", "windows of a step"},
    {"keep", "1", "probability that dropout keeps what goes up a layer"},
    {"clip", "1", "limit of the gradients' global norm"},
    {"learning-rate", "0.005", "of Adam"},
}};

class Forecast : public Program {
 public:
  explicit Forecast(const Parameters& parameters)
      : columns_(columns_of(parameters)),
        steps_(parameters.integer("steps")),
        horizon_(parameters.integer("horizon")),
        hidden_(parameters.integer("hidden")),
        count_(parameters.layers()),
        batch_(parameters.integer("batch")),
        clip_(parameters.positive("clip")),
        rate_(parameters.positive("learning-rate")),
        model_("forecast"),
        layers_(model_, "lstm", int(count_), inputs(), hidden_, {.keep = parameters.keep()}),
        out_(model_, "out", hidden_, 1),
        trained_(model_.params()),
        mean_(model_.param("scaling.mean", {inputs() + 1}, zeros())),
        deviation_(model_.param("scaling.deviation", {inputs() + 1}, constant(1))) {
    model_.graph("train", Mode::training, [this](Inputs& in) {
      const Value loss = evaluation(in).values[0];
      const Values d = gradients(loss, trained_);
      Adam{.rate = rate_}.update(trained_, clip_by_global_norm(d, clip_));
      return train_results(loss, d);
    });
    model_.graph("forward", [this](Inputs& in) { return evaluation(in); });
    model_.graph("predict", [this](Inputs& in) {
      const Value forecast = standardised_forecast(in);
      return Results{{"forecast", forecast * at(deviation_, inputs()) + at(mean_, inputs())}};
    });
  }

  Model& model() override { return model_; }

  /// One window is forecast at a time.
  Extents extents(std::string_view graph) const override {
    return {{"steps", steps_}, {"batch", graph == "predict" ? 1 : batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override {
    const int64_t batch = extents(graph).at("batch");
    std::vector<Tensor> drawn{random_uniform({steps_, batch, inputs()}, 2 * seed)};
    if (graph != "predict") drawn.push_back(random_uniform({batch_, 1}, 2 * seed + 1));
    return drawn;
  }

  Work work() const override {
    const double h = double(hidden_), calls = double(steps_ * batch_);
    const double first = calls * 2 * double(inputs()) * 4 * h;
    const double rest = calls * double(2 * count_ - 1) * 2 * h * 4 * h + double(batch_) * 2 * h;
    return {.examples = batch_,
            .words = batch_,
            .unit = "windows",
            .forward_flop = first + rest,
            .train_flop = 2 * first + 3 * rest};
  }

  bool validates() const override { return true; }

  void train(Session& session, const TrainOptions& options) const override {
    if (options.sample > 0) generate(session, {});  // refuses: there is no text here
    const TableWindows windows = read(options.data);
    if (options.from.step == 0) {
      const auto [mean, deviation] = windows.spread();
      session.set_state(mean_.name(), mean);
      session.set_state(deviation_.name(), deviation);
    }
    const uint64_t seed = session.options().seed;
    const auto inputs = [&](std::span<const int64_t> samples) { return windows.batch(samples); };
    // The part for training begins with window 0.
    const int64_t count = windows.part("train").second;
    train_on_batches(
        session, options,
        {.epoch =
             [&](int64_t epoch) {
               return batches_of(shuffled(count, seed, epoch), batch_, inputs);
             },
         .epochs = 20,
         .unit = "windows",
         .validate = [&] { return prefixed("valid_", figures(session, windows, "valid")); },
         .test = [&] { return prefixed("test_", figures(session, windows, "test")); }});
  }

  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override {
    return figures(session, read(options.data), options.split);
  }

 private:
  /// The inputs' columns, and last the target's.
  static std::vector<std::string> columns_of(const Parameters& parameters) {
    const std::string target = parameters.text("target"), given = parameters.text("columns");
    std::vector<std::string> columns;
    for (size_t at = 0; !given.empty() && at <= given.size();) {
      const size_t end = std::min(given.find(',', at), given.size());
      columns.push_back(given.substr(at, end - at));
      at = end + 1;
    }
    if (columns.empty()) columns.push_back(target);
    columns.push_back(target);
    if (std::ranges::count(columns, "") == 0) return columns;
    throw Error(ErrorKind::usage, {},
                "forecast: a column without a name: wanted target=NAME and columns=NAME,NAME");
  }
  int64_t inputs() const { return int64_t(columns_.size()) - 1; }

  TableWindows read(const std::optional<std::filesystem::path>& data) const {
    if (!data) {
      throw Error(ErrorKind::usage, {},
                  "forecast: there is no table: --data wants a CSV or .npy file");
    }
    return TableWindows(read_table(*data, columns_), steps_, horizon_);
  }

  /// The forecast for x [steps, batch, columns] in deviations from the target's mean: [batch, 1].
  Value standardised_forecast(Inputs& in) const {
    const Value x = in("x", f32, {"steps", "batch", inputs()});
    const Value scaled = (x - slice(mean_, 0, 0, inputs())) / slice(deviation_, 0, 0, inputs());
    return out_(at(layers_(scaled), -1));
  }

  /// The loss, of standardised numbers.
  Results evaluation(Inputs& in) const {
    const Value forecast = standardised_forecast(in), y = in("y", f32, {"batch", 1});
    const Value wanted = (y - at(mean_, inputs())) / at(deviation_, inputs());
    return {{"loss", mse(forecast, wanted)}};
  }

  /// The loss; the root mean square error in the table's units, and that of the naive forecast.
  std::vector<Metric> figures(Session& session, const TableWindows& windows,
                              std::string_view part) const {
    const auto inputs = [&](std::span<const int64_t> samples) { return windows.batch(samples); };
    const auto [begin, end] = windows.part(part);
    const Metric loss = mean_results(session, "forward",
                                     batches_of(numbers(begin, end), batch_, inputs), {"loss"})[0];
    const double deviation = session.state(deviation_.name()).element(this->inputs());
    return {loss,
            {"rmse", std::sqrt(loss.value) * deviation},
            {"naive_rmse", windows.naive_rmse(part)}};
  }

  std::vector<std::string> columns_;
  int64_t steps_, horizon_, hidden_, count_, batch_;
  double clip_, rate_;
  Model model_;
  Stacked<Lstm> layers_;
  Linear out_;
  Params trained_;
  /// What columns are standardised by. Training leaves it alone; it is among the parameters because
  /// they are of no use without it.
  Param mean_, deviation_;
};

}  // namespace

constinit const ModelRecord forecast_model{
    .name = "forecast",
    .summary = "the next number of a column of a table (CSV, .npy): LSTM layers over its rows",
    .parameters = kForecastParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<Forecast>(parameters);
    },
};

}  // namespace graphc::core
