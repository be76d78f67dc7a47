// SPDX-License-Identifier: Apache-2.0
// forecast: learns what a column does next, in the table's own units, and goes on where it was.
#include "models/forecast.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "runtime/files/files.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

/// A wave of 12 rows around 500, and its phase a quarter later; days are no numbers.
std::string waves(int64_t rows) {
  std::string text = "day,wave,later\n";
  for (int64_t row = 0; row < rows; ++row) {
    const double turn = 2 * M_PI * double(row) / 12;
    text += fmt::format("day {},{:.4f},{:.4f}\n", row, 500 + 80 * std::sin(turn), std::cos(turn));
  }
  return text;
}

struct Forecaster {
  std::unique_ptr<Program> program;
  Session session;
  TrainOptions options;
  std::vector<double> losses;
  std::map<std::string, double> metrics;  ///< the last ones
  TrainPosition last;

  Forecaster(const std::filesystem::path& data, std::vector<std::string> more = {})
      : program(make_program("forecast", with_sizes(std::move(more)))),
        session(program->model(), {.target = "cpu", .seed = 3, .announce = [](const auto&) {}}) {
    options.data = data;
    options.report = [&](const TrainEvent& event) {
      if (event.loss) losses.push_back(*event.loss);
      for (const Metric& metric : event.metrics) metrics[metric.name] = metric.value;
    };
    options.save = [&](const TrainPosition& at, const Notes&) { last = at; };
  }
  static std::vector<std::string> with_sizes(std::vector<std::string> more) {
    more.insert(more.end(),
                {"target=wave", "steps=6", "hidden=8", "batch=16", "learning-rate=0.02"});
    return more;
  }
  void train(int64_t epochs) {
    options.epochs = epochs;
    program->train(session, options);
  }
};

TEST(ForecastCpu, LearnsWhatTheLastRowDoesNotSay) {
  const TemporaryFolder folder;
  const std::filesystem::path data = folder.path() / "waves.csv";
  write_file_atomically(data, waves(240));
  Forecaster one(data);
  one.train(8);
  // Of a sine of 12 rows a turn: the mean square of its differences is 2 (1 - cos 30°) of its own.
  const double naive = 80 * std::sqrt(1 - std::cos(M_PI / 6));
  for (const char* part : {"valid_", "test_"}) {
    SCOPED_TRACE(part);
    EXPECT_NEAR(one.metrics[std::string(part) + "naive_rmse"], naive, 0.01 * naive);
    EXPECT_LT(one.metrics[std::string(part) + "rmse"], 0.25 * naive);
    // The loss is that of standardised numbers; the wave's deviation is 80 / sqrt 2.
    EXPECT_NEAR(one.metrics[std::string(part) + "rmse"],
                std::sqrt(one.metrics[std::string(part) + "loss"]) * 80 / std::sqrt(2.0), 0.5);
  }
  const std::vector<Metric> found =
      one.program->evaluate(one.session, {.data = data, .split = "test"});
  EXPECT_EQ(found.at(1), (Metric{"rmse", one.metrics["test_rmse"]}));
  // In the table's units: the row after the first six is 500 - 0.
  std::vector<float> rows;
  for (int row = 0; row < 6; ++row) rows.push_back(float(500 + 80 * std::sin(M_PI * row / 6)));
  EXPECT_NEAR(one.session("predict", Data(rows, {6, 1, 1})).scalar(), 500, 20);
}

/// Two targets, four rows ahead, from numbers with gaps, a date and a category: what is forecast is
/// in the table's units, and a gap among the targets counts nothing.
TEST(ForecastCpu, SeveralTargetsAndRowsFromWhatTablesHave) {
  const TemporaryFolder folder;
  std::string text = "time,kind,wave,late\n";
  for (int row = 0; row < 480; ++row) {
    const double turn = 2 * M_PI * row / 24;
    const bool high = row / 40 % 2 == 1;
    text += fmt::format("2024-01-{:02} {:02}:00,{},{},{:.4f}\n", 1 + row / 24, row % 24,
                        high ? "high" : "low",
                        row % 13 == 5 ? "" : fmt::format("{:.4f}", 500 + 80 * std::sin(turn)),
                        (high ? 3 : 1) * std::cos(turn));
  }
  const auto data = folder.add("t.csv", text);
  for (const char* missing : {"mean", "previous", "mask"}) {
    for (const char* embedding : {"0", "3"}) {
      SCOPED_TRACE(fmt::format("{} {}", missing, embedding));
      Notes notes;
      const auto program =
          make_program("forecast", {"target=wave,late", "columns=wave,late,time:date,kind:category",
                                    "steps=6", "horizon=4", fmt::format("missing={}", missing),
                                    fmt::format("embedding={}", embedding), "hidden=16", "batch=16",
                                    "learning-rate=0.02", "categories=4"});
      Session session(program->model(),
                      {.target = "cpu", .seed = 3, .announce = [](const auto&) {}});
      std::map<std::string, double> metrics;
      std::vector<TrainLine> lines;
      TrainOptions options{.data = data, .epochs = 6, .lines = true};
      options.report = [&](const TrainEvent& event) {
        for (const Metric& metric : event.metrics) metrics[metric.name] = metric.value;
        if (event.event == "end") lines = event.lines;
      };
      options.save = [&](const TrainPosition&, const Notes& now) { notes = now; };
      program->train(session, options);
      EXPECT_LT(metrics["test_rmse_wave"], 0.5 * metrics["test_naive_rmse_wave"]);
      EXPECT_LT(metrics["test_rmse_late"], 0.6 * metrics["test_naive_rmse_late"]);
      // With the notes of the checkpoint an evaluation is the same.
      const auto found =
          program->evaluate(session, {.data = data, .split = "test", .notes = notes});
      EXPECT_EQ(found[1], (Metric{"rmse_wave", metrics["test_rmse_wave"]}));
      // Of 48 rows of the test those that a window forecasts last.
      ASSERT_EQ(lines.size(), 2u);
      EXPECT_EQ(lines[0].values.size(), 45u);
      EXPECT_EQ(lines[1].values.size(), 45u);
      EXPECT_TRUE(std::isnan(lines[0].values[12]));  // row 447 = 34 * 13 + 5 is a gap
    }
  }
}

