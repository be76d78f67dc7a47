// SPDX-License-Identifier: Apache-2.0
// graphc-bench on ranks, and its model of more ranks than there are.
#include "tools/bench/scaling.h"

#include "ir/text.h"
#include "tests/testing/expect_error.h"
#include "tests/tools/ranks_test.h"

namespace graphc::core::bench {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::Json;
using graphc::core::testing::Ran;
using graphc::core::testing::run_tool;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Network, HasANameOrTwoNumbers) {
  EXPECT_EQ(network_named("ethernet-25").bytes_per_s, 25e9 / 8);
  const Network given = network_named("5:40");
  EXPECT_DOUBLE_EQ(given.latency_s, 5e-6);
  EXPECT_DOUBLE_EQ(given.bytes_per_s, 5e9);
  for (const Network& network : all_networks()) EXPECT_FALSE(network.source.empty());
  for (const char* wrong : {"", "ethernet", "5", "5:", ":5", "0:5", "5:-1", "5:40:3", "5:x"}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { network_named(wrong); }),
                HasSubstr(fmt::format("such as 5:40: found '{}'", wrong)));
  }
}

TEST(Exchanges, AreThoseOfAGraphAndOfEachStepOfItsLoops) {
  const GraphPtr graph = parse_graph(R"(graph @f(%x: f32[3,4], %y: f32[5]) {
    %a, %b = all_reduce %x, %y {ranks = 2}
    %ys = scan %x.t in %x with %y {
      %g = all_gather %x.t {axis = 0, rank = 0, ranks = 2}
      emit %g
    }
    return %a, %b, %ys
  })");
  const std::vector<Exchange> found = exchanges_of(*graph);
  EXPECT_THAT(found, ElementsAre(Exchange{true, 68}, Exchange{false, 16}, Exchange{false, 16},
                                 Exchange{false, 16}));
}

TEST(Exchanges, TakeLatenciesAndBytes) {
  const Network network{.name = "", .latency_s = 1e-3, .bytes_per_s = 1e6, .source = ""};
  const std::vector<Exchange> sum{{true, 4e6}}, small{{true, 1000}}, gather{{false, 1e6}};
  // Every rank sends each other one its share, and the sum of its share to each.
  EXPECT_DOUBLE_EQ(seconds_of(sum, network, 4), 6e-3 + 6);
  EXPECT_DOUBLE_EQ(seconds_of(small, network, 4), 3e-3 + 3e-3);
  EXPECT_DOUBLE_EQ(seconds_of(gather, network, 4), 3e-3 + 3);
  EXPECT_EQ(seconds_of(sum, network, 1), 0);
}

TEST(RankCounts, AreNumbersInAscendingOrder) {
  EXPECT_THAT(rank_counts("4,1,2"), ElementsAre(1, 2, 4));
  for (const char* wrong : {"0", "1,x", "-1", "4097", "2.5"})
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { rank_counts(wrong); }),
                HasSubstr("--ranks is on, off or numbers of ranks from 1 to 4096: found"));
}

TEST(ScaledSteps, OverlapAtMostTheBackwardPass) {
  const ScaledStep little{.batch = 1, .compute_s = 3, .exchange_s = 1};
  EXPECT_EQ(little.longest_s(), 4);
  EXPECT_EQ(little.shortest_s(), 3);
  const ScaledStep much{.batch = 1, .compute_s = 3, .exchange_s = 5};
  EXPECT_EQ(much.shortest_s(), 6);
}

TEST(ScalingCpu, IsModelledFromStepsAndExchanges) {
  const Ran ran = run_tool(GRAPHC_BENCH,
                           "lstm-layer hidden=8 steps=2 batch=4 --threads=1 --repeat=2 "
                           "--ranks=1,2,4 --network=5:40 --json=-");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json all = Json::parse(ran.out);
  EXPECT_EQ(all["modelled"], true);
  EXPECT_EQ(all["network"]["gbit_per_s"], 40);
  ASSERT_EQ(all["scaling"].size(), 3u);
  const Json& alone = all["scaling"][0];
  EXPECT_EQ(alone["exchanges"], 0);
  EXPECT_EQ(alone["strong"]["exchange_ms"], 0);
  for (const int row : {1, 2}) {
    const Json& scaled = all["scaling"][size_t(row)];
    // Weights of the input and of the state, and biases: 8 * 32 + 8 * 32 + 32 numbers.
    EXPECT_GE(scaled["megabytes"].get<double>(), 544 * 4e-6);
    EXPECT_LE(scaled["megabytes"].get<double>(), 544 * 4e-6 + 1e-3);
    EXPECT_EQ(scaled["strong"]["batch"], 4);
    EXPECT_EQ(scaled["weak"]["batch"], 4 * (row == 1 ? 2 : 4));
    EXPECT_GT(scaled["strong"]["exchange_ms"].get<double>(), 0.005);
  }
}

TEST(ScalingCpu, SaysWhatItCannotModel) {
  const auto error = [](const std::string& arguments) {
    const Ran ran = run_tool(GRAPHC_BENCH, arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  };
  EXPECT_THAT(error("lstm-layer batch=4 --ranks=3"),
              HasSubstr("--ranks: the batch of 4 is not divided by 3 ranks"));
  EXPECT_THAT(error("lstm-layer --ranks=2 --network=string"), HasSubstr("found 'string'"));
  EXPECT_THAT(error("lstm-layer --ranks=two"), HasSubstr("found 'two'"));
  EXPECT_THAT(error("lstm-layer --network=nvlink"), HasSubstr("wanted numbers of --ranks"));
  EXPECT_THAT(error("cell-layer --ranks=2"), HasSubstr("has no batch to share out"));
}

class BenchOnRanksCpu : public graphc::core::testing::RanksCpu {};

TEST_F(BenchOnRanksCpu, MeasuresTheStepOfAll) {
  const Ran ran = bash(
      "ranks 2 graphc-bench lstm-layer hidden=8 steps=2 batch=4 --threads=1 "
      "--repeat=3 --json=-");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json all = Json::parse(ran.out);
  ASSERT_EQ(all["results"].size(), 1u);
  EXPECT_EQ(all["results"][0]["ranks"], 2);
  EXPECT_EQ(all["results"][0]["repeat"], 3);
  EXPECT_EQ(testing::occurrences(ran.err, "2 ranks on 1 machine"), 1);
}

/// Also how long the first rank waits for each sum.
TEST_F(BenchOnRanksCpu, ProfileAStep) {
  const Ran ran =
      bash("ranks 2 graphc-bench lstm-layer hidden=8 steps=2 batch=4 --threads=1 --profile");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(testing::occurrences(ran.out, "fused ranks=2 lstm-layer hidden=8"), 2) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("  wait %"));
}

TEST_F(BenchOnRanksCpu, RefusesWhatIsOfOneRank) {
  const Ran ran = bash("ranks 2 graphc-bench lstm-layer --peers=torch");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(testing::occurrences(ran.err, "error: 2 ranks measure a model"), 1) << ran.err;
}

}  // namespace
}  // namespace graphc::core::bench
