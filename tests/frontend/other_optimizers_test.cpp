// SPDX-License-Identifier: Apache-2.0
// A checkpoint of a training and another program that goes on from it: every pair of optimizers,
// and of parameters that they train, by every way of going on. Where what the one keeps is not
// what the other wants, going on is an error that names it, and a strict loading says it.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "frontend/graphc.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> kTrainings{"none", "sgd",    "momentum", "rmsprop", "adagrad",
                                          "adam", "frozen", "named",    "groups",  "accumulator"};

/// A model that is trained in one of those ways; `lines` is what its session
/// announces of other states.
struct Trained {
  Model model{"trained"};
  Param a = model.param("a", {2}, constant(1)), b = model.param("b", {2}, constant(2));
  std::vector<std::string> lines;
  Session session{model,
                  {.target = "reference", .seed = 5, .announce = [this](const std::string& line) {
                     if (line.find("keeps other states") != line.npos) lines.push_back(line);
                   }}};

  explicit Trained(const std::string& how) {
    model.graph("train", Mode::training, [this, how](Inputs& in) {
      const Value x = in("x", f32, {"n"});
      const Value loss = mean(square(x * sum(a * b) - 1));
      if (how == "sgd") minimize(loss, {a, b}, Sgd{});
      if (how == "momentum") minimize(loss, {a, b}, Momentum{});
      if (how == "rmsprop") minimize(loss, {a, b}, Rmsprop{});
      if (how == "adagrad") minimize(loss, {a, b}, Adagrad{});
      if (how == "adam") minimize(loss, {a, b}, Adam{});
      if (how == "frozen") minimize(loss, {a}, Adam{});
      if (how == "named") minimize(loss, {a, b}, Adam{.name = "other"});
      if (how == "groups") minimize(loss, {{{a}, Rmsprop{}}, {{b}, Adagrad{}}});
      if (how == "accumulator") Accumulator{}.add({a, b}, gradients(loss, {a, b}));
      return loss;
    });
  }

  void step() { session("train", std::vector<float>{1, 2}); }
  FitReport train(const std::filesystem::path& checkpoint, int64_t epochs) {
    FitOptions options{.epochs = epochs, .samples = 4, .batch = 2};
    options.inputs = [](std::span<const int64_t> samples) {
      return std::vector<Data>{Data(std::vector<float>(samples.begin(), samples.end()))};
    };
    options.checkpoint = checkpoint;
    options.progress = false;
    return fit(session, options);
  }
};

/// The states that a training has, and whose they are.
const std::set<std::string>& kept_by(const std::string& how) {
  static std::map<std::string, std::set<std::string>> known;
  std::set<std::string>& names = known[how];
  if (!names.empty() || how == "none") return names;
  Trained trained(how);
  trained.step();
  for (const auto& cell : trained.model.states()) {
    if (!cell->parameter) names.insert(cell->name + " of " + cell->owner);
  }
  return names;
}

std::set<std::string> names_in(const std::filesystem::path& file) {
  std::set<std::string> names;
  for (const auto& [name, value] : read_safetensors(file.string()).arrays) names.insert(name);
  return names;
}

/// The error of going on; empty where there is none.
template <typename Function>
std::string refusal(Function&& function) {
  try {
    function();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    testing::count("bad inputs", 1);
    return error.what();
  }
}

TEST(OtherOptimizers, GoingOnIsRefusedWhereTheStatesAreOthers) {
  for (const std::string& before : kTrainings) {
    const TemporaryFolder folder;
    const std::filesystem::path trained = folder.path() / "trained", own = folder.path() / "own";
    Trained(before).train(trained, 1);
    Trained second(before);
    second.step();
    second.session.save(own.string(), Saving::everything);
    for (const std::string& now : kTrainings) {
      const std::filesystem::path fitted = folder.path() / ("fit of " + now);
      std::filesystem::copy_file(trained, fitted);
      const bool same = kept_by(before) == kept_by(now);
      const std::string what = before + " -> " + now;

      Trained goes_on(now), resumed(now), compiled(now);
      compiled.step();
      std::vector<std::string> errors{
          refusal([&] { goes_on.train(fitted, 2); }), refusal([&] {
            EXPECT_TRUE(LastCheckpoint(resumed.session, own).resume());
            resumed.step();
          }),
          refusal([&] { LastCheckpoint(compiled.session, own).resume(); })};
      for (const std::string& error : errors) {
        EXPECT_EQ(error.empty(), same) << what << ": " << error;
        if (same) continue;
        EXPECT_THAT(error, AllOf(HasSubstr("its training kept other states for graph 'train'"),
                                 HasSubstr("Loading::partial")))
            << what;
      }
      if (!same) {
        EXPECT_THAT(errors[0], HasSubstr("other_optimizers_test.cpp")) << what;
      }
    }
  }
}

