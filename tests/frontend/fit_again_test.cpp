// SPDX-License-Identifier: Apache-2.0
// fit called again: in the same session or a new one, with other options, after the best model was
// restored, after whatever of the user's threw.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "frontend/graphc.h"
#include "runtime/files/files.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kFewSamples = 10;

/// A model with a counter that validation counts up, and what its training keeps beside.
struct Training {
  Model model{"training"};
  Param w = model.param("w", {2}, constant(1));
  State validated = model.state("validated", {i64, {}});
  Session session;
  Plateau plateau{session, 0.1, {.factor = 0.5, .patience = 0}};
  std::vector<double> validations;  ///< what they are; empty: the graph's
  FitOptions options;

  explicit Training(const std::filesystem::path& folder, uint64_t seed = 1)
      : session(model,
                {.target = "reference", .seed = seed, .announce = [](const std::string&) {}}) {
    model.graph("train", Mode::training, [this](Inputs& in) {
      const Value loss = error(in, true);
      minimize(loss, {w}, Adam{.rate = in("rate", f32, {})});
      return loss;
    });
    model.graph("validate", [this](Inputs& in) {
      validated = validated + 1;
      return error(in, false);
    });
    options.epochs = 4;
    options.samples = kFewSamples;
    options.batch = 4;
    options.progress = false;
    options.inputs = [this](std::span<const int64_t> samples) {
      return std::vector<Data>{Data(std::vector<double>(samples.begin(), samples.end())),
                               Data(plateau.rate())};
    };
    options.validate = [this] {
      const double found = mean_loss(session, "validate", {{11, 12}}, [](auto samples) {
        return std::vector<Data>{Data(std::vector<double>(samples.begin(), samples.end()))};
      });
      const size_t count = size_t(session.state("validated").scalar()) - 1;
      return validations.empty() ? found : validations.at(count);
    };
    options.after_epoch = [this](const FitEpoch& epoch) { plateau.observe(*epoch.validation); };
    options.checkpoint = folder / "last";
    options.best = folder / "best";
    options.curve = folder / "curve.csv";
  }

  Value error(Inputs& in, bool drop) const {
    const Value x = in("x", f32, {"n"}) / 10;
    const Value y = at(w, 0) * (drop ? dropout(x, {.keep = 0.8}) : x) + at(w, 1);
    return mse(y, sin(x * 3));
  }

  /// Everything that it has come to.
  std::map<std::string, Literal> states() {
    std::map<std::string, Literal> all;
    for (const auto& cell : model.states()) all.emplace(cell->name, session.state(cell->name));
    return all;
  }
  FitReport run() { return fit(session, options); }
  std::string refused() {
    testing::count("bad inputs", 1);
    return error_of(ErrorKind::input, [&] { run(); });
  }
};

/// A number that a training stopped after `steps` goes on with.
struct Change {
  std::string what;
  std::function<void(FitOptions&)> make;
  uint64_t seed = 1;
  std::string in_epoch, at_border;  ///< what the error says; empty: it goes on
};

TEST(FitAgain, OtherOptionsAreRefusedWhereTheyMakeAnotherTraining) {
  const std::vector<Change> changes{
      {"nothing", [](FitOptions&) {}, 1, "", ""},
      {"batch", [](FitOptions& o) { o.batch = 5; }, 1,
       ".batch is 5: the training 'fit' to go on from has 4", ""},
      {"samples", [](FitOptions& o) { o.samples = 9; }, 1,
       ".samples is 9: the training 'fit' to go on from has 10", ""},
      {"seed", [](FitOptions&) {}, 2, "seed is 2: the training 'fit' to go on from has 1",
       "seed is 2: the training 'fit' to go on from has 1"},
      {"largest", [](FitOptions& o) { o.largest = true; }, 1,
       ".largest is true, and 'fit' goes on from a training with false",
       ".largest is true, and 'fit' goes on from a training with false"},
      {"order",
       [](FitOptions& o) { o.order = [](int64_t) { return SampleBatches{{0, 1}, {2, 3}}; }; }, 1,
       "other batches than when 1 of them were done", ""},
      {"best", [](FitOptions& o) { o.best += "2"; }, 1, "which is not there",
       "which is not there"}};
  for (const Change& change : changes) {
    for (const bool in_epoch : {false, true}) {
      const TemporaryFolder folder;
      Training first(folder.path());
      int64_t left = in_epoch ? 4 : 3;
      first.options.epochs = in_epoch ? 4 : 1;
      first.options.stop = [&] { return in_epoch && --left == 0; };
      first.run();
      Training second(folder.path(), change.seed);
      change.make(second.options);
      const std::string& wanted = in_epoch ? change.in_epoch : change.at_border;
      try {
        EXPECT_EQ(second.run().epochs, 4) << change.what;
        EXPECT_EQ(wanted, "") << change.what << ", in an epoch: " << in_epoch;
      } catch (const Error& error) {
        EXPECT_FALSE(wanted.empty()) << change.what << ": " << error.what();
        EXPECT_THAT(error.what(), AllOf(HasSubstr(wanted), HasSubstr("fit_again_test.cpp")))
            << change.what;
      }
    }
  }
}

