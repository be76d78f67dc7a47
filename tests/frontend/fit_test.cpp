// SPDX-License-Identifier: Apache-2.0
// fit: stopped or killed at random steps and called again, it gives the losses, the curve and the
// files of a training that was not stopped.
#include "frontend/fit.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <random>

#include "frontend/graphc.h"
#include "runtime/files/files.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr int64_t kFitSamples = 11, kFitBatch = 3;

/// Points of a line with noise, the same for a sample wherever it stands.
std::vector<Data> line_of(std::span<const int64_t> samples) {
  std::vector<float> x, y;
  for (const int64_t sample : samples) {
    x.push_back(float(sample % 7) / 7);
    y.push_back(2 * x.back() + float(sample * 37 % 11) / 11);
  }
  const Shape shape{int64_t(samples.size()), 1};
  return {Data(x, shape), Data(y, shape)};
}

/// A model with all kinds of states, and what its training keeps beside.
struct Regression {
  Model model{"regression"};
  Linear hidden{model, "hidden", 1, 4}, out{model, "out", 4, 1};
  Session session{model, {.target = "reference", .seed = 9, .announce = [](const std::string&) {}}};
  Plateau plateau{session, 0.1, {.factor = 0.5, .patience = 0}};

  Regression() {
    model.graph("train", Mode::training, [this](Inputs& in) {
      const Value loss = error(in);
      State seen = in.state("seen", {i64, {}});
      seen = seen + 1;
      minimize(loss, model.params(), Adam{.rate = in("rate", f32, {})});
      return Results{{"loss", loss}, {"seen", seen}};
    });
    model.graph("validate", [this](Inputs& in) { return error(in); });
  }

  Value error(Inputs& in) const {
    const Value x = in("x", f32, {"batch", 1}), y = in("y", f32, {"batch", 1});
    return mse(out(dropout(tanh(hidden(x)), {.keep = 0.7})), y);
  }

  FitOptions options(const std::filesystem::path& folder) {
    FitOptions options{.epochs = 9, .samples = kFitSamples, .batch = kFitBatch};
    options.inputs = [this](std::span<const int64_t> samples) {
      std::vector<Data> inputs = line_of(samples);
      inputs.emplace_back(plateau.rate());
      return inputs;
    };
    options.validate = [this] {
      return mean_loss(session, "validate", {{11, 12, 13}, {14, 15}}, line_of);
    };
    options.patience = 3;
    options.checkpoint = folder / "last.safetensors";
    options.best = folder / "best.safetensors";
    options.curve = folder / "curve.csv";
    options.progress = false;
    options.after_epoch = [this](const FitEpoch& epoch) { plateau.observe(*epoch.validation); };
    return options;
  }
};

struct Killed {};

/// The losses of all steps; those that were done twice are the same.
class Losses {
 public:
  void add(const FitStep& step) {
    const auto [known, added] = losses_.emplace(step.step, step.loss);
    EXPECT_EQ(known->second, step.loss) << "step " << step.step << (added ? "" : ", done again");
  }
  bool operator==(const Losses&) const = default;

 private:
  std::map<int64_t, double> losses_;
};

/// Trains until it is done, stopped or killed in between after so many steps of each part.
FitReport in_parts(const std::filesystem::path& folder, uint64_t seed, Losses& losses) {
  std::mt19937_64 draw(seed);
  for (int part = 0; part < 200; ++part) {
    Regression regression;
    FitOptions options = regression.options(folder);
    int64_t left = 1 + int64_t(draw() % 9);
    const bool kill = draw() % 2 == 0;
    options.checkpoint_every = int64_t(draw() % 3);
    options.after_step = [&](const FitStep& step) {
      losses.add(step);
      if (kill && --left == 0) throw Killed();
    };
    options.stop = [&] { return !kill && --left == 0; };
    testing::count("parts of trainings", 1);
    try {
      const FitReport report = fit(regression.session, options);
      if (!report.stopped) return report;
    } catch (const Killed&) {
    }
  }
  ADD_FAILURE() << "seed " << seed << ": it does not come to an end";
  return {};
}

TEST(Fit, StoppedOrKilledAnywhereItGivesTheSameDigits) {
  const TemporaryFolder folder;
  Regression regression;
  Losses wanted;
  FitOptions options = regression.options(folder.path());
  options.after_step = [&](const FitStep& step) { wanted.add(step); };
  const FitReport whole = fit(regression.session, options);
  EXPECT_EQ(whole.steps, 4 * whole.epochs);
  EXPECT_GE(whole.epochs, 4);
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const TemporaryFolder parts;
    Losses found;
    const FitReport report = in_parts(parts.path(), seed, found);
    EXPECT_TRUE(found == wanted) << seed;
    EXPECT_EQ(report.epochs, whole.epochs);
    EXPECT_EQ(report.best, whole.best);
    EXPECT_EQ(report.gave_up, whole.gave_up);
    for (const char* file : {"last.safetensors", "best.safetensors", "curve.csv"}) {
      EXPECT_TRUE(read_file(parts.path() / file) == read_file(folder.path() / file))
          << "seed " << seed << ": " << file;
    }
  }
}

