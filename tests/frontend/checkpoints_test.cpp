// SPDX-License-Identifier: Apache-2.0
// What keeps its numbers in a session goes on after save and load where it was, wherever that is.
#include "frontend/checkpoints.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A model of one parameter, a session, and all that keeps numbers in it.
struct Kept {
  Model model{"kept"};
  Param w = model.param("w", {2}, zeros());
  Session session{model, {.target = "reference"}};
  KeptCounter epoch{session, "epoch"};
  Plateau plateau{session, 1, {.factor = 0.5, .patience = 1, .cooldown = 1}};
  EarlyStopping stopping{session, {.patience = 4, .threshold = 0.01}};
  BestCheckpoint best;
  LastCheckpoint last;

  explicit Kept(const std::filesystem::path& folder)
      : best(session, folder / "best.safetensors"), last(session, folder / "last.safetensors") {}

  /// An epoch with this measurement; what all of them say then.
  std::vector<double> observe(double measured) {
    session.set_state("w", std::vector<float>{float(epoch.value()), float(measured)});
    const double rate = plateau.observe(measured);
    const bool is_best = best.observe(measured), stops_for = stopping.observe(measured);
    ++epoch;
    last.save();
    return {rate,
            double(is_best),
            best.best(),
            double(stops_for),
            double(stopping.stops()),
            double(stopping.waited()),
            stopping.best(),
            double(epoch)};
  }
};

TEST(Checkpoints, WhatIsStoppedAnywhereGoesOnAsIfItWereNot) {
  const std::vector<double> measured{
      5,   4,   4.5,  4.5,  3.99, 4.2,  std::nan(""), 4.1, 3, 3.5, HUGE_VAL, 3.5,
      3.5, 2.9, 2.95, 2.95, 2.95, 2.95, -HUGE_VAL,    2,   2, 2,   1,        1};
  for (size_t stop = 0; stop <= measured.size(); ++stop) {
    const TemporaryFolder one, two;
    Kept whole(one.path());
    const auto before = std::make_unique<Kept>(two.path());
    EXPECT_FALSE(before->last.resume());
    for (size_t i = 0; i < stop; ++i) {
      whole.observe(measured[i]);
      before->observe(measured[i]);
    }
    Kept after(two.path());
    EXPECT_EQ(after.last.resume(), stop > 0);
    for (size_t i = stop; i < measured.size(); ++i)
      EXPECT_THAT(
          after.observe(measured[i]),
          ::testing::Pointwise(::testing::NanSensitiveDoubleEq(), whole.observe(measured[i])))
          << "stopped after " << stop << ", measurement " << i;
    EXPECT_TRUE(after.best.restore());
    EXPECT_TRUE(whole.best.restore());
    EXPECT_EQ(after.session.state("w"), whole.session.state("w"));
    EXPECT_EQ(whole.session.state("w").element(1), 1);
  }
}

TEST(Checkpoints, EarlyStoppingWaitsAndTakesTheLargestWhereThatIsWanted) {
  Model m("m");
  Session session(m, {.target = "reference"});
  EarlyStopping stopping(session, {.patience = 2, .largest = true});
  EXPECT_TRUE(stopping.observe(0.5));
  EXPECT_FALSE(stopping.observe(0.5));
  EXPECT_FALSE(stopping.stops());
  EXPECT_TRUE(stopping.observe(0.6));
  EXPECT_FALSE(stopping.observe(std::nan("")));
  EXPECT_FALSE(stopping.observe(HUGE_VAL));
  EXPECT_TRUE(stopping.stops());
  EXPECT_EQ(stopping.best(), 0.6);
  EXPECT_EQ(stopping.waited(), 2);
}

TEST(Checkpoints, TwoOfOneNameAndAnotherStatesNameAreRefused) {
  Model m("m");
  m.state("taken", {f64, {4}});
  Session session(m, {.target = "reference"}), other(m, {.target = "reference"});
  const Plateau plateau(session, 1);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { Plateau(session, 1); }),
              HasSubstr("two objects keep their numbers as 'plateau' in one session"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { Plateau(session, 1, {.name = "taken"}); }),
              HasSubstr("model 'm' has a state 'taken', f64[4]: what keeps its numbers in a "
                        "session needs another .name"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { KeptCounter(session, "plateau"); }),
              HasSubstr("model 'm' has a state 'plateau', f64[5]: what keeps its numbers"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { EarlyStopping(session, {.patience = 0}); }),
              HasSubstr("patience is at least 1: found 0"));
  // What is gone has left its name; another session has numbers of its own.
  {
    const Plateau second(session, 1, {.name = "second"});
  }
  EXPECT_EQ(Plateau(session, 2, {.name = "second"}).rate(), 1);
  EXPECT_EQ(Plateau(other, 2).rate(), 2);
}

TEST(Checkpoints, ALastOneHasEverythingOrIsRefused) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "last.safetensors").string();
  Model m("m");
  m.param("w", {2}, zeros());
  Session session(m, {.target = "reference"});
  LastCheckpoint last(session, path);
  session.save(path);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { last.resume(); }),
              AllOf(HasSubstr("last.safetensors: it has the model alone"),
                    HasSubstr("Saving::everything")));
  last.save();
  EXPECT_TRUE(last.resume());
  const EarlyStopping stopping(session);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { last.resume(); }),
              HasSubstr("it lacks 'early_stopping', which this training keeps"));
}

TEST(Checkpoints, OrdersDependOnSeedAndEpochAlone) {
  EXPECT_EQ(shuffled(100, 1, 2), shuffled(100, 1, 2));
  EXPECT_NE(shuffled(100, 1, 2), shuffled(100, 1, 3));
  EXPECT_NE(shuffled(100, 1, 2), shuffled(100, 2, 2));
  const std::vector<int64_t> order{4, 2, 0, 1, 3};
  EXPECT_THAT(in_batches(order, 2),
              ElementsAre(ElementsAre(4, 2), ElementsAre(0, 1), ElementsAre(3)));
  EXPECT_THAT(in_batches({}, 2), ElementsAre());
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { in_batches(order, 0); }),
              HasSubstr("in_batches: wanted a batch of at least 1: found 0"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { shuffled(-1, 0, 0); }),
              HasSubstr("shuffled: wanted a count of at least 0: found -1"));
}

}  // namespace
}  // namespace graphc::core
