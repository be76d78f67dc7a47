// SPDX-License-Identifier: Apache-2.0
#include "models/forecast.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/graphc.h"
#include "models/batch_training.h"
#include "models/data/table_features.h"
#include "models/data/table_windows.h"
#include "models/forecast_columns.h"
#include "models/random_inputs.h"

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 13> kForecastParameters{{
    {"target", "1", "the columns to forecast, names or numbers from 1, with commas between"},
    {"columns", "",
     "the columns to forecast them from: NAME, NAME:date, NAME:category; the targets if empty"},
    {"steps", "48", "rows of a window"},
    {"horizon", "1", "how many rows behind the window are forecast"},
    {"missing", "refuse",
     "missing cells: refuse, mean, previous, drop (leave rows out) or mask (mean and a sign)"},
    {"categories", "16",
     "the most categories of a column, one that stands for all others included"},
    {"embedding", "0", "width of what a category becomes; 0: one 1 among zeros"},
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
      : targets_(names_in(parameters.text("target"))),
        features_(features_of(parameters, targets_)),
        steps_(parameters.integer("steps")),
        horizon_(parameters.integer("horizon")),
        hidden_(parameters.integer("hidden")),
        count_(parameters.layers()),
        batch_(parameters.integer("batch")),
        embedding_(parameters.integer("embedding", 0)),
        without_effect_(core::without_effect(parameters, features_)),
        clip_(parameters.positive("clip")),
        rate_(parameters.positive("learning-rate")),
        model_("forecast"),
        tables_(embeddings()),
        layers_(model_, "lstm", int(count_), width(), hidden_, {.keep = parameters.keep()}),
        out_(model_, "out", hidden_, horizon_ * outputs()),
        trained_(model_.params()),
        mean_(model_.param("scaling.mean", {features_.plain() + outputs()}, zeros())),
        deviation_(
            model_.param("scaling.deviation", {features_.plain() + outputs()}, constant(1))) {
    model_.graph("train", Mode::training, [this](Inputs& in) {
      const Value loss = this->loss(standardised_forecast(in), in);
      const Values d = gradients(loss, trained_);
      Adam{.rate = rate_}.update(trained_, clip_by_global_norm(d, clip_));
      return train_results(loss, d);
    });
    model_.graph("forward", [this](Inputs& in) {
      const Value forecast = standardised_forecast(in);
      return Results{{"loss", loss(forecast, in)}, {"forecast", in_units(forecast)}};
    });
    model_.graph("predict", [this](Inputs& in) {
      return Results{{"forecast", in_units(standardised_forecast(in))}};
    });
  }

  Model& model() override { return model_; }

  /// Graph `predict` forecasts one window at a time.
  Extents extents(std::string_view graph) const override {
    return {{"steps", steps_}, {"batch", graph == "predict" ? 1 : batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override {
    const int64_t batch = extents(graph).at("batch");
    std::vector<Tensor> drawn{random_uniform({steps_, batch, features_.width()}, 2 * seed)};
    if (graph != "predict")
      drawn.push_back(random_uniform({horizon_, batch_, outputs()}, 2 * seed + 1));
    return drawn;
  }

  Work work() const override {
    const double h = double(hidden_), calls = double(steps_ * batch_);
    const double first = calls * 2 * double(width()) * 4 * h;
    const double rest = calls * double(2 * count_ - 1) * 2 * h * 4 * h +
                        double(batch_ * horizon_ * outputs()) * 2 * h;
    return {.examples = batch_,
            .words = batch_,
            .unit = "windows",
            .forward_flop = first + rest,
            .train_flop = 2 * first + 3 * rest};
  }

  bool validates() const override { return true; }
  DataKind reads() const override { return DataKind::table; }

  void train(Session& session, const TrainOptions& options) const override {
    if (options.sample > 0) generate(session, {});  // throws: this model has no text
    const bool resumed = !options.notes.empty();
    if (without_effect_ && !resumed) throw *without_effect_;
    const bool begun =
        !resumed && is_of_these_columns(options.init, features_.options(), options.reading);
    const auto [windows, notes] = read(options.data, options.reading,
                                       resumed ? options.notes
                                       : begun ? options.init
                                               : Notes());
    if (resumed) check_same_data(notes, options.notes, options.reading);
    if (options.from.step == 0 && !begun) {
      const auto [mean, deviation] = scaling(windows);
      session.set_state(mean_.name(), mean);
      session.set_state(deviation_.name(), deviation);
    }
    const uint64_t seed = session.options().seed;
    const auto inputs = [&](std::span<const int64_t> samples) { return windows.batch(samples); };
    // The training part begins with window 0.
    const int64_t count = windows.part("train").second;
    train_on_batches(
        session, options,
        {.epoch =
             [&](int64_t epoch) {
               return batches_of(shuffled(count, seed, epoch), batch_, inputs);
             },
         .epochs = 20,
         .notes = notes,
         .unit = "windows",
         .validate = [&] { return prefixed("valid_", figures(session, windows, "valid")); },
         .test = [&] { return prefixed("test_", figures(session, windows, "test")); },
         .lines = [&] { return lines(session, windows); }});
  }

  std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const override {
    const auto [windows, notes] = read(options.data, options.reading, options.notes);
    return figures(session, windows, options.split);
  }

 private:
  struct ReadTable {
    TableWindows windows;
    Notes notes;
  };

  int64_t outputs() const { return int64_t(targets_.size()); }
  /// The number of values per row that the first layer reads.
  int64_t width() const {
    const int64_t each = embedding_ > 0 ? embedding_ : features_.options().categories;
    return features_.plain() + features_.categorical() * each;
  }

  std::vector<Embedding> embeddings() {
    std::vector<Embedding> tables;
    for (int64_t i = 0; embedding_ > 0 && i < features_.categorical(); ++i) {
      tables.emplace_back(model_, fmt::format("category.{}", i), features_.options().categories,
                          embedding_, normal(0.1));
    }
    return tables;
  }

  /// The columns to read: those of the features, and targets that are not features.
  std::vector<std::string> columns() const {
    std::vector<std::string> columns = features_.options().columns;
    for (const std::string& target : targets_) {
      const std::string name = name_and_kind(target).first;
      const auto found = std::ranges::find_if(
          columns, [&](const std::string& each) { return name_and_kind(each).first == name; });
      if (found == columns.end()) {
        columns.push_back(target);
      } else if (name_and_kind(*found).second != ColumnKind::number) {
        throw Error(ErrorKind::usage, {},
                    fmt::format("forecast: target={} and columns={}: only numbers are forecast",
                                target, *found));
      }
    }
    return columns;
  }

  /// The windows of a table, and the layout for reading rows later. If there are notes, they
  /// determine category numbers and fill values.
  ReadTable read(const std::optional<std::filesystem::path>& data, const Reading& reading,
                 const Notes& notes) const {
    if (!data) {
      throw Error(ErrorKind::usage, {},
                  "forecast: there is no table: --data wants a CSV or .npy file");
    }
    // For a trained model, the treatment of missing cells is fixed by the checkpoint, not an
    // option.
    const OptionWords words =
        notes.contains(kTableNote) ? OptionWords::trained_command : OptionWords::command_line;
    const Table table =
        read_table(*data, columns(), table_options(reading, features_.options().missing, words));
    for (const std::string& remark : table.remarks) reading.say(remark);
    TableFeatures features = features_;
    const auto note = notes.find(kTableNote);
    if (note == notes.end()) {
      features.fit(table, TableWindows::rows_of_train(table.rows()));
    } else {
      features = TableFeatures::from_note(note->second);
    }
    for (const std::string& remark : features.remarks(table)) reading.say(remark);
    std::vector<std::string> targets;
    for (const std::string& target : targets_) targets.push_back(name_and_kind(target).first);
    const Tensor x = features(table), y = table.f32(targets);
    Notes told = data_notes(parts_of(x, y));
    told.emplace(kTableNote, features.note());
    return {TableWindows(x, y, steps_, horizon_), told};
  }

  /// Mean and deviation of plain features and targets; those that are not numbers stay unscaled.
  TableWindows::Spread scaling(const TableWindows& windows) const {
    TableWindows::Spread spread = windows.spread();
    for (std::vector<float>* each : {&spread.mean, &spread.deviation}) {
      for (size_t i = 0; i < features_.is_number().size(); ++i) {
        if (!features_.is_number()[i]) (*each)[i] = each == &spread.mean ? 0 : 1;
      }
      each->erase(each->begin() + features_.plain(), each->begin() + features_.width());
    }
    return spread;
  }

  Value of_features(Value scaling) const { return slice(scaling, 0, 0, features_.plain()); }
  Value of_targets(Value scaling) const {
    return slice(scaling, 0, features_.plain(), features_.plain() + outputs());
  }

  /// The forecast for x [steps, batch, features], standardised like the targets: [horizon, batch,
  /// targets].
  Value standardised_forecast(Inputs& in) const {
    const Value x = in("x", f32, {"steps", "batch", features_.width()});
    Values parts;
    if (features_.plain() > 0) {
      const Value plain = slice(x, 2, 0, features_.plain());
      parts.push_back((plain - of_features(mean_)) / of_features(deviation_));
    }
    for (int64_t i = 0; i < features_.categorical(); ++i) {
      const Value ids = cast(at(x, features_.plain() + i, 2), i32);
      parts.push_back(tables_.empty() ? cast(one_hot(ids, features_.options().categories), f32)
                                      : tables_[size_t(i)](ids));
    }
    const Value row = parts.size() == 1 ? parts[0] : concat(parts, 2);
    const Value out = out_(at(layers_(row), -1));
    return transpose(reshape(out, {out.shape()[0], horizon_, outputs()}), {1, 0, 2});
  }

  Value in_units(Value standardised) const {
    return standardised * of_targets(deviation_) + of_targets(mean_);
  }

  /// The mean squared error, in deviations, over known targets.
  Value loss(Value forecast, Inputs& in) const {
    const Value y = in("y", f32, {horizon_, "batch", outputs()});
    const Value wanted = (y - of_targets(mean_)) / of_targets(deviation_);
    const Value known = logical_not(is_nan(y));
    const Value difference = select(known, forecast - wanted, filled(y.shape(), 0));
    return sum(square(difference)) / maximum(sum(cast(known, f32)), 1);
  }

  /// The loss; for each target the root mean square error in the table's units, and that of the
  /// naive forecast over the same windows and rows.
  std::vector<Metric> figures(Session& session, const TableWindows& windows,
                              std::string_view part) const {
    const auto [begin, end] = windows.part(part);
    const Literal deviation = session.state(deviation_.name());
    double loss = 0, known = 0;
    std::vector<double> squares(targets_.size()), naive(targets_.size()), counts(targets_.size());
    each_forecast(session, windows, begin, end, [&](int64_t window, const float* forecast) {
      for (int64_t i = 0; i < outputs(); ++i) {
        const double now = windows.naive(window, i);
        const double spread = deviation.element(features_.plain() + i);
        for (int64_t ahead = 0; ahead < horizon_; ++ahead) {
          const double wanted = windows.target(window, ahead, i);
          if (std::isnan(wanted)) continue;
          const double error = double(forecast[ahead * outputs() + i]) - wanted;
          loss += std::pow(error / spread, 2);
          ++known;
          // Both errors cover the same cells: before the first value there is no naive forecast.
          if (std::isnan(now)) continue;
          squares[size_t(i)] += error * error;
          naive[size_t(i)] += std::pow(now - wanted, 2);
          ++counts[size_t(i)];
        }
      }
    });
    if (known == 0)
      throw input_error({}, "split '{}' has no row whose target is known", std::string(part));
    std::vector<Metric> metrics{{"loss", loss / known}};
    for (size_t i = 0; i < targets_.size(); ++i) {
      const std::string suffix = targets_.size() == 1 ? "" : "_" + targets_[i];
      metrics.push_back({"rmse" + suffix, std::sqrt(squares[i] / counts[i])});
      metrics.push_back({"naive_rmse" + suffix, std::sqrt(naive[i] / counts[i])});
    }
    return metrics;
  }

  /// Calls `use` with each window and its forecast [horizon, targets], computed by graph `forward`.
  template <typename Use>
  void each_forecast(Session& session, const TableWindows& windows, int64_t begin, int64_t end,
                     const Use& use) const {
    std::vector<float> one(size_t(horizon_ * outputs()));
    for (int64_t first = begin; first < end; first += batch_) {
      const std::vector<int64_t> batch = numbers(first, std::min(end, first + batch_));
      const Outputs outputs = session.run("forward", windows.batch(batch));
      const Tensor forecast = outputs["forecast"];
      const std::span<const float> all = forecast.data<float>();
      const auto count = int64_t(batch.size());
      for (int64_t row = 0; row < count; ++row) {
        for (int64_t ahead = 0; ahead < horizon_; ++ahead) {
          const auto from = all.begin() + (ahead * count + row) * this->outputs();
          std::copy_n(from, this->outputs(), one.begin() + ahead * this->outputs());
        }
        use(batch[size_t(row)], one.data());
      }
    }
  }

  /// The first target of the test rows, and its forecast as far ahead as possible.
  std::vector<TrainLine> lines(Session& session, const TableWindows& windows) const {
    const auto [begin, end] = windows.part("test");
    TrainLine truth{targets_[0], {}}, forecast{fmt::format("forecast, {} ahead", horizon_), {}};
    each_forecast(session, windows, begin, end, [&](int64_t window, const float* found) {
      truth.values.push_back(windows.target(window, horizon_ - 1, 0));
      forecast.values.push_back(found[(horizon_ - 1) * outputs()]);
    });
    return {truth, forecast};
  }

  std::vector<std::string> targets_;
  TableFeatures features_;
  int64_t steps_, horizon_, hidden_, count_, batch_, embedding_;
  std::optional<Error> without_effect_;  ///< set if a parameter was given without effect
  double clip_, rate_;
  Model model_;
  std::vector<Embedding> tables_;  ///< for categories, if they are embedded
  Stacked<Lstm> layers_;
  Linear out_;
  Params trained_;
  /// Mean and deviation of features and targets. Training does not change them; they are parameters
  /// because the other parameters are useless without them.
  Param mean_, deviation_;
};

}  // namespace

constinit const ModelRecord forecast_model{
    .name = "forecast",
    .summary = "the next numbers of columns of a table (CSV, .npy): LSTM layers over its rows",
    .parameters = kForecastParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<Forecast>(parameters);
    },
};

}  // namespace graphc::core
