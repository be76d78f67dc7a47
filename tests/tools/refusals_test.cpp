// SPDX-License-Identifier: Apache-2.0
// Values on the command line that have no meaning are refused with 2 and one line that says what
// was found and what was wanted; none is rounded, ignored or replaced by another.
#include <gmock/gmock.h>

#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::graphc;
using graphc::core::testing::Ran;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The one line on stderr of a command that is refused.
std::string refusal(const std::string& arguments, const std::string& input = "") {
  const Ran ran = graphc(arguments, input);
  EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.err;
  EXPECT_THAT(ran.out, IsEmpty()) << arguments;
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  testing::count("bad inputs", 1);
  return ran.err.substr(0, ran.err.find('\n'));
}

TEST(Refusals, NumbersThatTheTypeOfAnInputDoesNotHold) {
  const auto given = [](const std::string& dtype, const std::string& number) {
    return std::pair{fmt::format("run - --target=reference --input x={}", number),
                     fmt::format("graph @f(%x: {}[2]) {{ return %x }}", dtype)};
  };
  EXPECT_EQ(refusal(given("i32", "1.5").first, given("i32", "1.5").second),
            "error: --input: 'x' is i32[2]: found '1.5', which is no i32");
  for (const auto& [dtype, number] : {std::pair{"i32", "2147483648"},
                                      {"i32", "nan"},
                                      {"i64", "0.5"},
                                      {"i64", "9223372036854775808"},
                                      {"u32", "-1"},
                                      {"u8", "256"},
                                      {"bool", "2"},
                                      {"bool", "0.5"},
                                      {"f32", "1e39"}}) {
    const auto [arguments, graph] = given(dtype, number);
    EXPECT_THAT(refusal(arguments, graph), HasSubstr(fmt::format("which is no {}", dtype)));
  }
  for (const auto& [dtype, number, printed] :
       {std::tuple{"i64", "9007199254740993", "[9007199254740993, 9007199254740993]"},
        {"i32", "-2147483648", "[-2147483648, -2147483648]"},
        {"f32", "inf", "[inf, inf]"}}) {
    const auto [arguments, graph] = given(dtype, number);
    EXPECT_THAT(graphc(arguments, graph).out, HasSubstr(printed));
  }
}

TEST(Refusals, NothingWhereAWordIsWanted) {
  for (const char* command :
       {"train lstm-layer --checkpoint ''", "train lstm-layer --log ''", "eval ''", "run ''",
        "dump lstm-layer --variant ''", "train lstm-layer --trace ''"}) {
    EXPECT_THAT(refusal(command), HasSubstr("wanted a word: found nothing")) << command;
  }
  EXPECT_THAT(refusal("train char-lm --sample 5 --sample-prompt '' --trace -"),
              HasSubstr("--trace wants a file: found '-'"));
}

TEST(Refusals, NumbersOutsideTheRangeOfAnOption) {
  for (const char* option : {"--epochs=-1", "--epochs=x"}) {
    EXPECT_THAT(refusal(fmt::format("train lstm-layer {}", option)),
                HasSubstr("wanted a whole number from 0: found '"));
  }
  for (const char* command : {"train lstm-layer --max-steps=0", "train lstm-layer --max-steps=1.5",
                              "train lstm-layer --checkpoint c --checkpoint-every=0",
                              "train char-lm --sample=-3", "generate c --length 0"}) {
    EXPECT_THAT(refusal(command), HasSubstr("wanted a whole number from 1: found '"));
  }
  EXPECT_EQ(refusal("train lstm-layer --max-steps=99999999999999999999"),
            "error: graphc train: --max-steps: wanted a whole number from 1 to "
            "9223372036854775807: found '99999999999999999999'");
  for (const char* command : {"train lstm-layer --seed=-1", "check - --seed=-1",
                              "generate c --seed=-1", "check - --seed=0.5"}) {
    EXPECT_THAT(refusal(command), HasSubstr("wanted a whole number from 0: found '"));
  }
  for (const char* tolerance : {"nan", "-1", "inf", "x"}) {
    EXPECT_EQ(refusal(fmt::format("check - --tolerance={}", tolerance)),
              fmt::format("error: graphc check: --tolerance: wanted a number from 0: found '{}'",
                          tolerance));
  }
}

TEST(Refusals, TemperaturesThatAreNoNumberFromZeroToAHundred) {
  for (const char* number : {"nan", "-1", "inf", "x", "101"}) {
    EXPECT_THAT(refusal(fmt::format("generate c --temperature={}", number)),
                HasSubstr("error: graphc generate: --temperature: "));
  }
}

TEST(Refusals, LayersThatNoMachineCompiles) {
  EXPECT_EQ(refusal("dump char-lm layers=1000000000"),
            "error: char-lm: parameter 'layers' is a whole number from 1 to 1000: found "
            "'1000000000'");
}

TEST(Refusals, OptionsThatWouldBeIgnored) {
  EXPECT_THAT(refusal("dump lstm-layer --cpu=x86-64-v33"),
              HasSubstr("unknown cpu 'x86-64-v33': wanted one of native"));
  const Ran ran = graphc("train lstm-layer --max-steps=1 --data nowhere");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("lstm-layer: it trains on random data"));
  EXPECT_THAT(graphc("train char-lm --max-steps=1").err, HasSubstr("--data wants a file"));
  EXPECT_EQ(refusal("train char-lm --sample-prompt=a"),
            "error: --sample-prompt wants --sample with a length");
  EXPECT_EQ(refusal("train char-lm --resume"),
            "error: --resume wants --checkpoint with the folder");
}

TEST(Refusals, WordsThatAreNeitherAModelNorAFile) {
  for (const char* verb : {"train", "dump"}) {
    EXPECT_THAT(
        refusal(fmt::format("{} ./x", verb)),
        AllOf(::testing::StartsWith("error: './x' is neither a model nor a file: the models are "
                                    "lstm-layer, cell-layer, ptb-lm, "),
              HasSubstr(", char-lm")));
  }
  const graphc::core::testing::TemporaryFolder folder;
  const std::string file = folder.add("f.graph", "graph @f(%x: f32[2]) { return %x }").string();
  EXPECT_THAT(refusal("train " + file),
              AllOf(::testing::StartsWith(fmt::format(
                        "error: '{}' is a file: wanted a model: lstm-layer, cell-layer, ", file)),
                    HasSubstr(", char-lm")));
  const Ran ran = graphc::core::testing::run_tool(GRAPHC_BENCH, "cell.grph");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("'cell.grph' is neither a model nor a file"));
}

TEST(Refusals, GraphsThatThereAreNot) {
  EXPECT_EQ(refusal("dump lstm-layer --graph=trai"),
            "error: --graph: there is no graph 'trai': there is train, forward; did you mean "
            "'train'?");
  const std::string two =
      "graph @first(%x: f32[2]) { return %x }\ngraph @second(%x: f32[2]) { return %x }";
  for (const char* verb : {"check -", "run - --input x=1", "dump -"}) {
    EXPECT_EQ(refusal(fmt::format("{} --graph=secnd", verb), two),
              "error: --graph: there is no graph 'secnd': there is first, second; did you mean "
              "'second'?");
  }
  EXPECT_EQ(graphc("check - --graph=second", two).out.find("@first"), std::string::npos);
}

}  // namespace
}  // namespace graphc::core