TEST(ForecastCpu, GoesOnInTheMiddleOfAnEpochWithTheSameBits) {
  const TemporaryFolder folder;
  const std::filesystem::path data = folder.path() / "waves.csv";
  write_file_atomically(data, waves(100));
  const std::vector<std::string> columns{"columns=later,wave", "horizon=2"};
  Forecaster whole(data, columns), parts(data, columns);
  whole.train(2);
  parts.options.max_steps = int64_t(whole.losses.size()) - 1;
  parts.train(2);
  ASSERT_GT(parts.last.window, 0);
  parts.options.from = parts.last;
  parts.options.max_steps = 1000;
  parts.train(2);
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.metrics, whole.metrics);
  for (const Param& param : whole.program->model().params())
    EXPECT_TRUE(parts.session.state(param.name()) == whole.session.state(param.name()));
}

/// Of a row that only validation sees.
TEST(ForecastCpu, AnEvaluationThatIsNotFiniteSaysAfterWhichEpoch) {
  const TemporaryFolder folder;
  std::string text = waves(100);
  const size_t at = text.find("day 85,") + 7;
  text.replace(at, text.find(',', at) - at, "3e38");
  write_file_atomically(folder.path() / "t.csv", text);
  SessionOptions checks{.target = "cpu", .check_finite = true};
  checks.announce = [](const std::string&) {};
  Forecaster one(folder.path() / "t.csv");
  Session session(one.program->model(), checks);
  one.options.epochs = 3;
  try {
    one.program->train(session, one.options);
    ADD_FAILURE() << "wanted an error, found none";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::check);
    EXPECT_THAT(error.what(), HasSubstr("in the evaluation after epoch 1: training stops"));
  }
  // What was learned is kept: the epoch's last step is done.
  EXPECT_EQ(one.last.epoch, 0);
  EXPECT_EQ(one.last.step, int64_t(one.losses.size()));
  // With other data behind the rows that are trained on it goes on: also from the last epoch.
  write_file_atomically(folder.path() / "t.csv", waves(100));
  const size_t steps = one.losses.size();
  one.options.from = one.last;
  one.options.epochs = 1;
  one.program->train(session, one.options);
  EXPECT_EQ(one.losses.size(), steps);
  EXPECT_EQ(one.last.epoch, 1);
  EXPECT_TRUE(std::isfinite(one.metrics["valid_loss"]));
}

TEST(Forecast, ErrorsSayWhatIsWanted) {
  const auto message = [](const std::vector<std::string>& parameters) {
    return error_of(ErrorKind::usage, [&] { make_program("forecast", parameters); });
  };
  EXPECT_THAT(message({"columns=a,,b"}), HasSubstr("a column without a name"));
  EXPECT_THAT(message({"columns=a,"}), HasSubstr("a column without a name"));
  EXPECT_THAT(message({"target="}), HasSubstr("a column without a name"));
  EXPECT_THAT(message({"horizon=0"}), HasSubstr("'horizon' is a whole number from 1: found '0'"));
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "t.csv", waves(20));
  Forecaster one(folder.path() / "t.csv", {"horizon=11"});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { one.train(1); }),
              HasSubstr("a table of 20 rows has no window of 6 rows with 11 behind it"));
  one.options.data = folder.path();
  EXPECT_THAT(error_of(ErrorKind::input, [&] { one.train(1); }), HasSubstr("cannot read"));
  one.options.data.reset();
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { one.train(1); }),
              HasSubstr("--data wants a CSV or .npy file"));
  one.options.sample = 3;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { one.train(1); }), HasSubstr("draws no text"));
}

}  // namespace
}  // namespace graphc::core
