// SPDX-License-Identifier: Apache-2.0
// Parameters of models, and models by name.
#include "models/parameters.h"

#include <gmock/gmock.h>

#include "models/registry.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::HasSubstr;

constexpr ParameterRecord kRecords[] = {
    {"hidden", "512", ""}, {"rate", "0.5", ""}, {"tied", "false", ""}, {"cell", "gru", ""}};

Parameters of(const std::vector<std::string>& assignments) {
  return Parameters("m", kRecords, assignments);
}

TEST(Parameters, HaveDefaultsAndTakeAssignments) {
  const Parameters p = of({"rate=0.25", "tied=true"});
  EXPECT_EQ(p.integer("hidden"), 512);
  EXPECT_EQ(p.number("rate"), 0.25);
  EXPECT_TRUE(p.flag("tied"));
  constexpr std::string_view cells[] = {"lstm", "gru"};
  EXPECT_EQ(p.choice("cell", cells), 1u);
  EXPECT_EQ(p.to_text(), "hidden=512 rate=0.25 tied=true cell=gru");
}

TEST(Parameters, ADefaultThatDependsYieldsToWhatIsGiven) {
  Parameters p = of({"hidden=3"});
  p.set_default("hidden", "7");
  p.set_default("rate", "2");
  EXPECT_EQ(p.integer("hidden"), 3);
  EXPECT_EQ(p.number("rate"), 2);
}

TEST(Parameters, ErrorsSayWhatWasFoundAndWanted) {
  const auto message = [](const std::vector<std::string>& assignments, auto read) {
    return error_of(ErrorKind::usage, [&] { read(of(assignments)); });
  };
  const auto nothing = [](const Parameters&) {};
  EXPECT_EQ(message({"hiden=3"}, nothing), "m: unknown parameter 'hiden'; did you mean 'hidden'?");
  EXPECT_EQ(message({"zzzzzzz=3"}, nothing),
            "m: unknown parameter 'zzzzzzz': it has hidden, rate, tied, cell");
  EXPECT_EQ(message({"hidden"}, nothing), "m: a parameter is written name=value: found 'hidden'");
  EXPECT_EQ(message({"rate=1", "rate=2"}, nothing), "m: parameter 'rate' is given twice");
  EXPECT_EQ(message({"hidden=0"}, [](const Parameters& p) { p.integer("hidden"); }),
            "m: parameter 'hidden' is a whole number from 1: found '0'");
  EXPECT_EQ(message({"hidden=12x"}, [](const Parameters& p) { p.integer("hidden"); }),
            "m: parameter 'hidden' is a whole number from 1: found '12x'");
  EXPECT_EQ(message({"hidden=2147483648"}, [](const Parameters& p) { p.integer("hidden"); }),
            "m: parameter 'hidden' is a whole number from 1 to 2147483647: found '2147483648'");
  EXPECT_EQ(
      message({"hidden=99999999999999999999"}, [](const Parameters& p) { p.integer("hidden"); }),
      "m: parameter 'hidden' is a whole number from 1 to 2147483647: found "
      "'99999999999999999999'");
  EXPECT_EQ(message({"rate=inf"}, [](const Parameters& p) { p.number("rate"); }),
            "m: parameter 'rate' is a number: found 'inf'");
  EXPECT_EQ(message({"tied=yes"}, [](const Parameters& p) { p.flag("tied"); }),
            "m: parameter 'tied' is true or false: found 'yes'");
  constexpr std::string_view cells[] = {"lstm", "gru"};
  EXPECT_EQ(message({"cell=grr"}, [&](const Parameters& p) { p.choice("cell", cells); }),
            "m: cell is one of lstm, gru: found 'grr'; did you mean 'gru'?");
}