TEST(FitAgain, WhatIsMeasuredTheOtherWayIsNotGoneOnFrom) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "all").string();
  const auto with = [&](bool largest, bool load) {
    Model m("m");
    m.param("w", {1}, constant(1));
    Session session(m, {.target = "reference"});
    EarlyStopping stopping(session, {.largest = largest});
    BestCheckpoint best(session, folder.path() / "best", {.largest = largest});
    Plateau plateau(session, 1, {.largest = largest});
    if (load) session.load(file);
    std::string errors;
    for (const std::function<void()>& observe : std::initializer_list<std::function<void()>>{
             [&] { stopping.observe(1); }, [&] { best.observe(1); }, [&] { plateau.observe(1); }}) {
      try {
        observe();
      } catch (const Error& error) {
        errors += error.message() + "\n";
      }
    }
    if (!load) session.save(file, Saving::everything);
    return errors;
  };
  EXPECT_EQ(with(true, false), "");
  EXPECT_EQ(with(true, true), "");
  EXPECT_THAT(
      with(false, true),
      AllOf(HasSubstr("EarlyStopping: .largest is false, and 'early_stopping' goes on from a "
                      "training with true, whose best is 1"),
            HasSubstr("BestCheckpoint: .largest is false"),
            HasSubstr("Plateau: .largest is false")));
}

TEST(FitAgain, MoreEpochsGoOnFromTheLastOneAndNeverFromTheBest) {
  const TemporaryFolder folder, one;
  Training whole(one.path());
  whole.validations = {1, 2, 3, 4, 5, 6};
  whole.options.epochs = 6;
  const FitReport wanted = whole.run();
  for (const bool checkpoint : {true, false}) {
    std::filesystem::remove_all(folder.path() / "last");
    Training parts(folder.path());
    parts.validations = whole.validations;
    if (!checkpoint) parts.options.checkpoint.clear();
    parts.options.epochs = 3;
    parts.run();
    // Nothing is left to be done: that is no reason for an error.
    if (!checkpoint) {
      EXPECT_EQ(parts.run().epochs, 3);
    }
    parts.options.epochs = 6;
    if (checkpoint) {
      EXPECT_EQ(parts.run().loss, wanted.loss);
      EXPECT_EQ(parts.states(), whole.states());
      continue;
    }
    EXPECT_THAT(parts.refused(), HasSubstr("has the best model of the training 'fit' again, and "
                                           "more epochs go on from the last one"));
    parts.options.name = "another";
    EXPECT_EQ(parts.options.epochs, 6);
  }
  // Where the last is the best, nothing was restored that was not there.
  Training falling(folder.path());
  falling.validations = {6, 5, 4, 3, 2, 1};
  falling.options.checkpoint.clear();
  falling.options.epochs = 3;
  falling.run();
  falling.options.epochs = 6;
  EXPECT_EQ(falling.run().epochs, 6);
}

struct Thrown {};

/// Where the user's code throws, once.
enum class Throws { inputs, validate, validated, after_step, after_epoch, observed, stop };

/// Trains; the user's code throws at its `at`-th call there. Returns the epochs that were done.
std::vector<FitEpoch> thrown_once(Training& training, Throws where, int at) {
  FitOptions& options = training.options;
  int left = at;
  const auto throw_at = [&](Throws here) {
    if (here == where && --left == 0) throw Thrown();
  };
  const auto inputs = options.inputs;
  const auto validate = options.validate;
  options.inputs = [&](std::span<const int64_t> samples) {
    throw_at(Throws::inputs);
    return inputs(samples);
  };
  options.validate = [&] {
    throw_at(Throws::validate);
    const double found = validate();
    throw_at(Throws::validated);
    return found;
  };
  options.after_step = [&](const FitStep&) { throw_at(Throws::after_step); };
  options.stop = [&] {
    throw_at(Throws::stop);
    return false;
  };
  std::vector<FitEpoch> found;
  options.after_epoch = [&](const FitEpoch& epoch) {
    throw_at(Throws::after_epoch);
    training.plateau.observe(*epoch.validation);
    throw_at(Throws::observed);
    found.push_back(epoch);
  };
  EXPECT_THROW(training.run(), Thrown);
  training.run();
  testing::count("parts of trainings", 2);
  return found;
}