// What is there is taken, what is of no use is not written on, and what another optimizer counted
// is no beginning; a strict loading says so.
TEST(OtherOptimizers, OtherLoadingsTakeWhatIsThereAndNothingElse) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "own", again = folder.path() / "again",
                              anew = folder.path() / "anew";
  for (const std::string& before : kTrainings) {
    Trained first(before);
    first.step();
    first.session.save(file.string(), Saving::everything);
    for (const std::string& now : kTrainings) {
      for (const Loading loading : {Loading::strict, Loading::partial}) {
        const std::string what = fmt::format("{} -> {}, {}", before, now, int(loading));
        Trained second(now), fresh(now), compiled(now);
        compiled.session.compile("train", {{DType::f32, {2}}});
        compiled.session.load(file.string(), loading);
        second.session.load(file.string(), loading);
        second.session.compile("train", {{DType::f32, {2}}});
        fresh.session.compile("train", {{DType::f32, {2}}});
        for (const auto& cell : second.model.states()) {
          if (!cell->kept_by_optimizer) continue;
          const auto cells = first.model.states();
          const auto there = std::ranges::find(cells, cell->name, &StateCell::name);
          const bool taken =
              there != cells.end() && (*there)->owner.substr(0, 4) == cell->owner.substr(0, 4);
          EXPECT_EQ(second.session.state(cell->name),
                    (taken ? first : fresh).session.state(cell->name))
              << what << ": " << cell->name;
        }
        const bool said = !second.lines.empty();
        EXPECT_EQ(compiled.lines.empty(), !said) << what;
        compiled.lines.clear();
        compiled.step();
        EXPECT_TRUE(compiled.lines.empty()) << what;
        EXPECT_EQ(said, loading == Loading::strict && kept_by(before) != kept_by(now)) << what;
        second.session.save(again.string(), Saving::everything);
        fresh.session.save(anew.string(), Saving::everything);
        EXPECT_EQ(names_in(again), names_in(anew)) << what;
        EXPECT_EQ(refusal([&] {
                    Trained third(now);
                    LastCheckpoint(third.session, again).resume();
                    third.step();
                  }),
                  "")
            << what;
      }
    }
  }
}

TEST(OtherOptimizers, TheErrorNamesWhatIsMissingWhatIsTooMuchAndWhoseItIs) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "last.safetensors";
  const auto between = [&](const char* before, const char* now) {
    std::filesystem::remove(file);
    Trained(before).train(file, 1);
    return refusal([&] { Trained(now).train(file, 2); });
  };
  EXPECT_THAT(between("sgd", "adam"),
              HasSubstr("missing in the file (5): adam.step, a.mean, a.square, b.mean, b.square"));
  EXPECT_THAT(
      between("adam", "sgd"),
      HasSubstr("and kept by no graph here (5): a.mean, a.square, adam.step, b.mean, b.square"));
  EXPECT_THAT(between("adam", "frozen"), HasSubstr("kept by no graph here (2): b.mean, b.square"));
  EXPECT_THAT(between("rmsprop", "adagrad"),
              HasSubstr("'a.square' is of rmsprop in the file, and of adagrad here"));
}

TEST(OtherOptimizers, AModelsFileHasNoOptimizerAndIsTakenByAll) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "model.safetensors").string();
  for (const std::string& before : kTrainings) {
    Trained first(before);
    first.step();
    first.session.save(file);
    for (const std::string& now : kTrainings) {
      Trained second(now);
      second.session.load(file);
      second.step();
      EXPECT_TRUE(second.lines.empty()) << before << " -> " << now << ": " << second.lines[0];
      EXPECT_THAT(
          error_of(ErrorKind::input, [&] { LastCheckpoint(second.session, file).resume(); }),
          HasSubstr("it has the model alone"));
    }
  }
}

TEST(OtherOptimizers, TransientStatesOfTheModelAreNotMissedInSilence) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "all.safetensors").string();
  Model before("m"), now("m");
  before.param("w", {2}, zeros());
  now.param("w", {2}, zeros());
  now.state("carried", {f32, {2}}, zeros(), {.transient = true});
  Session first(before, {.target = "reference"}), second(now, {.target = "reference"});
  first.save(file, Saving::everything);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { LastCheckpoint(second, file).resume(); }),
              HasSubstr("it lacks the transient state 'carried', which this model has"));
  EXPECT_THAT(second.load(file).unsaved, ::testing::ElementsAre("carried"));
}

TEST(OtherOptimizers, WhatAFileSaysOfThemIsChecked) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "own").string();
  Trained trained("adam");
  trained.session.save(file, Saving::everything);
  Safetensors content = read_safetensors(file);
  content.metadata["kept_by"] = "a.mean\ntrain\n";
  write_safetensors(file, content);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { trained.session.load(file); }),
              HasSubstr("its metadata say in 2 lines who keeps states: wanted three of each"));
}

}  // namespace
}  // namespace graphc::core