/// A graph is as long as the layers are many: what no machine compiles is refused at once.
TEST(Registry, LayersHaveALimit) {
  for (const char* model : {"char-lm", "ptb-lm", "wikitext2-lm"}) {
    EXPECT_EQ(error_of(ErrorKind::usage, [&] { make_program(model, {"layers=1001", "hidden=2"}); }),
              fmt::format("{}: parameter 'layers' is a whole number from 1 to 1000: found '1001'",
                          model));
  }
  EXPECT_GT(make_program("char-lm", {"layers=1000", "hidden=2"})->model().params().size(), 1000u);
}

TEST(Registry, MakesEveryModelByName) {
  for (const ModelRecord* record : all_models()) {
    const auto program = make_program(record->name, {});
    for (const std::string& graph : program->model().graphs()) {
      SCOPED_TRACE(std::string(record->name) + " " + graph);
      const TracedGraph traced = program->model().trace(graph, program->extents(graph));
      const std::vector<Tensor> inputs = program->random_inputs(graph, 1);
      ASSERT_EQ(inputs.size(), traced.graph->inputs().size());
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_EQ(inputs[i].type(), traced.graph->inputs()[i].type());
    }
  }
  EXPECT_EQ(error_of(ErrorKind::usage, [] { make_program("lstm-leyer", {}); }),
            "unknown model 'lstm-leyer'; did you mean 'lstm-layer'?");
}

TEST(Registry, CountsTheWorkAsTheWorkloadsSay) {
  // W1: 125.8 MFLOP an example forward at T 30, H 512, and 2.5 times that to train.
  const Work layer = make_program("lstm-layer", {})->work();
  EXPECT_DOUBLE_EQ(layer.forward_flop / double(layer.examples), 2.0 * 30 * 1024 * 2048);
  EXPECT_DOUBLE_EQ(layer.train_flop, 2.5 * layer.forward_flop);
  // W2: 15.8, 79.6 and 306 MFLOP to train on a word.
  const auto megaflop = [](const char* size) {
    const Work work = make_program("ptb-lm", {std::string("size=") + size})->work();
    return work.train_flop / double(work.words) / 1e6;
  };
  EXPECT_NEAR(megaflop("small"), 15.8, 0.1);
  EXPECT_NEAR(megaflop("medium"), 79.6, 0.1);
  EXPECT_NEAR(megaflop("large"), 306, 0.5);
  // W3: 84.9 MFLOP forward and 254.8 to train on a word, tied or not.
  for (const char* tied : {"tied=false", "tied=true"}) {
    const Work work = make_program("wikitext2-lm", {tied})->work();
    EXPECT_EQ(work.words, 16'384);
    EXPECT_NEAR(work.forward_flop / double(work.words) / 1e6, 84.9, 0.05);
    EXPECT_NEAR(work.train_flop / double(work.words) / 1e6, 254.8, 0.05);
  }
}

TEST(Registry, HasAsManyParametersAsTheWorkloadsSay) {
  const auto count = [](const std::string& size) {
    return make_program("ptb-lm", {"size=" + size})->model().parameter_count();
  };
  EXPECT_EQ(count("test"), 50'040);
  EXPECT_EQ(count("small"), 4'651'600);
  EXPECT_EQ(count("medium"), 19'775'200);
  EXPECT_EQ(count("large"), 66'022'000);
  // W3: 76.6 and, tied, 42.5 million; one bias vector a layer.
  const auto words = [](const std::vector<std::string>& parameters) {
    return make_program("wikitext2-lm", parameters)->model().parameter_count();
  };
  constexpr int64_t layer = 8 * 1024 * 1024 + 4 * 1024, table = 33'279 * 1024;
  EXPECT_EQ(words({}), 2 * table + layer + 33'279);
  EXPECT_EQ(words({"tied=true"}), table + layer + 33'279);
  EXPECT_EQ(words({"config=pytorch"}),
            2 * 33'278 * 1500 + 2 * (8 * 1500 * 1500 + 4 * 1500) + 33'278);
}

}  // namespace
}  // namespace graphc::core