TEST(FitAgain, WhateverThrowsNothingIsDoneTwice) {
  const TemporaryFolder one;
  Training whole(one.path());
  std::vector<FitEpoch> wanted;
  whole.options.after_epoch = [&](const FitEpoch& epoch) {
    whole.plateau.observe(*epoch.validation);
    wanted.push_back(epoch);
  };
  whole.run();
  for (const Throws where :
       {Throws::inputs, Throws::validate, Throws::validated, Throws::after_step,
        Throws::after_epoch, Throws::observed, Throws::stop}) {
    for (const bool checkpoint : {false, true}) {
      for (int at = 1; at <= 4; ++at) {
        const TemporaryFolder folder;
        Training training(folder.path());
        if (!checkpoint) training.options.checkpoint.clear();
        const std::vector<FitEpoch> found = thrown_once(training, where, at);
        const std::string what =
            fmt::format("throws {} at {}, checkpoint {}", int(where), at, checkpoint);
        EXPECT_EQ(training.states(), whole.states()) << what;
        EXPECT_EQ(found.size(), wanted.size()) << what;
        for (size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
          EXPECT_EQ(found[i].loss, wanted[i].loss) << what;
          EXPECT_EQ(found[i].validation, wanted[i].validation) << what;
          EXPECT_EQ(found[i].best, wanted[i].best) << what << ", epoch " << i;
        }
        for (const char* file : {"best", "curve.csv"})
          EXPECT_TRUE(read_file(folder.path() / file) == read_file(one.path() / file)) << what;
      }
    }
  }
}

TEST(FitAgain, TwoOutputsAreNotOneFileHoweverItIsSpelled) {
  const TemporaryFolder folder;
  const std::filesystem::path there = folder.path() / "there", link = folder.path() / "link";
  std::filesystem::create_directory(folder.path() / "sub");
  std::filesystem::create_symlink("there", link);  // there is no such file yet
  const std::vector<std::filesystem::path> spellings{there, folder.path() / "." / "there",
                                                     folder.path() / "sub" / ".." / "there", link,
                                                     std::filesystem::relative(there)};
  using Member = std::filesystem::path FitOptions::*;
  const std::vector<std::pair<std::string, Member>> outputs{
      {".checkpoint", &FitOptions::checkpoint},
      {".best", &FitOptions::best},
      {".curve", &FitOptions::curve},
      {".tensorboard", &FitOptions::tensorboard}};
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = i + 1; j < outputs.size(); ++j) {
      for (const std::filesystem::path& spelling : spellings) {
        Training training(folder.path());
        training.options.*outputs[i].second = there;
        training.options.*outputs[j].second = spelling;
        EXPECT_THAT(training.refused(),
                    HasSubstr(outputs[i].first + " and " + outputs[j].first + " are one file"))
            << spelling;
      }
    }
  }
}

TEST(FitAgain, AnOrderHasSamplesThatAreThere) {
  const TemporaryFolder folder;
  const auto with = [&](const SampleBatches& batches, int64_t samples = kFewSamples) {
    Training training(folder.path());
    training.options.samples = samples;
    training.options.order = [&](int64_t) { return batches; };
    return training.refused();
  };
  EXPECT_THAT(with({{0, 1}, {2, -1}}),
              HasSubstr("batch 1 of epoch 1 has sample -1: wanted 0 to 9"));
  EXPECT_THAT(with({{0, 1, 10}}), HasSubstr("batch 0 of epoch 1 has sample 10: wanted 0 to 9"));
  EXPECT_THAT(with({{-3}}, 0), HasSubstr("has sample -3: wanted at least 0"));
  EXPECT_THAT(with({{1}, {}}), HasSubstr("batch 1 of epoch 1 has no samples"));
  EXPECT_THAT(with({}), HasSubstr("epoch 1 has no batches"));
}

}  // namespace
}  // namespace graphc::core