TEST(Fit, EndsWithTheBestModel) {
  const TemporaryFolder folder;
  Regression regression, again;
  FitOptions options = regression.options(folder.path());
  std::vector<double> validations;
  options.after_epoch = [&](const FitEpoch& epoch) {
    validations.push_back(*epoch.validation);
    EXPECT_EQ(epoch.best, validations.back() == *std::ranges::min_element(validations));
  };
  options.epochs = 40;
  const FitReport report = fit(regression.session, options);
  EXPECT_TRUE(report.gave_up);
  EXPECT_EQ(report.epochs, int64_t(validations.size()));
  EXPECT_EQ(report.best, validations[validations.size() - 4]);
  EXPECT_EQ(report.validation, validations.back());
  EXPECT_EQ(mean_loss(regression.session, "validate", {{11, 12, 13}, {14, 15}}, line_of),
            report.best);
  again.session.load(options.best.string());
  EXPECT_EQ(again.session.state("out.w"), regression.session.state("out.w"));
  // Done is done; more epochs, or another name, and there is more to do.
  int64_t steps = 0;
  options.after_step = [&](const FitStep&) { ++steps; };
  const FitReport tuned =
      fit(regression.session,
          {.epochs = 1, .samples = 3, .inputs = options.inputs, .name = "tune", .progress = false});
  EXPECT_EQ(tuned.steps, 1);
}

TEST(Fit, TakesAnOrderOfOnesOwnAndShowsWhatItDoes) {
  const TemporaryFolder folder;
  Regression regression;
  FitOptions options{.epochs = 2, .inputs = regression.options({}).inputs};
  std::vector<int64_t> epochs;
  options.order = [&](int64_t epoch) {
    epochs.push_back(epoch);
    return SampleBatches{{0, 1}, {5}};
  };
  options.curve = folder.path() / "curve.csv";
  options.tensorboard = folder.path() / "board";
  ::testing::internal::CaptureStderr();
  const FitReport report = fit(regression.session, options);
  const std::string shown = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(epochs, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(report.steps, 4);
  EXPECT_TRUE(std::isnan(report.best));
  EXPECT_THAT(shown, HasSubstr("epoch 1   step 1   loss "));
  EXPECT_THAT(shown, HasSubstr("epoch 2   step 4   loss "));
  EXPECT_THAT(read_file(options.curve), ::testing::MatchesRegex("epoch,loss\n1,.*\n2,.*\n"));
  for (const auto& file : std::filesystem::directory_iterator(options.tensorboard))
    EXPECT_THAT(read_file(file.path()), HasSubstr("epoch_loss"));
}

TEST(Fit, MeansAreOverSamplesNotOverBatches) {
  Model m("m");
  m.graph("mean", [](Inputs& in) { return mean(in("x", f32, {"batch"})); });
  Session session(m, {.target = "reference", .announce = [](const std::string&) {}});
  const InputsOf squares = [](std::span<const int64_t> samples) -> std::vector<Data> {
    std::vector<float> x;
    for (const int64_t sample : samples) x.push_back(float(sample * sample));
    return {Data(x)};
  };
  EXPECT_FLOAT_EQ(float(mean_loss(session, "mean", {{1, 2, 3}, {6}}, squares)), 12.5);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { mean_loss(session, "mean", {}, squares); }),
              HasSubstr("mean_loss: there are no samples"));
}

TEST(Fit, RefusesOptionsThatDoNotFitTogether) {
  Regression regression;
  const auto refused = [&](const std::function<void(FitOptions&)>& change) {
    FitOptions options = regression.options("folder");
    change(options);
    testing::count("bad inputs", 1);
    return error_of(ErrorKind::input, [&] { fit(regression.session, options); });
  };
  EXPECT_THAT(refused([](FitOptions& o) { o.inputs = nullptr; }), HasSubstr(".inputs is wanted"));
  EXPECT_THAT(refused([](FitOptions& o) { o.samples = 0; }), HasSubstr(".order, the batches"));
  EXPECT_THAT(refused([](FitOptions& o) { o.batch = 0; }), HasSubstr(".batch is at least 1"));
  EXPECT_THAT(refused([](FitOptions& o) { o.epochs = -1; }), HasSubstr("are at least 0"));
  EXPECT_THAT(refused([](FitOptions& o) { o.validate = nullptr; }), HasSubstr("wants .validate"));
  EXPECT_THAT(refused([](FitOptions& o) { o.best = o.checkpoint; }), HasSubstr("are one file"));
  EXPECT_THAT(refused([](FitOptions& o) { o.checkpoint_every = 2, o.checkpoint = ""; }),
              HasSubstr(".checkpoint_every wants .checkpoint"));
  EXPECT_THAT(refused([](FitOptions& o) {
                o.checkpoint = o.best = o.curve = "";
                o.order = [](int64_t) { return SampleBatches(); };
              }),
              HasSubstr("epoch 1 has no batches"));
}

TEST(Fit, ALossThatIsNotFiniteEndsIt) {
  Regression regression;
  FitOptions options{.samples = kFitSamples, .inputs = [](std::span<const int64_t> samples) {
                       std::vector<Data> inputs = line_of(samples);
                       inputs.emplace_back(3e38);
                       return inputs;
                     }};
  options.progress = false;
  options.batch = 2;
  EXPECT_THAT(error_of(ErrorKind::check, [&] { fit(regression.session, options); }),
              ::testing::ContainsRegex("the loss is (nan|inf) at step [2-6] of epoch 1"));
}

}  // namespace
}  // namespace graphc::core
