// SPDX-License-Identifier: Apache-2.0
// Loops whose blocks are clusters: of every size the bits of the streamed placement, in the
// emulator; what is exchanged in shared memory; and where clusters are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <limits>
#include <map>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "ir/text.h"
#include "tests/codegen/cuda/damages.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/in_f64.h"
#include "tests/testing/targets.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

/// Loops of f32 exchange fragments (counted_exchange_test.cpp).
GraphPtr layer_in_f64(const WideCase& c, Derivatives derivatives) {
  return in_f64(wide_layer(c, derivatives));
}

Plan clustered_plan(const GraphPtr& graph) {
  CompileReport report;
  return make_plan(*form_kernels_for(graph, {}, report), cuda::gpu_machine());
}

/// The launches of a graph that are loops in clusters, for a GPU.
std::vector<cuda::Launch> clustered_loops(
    const GraphPtr& graph, const cuda::Gpu& gpu = {},
    std::optional<cuda::Placement> placement = cuda::Placement::cluster) {
  const Plan plan = clustered_plan(graph);
  std::vector<cuda::Launch> found = cuda::make_launches(plan, gpu, placement).step;
  std::erase_if(found, [](const cuda::Launch& launch) { return launch.cluster == 1; });
  return found;
}

/// A driver with so many multiprocessors, which are at least those of a cluster.
class Clusters : public ::testing::Test {
 protected:
  Clusters() { all_test_targets(); }
  ~Clusters() override {
    for (const char* name : {"GRAPHC_MOCK_MULTIPROCESSORS", "GRAPHC_MOCK_CAPABILITY",
                             "GRAPHC_MOCK_CLUSTERS", "GRAPHC_MOCK_SEED"})
      unsetenv(name);
  }

  static std::unique_ptr<Executable> compiled(const GraphPtr& graph,
                                              std::optional<cuda::Placement> placement,
                                              CompileReport& report) {
    return compile(graph, targets::cuda, {.cuda = {.placement = placement}}, report);
  }

  /// What the graph gives, and into `sizes` how many loops have clusters of which size.
  static std::vector<Literal> results(const GraphPtr& graph, const std::vector<Literal>& inputs,
                                      cuda::Placement placement, std::map<unsigned, int>& sizes) {
    CompileReport report;
    const auto executable = compiled(graph, placement, report);
    for (const Remark& remark : report.remarks) {
      unsigned clusters = 0, blocks = 0;
      if (std::sscanf(remark.text.c_str(), "%u clusters of %u", &clusters, &blocks) == 2)
        ++sizes[blocks];
    }
    std::vector<Tensor> arguments, outputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      arguments.emplace_back(inputs[i].converted(graph->inputs()[i].dtype()));
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    executable->run(arguments, outputs);
    executable->run(arguments, outputs);
    std::vector<Literal> found;
    for (const Tensor& output : outputs) found.push_back(output.copy());
    return found;
  }

  static void expect_same_bits(const GraphPtr& graph, const std::vector<Literal>& inputs,
                               std::map<unsigned, int>& sizes) {
    const std::vector<Literal> wanted = results(graph, inputs, cuda::Placement::streamed, sizes);
    const std::vector<Literal> found = results(graph, inputs, cuda::Placement::cluster, sizes);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(
          std::memcmp(found[i].bytes().data(), wanted[i].bytes().data(), wanted[i].bytes().size()),
          0)
          << "result " << i;
    }
  }
};

TEST_F(Clusters, OfEverySizeGiveTheBitsOfTheStreamedPlacement) {
  std::map<unsigned, int> sizes;
  unsigned seed = 0;
  for (const std::string& cell : wide_cells()) {
    for (const auto& [multiprocessors, batch] :
         {std::pair{"2", 1}, std::pair{"4", 1}, std::pair{"8", 1}, std::pair{"8", 5}}) {
      setenv("GRAPHC_MOCK_MULTIPROCESSORS", multiprocessors, 1);
      setenv("GRAPHC_MOCK_SEED", std::to_string(++seed).c_str(), 1);
      const WideCase c{cell, 3, batch, 18};
      SCOPED_TRACE(c.name() + ", multiprocessors: " + multiprocessors);
      expect_same_bits(layer_in_f64(c, Derivatives::with), wide_inputs(c), sizes);
    }
  }
  for (const auto& [size, loops] : sizes) {
    EXPECT_GE(loops, int(wide_cells().size())) << "of " << size;
    std::printf("%d loops in clusters of %u\n", loops, size);
    count(fmt::format("loops in clusters of {} with the bits of the streamed", size), loops);
  }
  EXPECT_EQ(sizes.size(), 3u);
}

/// Of whatever size the model takes, with more rows than a tile has.
TEST_F(Clusters, OfManyRowsGiveTheBitsOfTheStreamedPlacement) {
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  std::map<unsigned, int> sizes;
  for (const char* cell : {"lstm", "projected", "lengths"}) {
    const WideCase c{cell, 2, 150, 6};
    SCOPED_TRACE(c.name());
    expect_same_bits(layer_in_f64(c, Derivatives::with), wide_inputs(c), sizes);
  }
  EXPECT_FALSE(sizes.empty());
}

/// What eight blocks have no room for, sixteen have: not every device holds such clusters.
TEST_F(Clusters, OfSixteenBlocksAreTakenWhereEightDoNotFit) {
  std::map<unsigned, int> sizes;
  const WideCase c{"lstm", 2, 1, 256};
  expect_same_bits(layer_in_f64(c, Derivatives::without), wide_inputs(c), sizes);
  EXPECT_EQ(sizes, (std::map<unsigned, int>{{16, 1}}));
  for (const cuda::Launch& launch :
       clustered_loops(layer_in_f64(c, Derivatives::without), {}, std::nullopt))
    EXPECT_LE(launch.cluster, 8u) << "unless they are asked for";
}

TEST_F(Clusters, HandEachOtherTheCarriesOfEveryCell) {
  int64_t loops = 0;
  for (const std::string& cell : wide_cells()) {
    SCOPED_TRACE(cell);
    for (const cuda::Launch& launch :
         clustered_loops(layer_in_f64({cell, 5, 8, 32}, Derivatives::with))) {
      EXPECT_FALSE(launch.placement->exchanged.empty()) << launch.note;
      size_t products = 0;
      for (const cuda::NestShare& nest : launch.placement->nests)
        products += nest.form.exchanged.size();
      EXPECT_EQ(launch.placement->exchanged.size(), products) << launch.note;
      EXPECT_THAT(launch.note, HasSubstr(" exchanged there; "));
      ++loops;
    }
  }
  EXPECT_GE(loops, int64_t(2 * wide_cells().size()));
}

/// Every text of which one place that clusters need is damaged: its bits are others, or the
/// emulator says what is wrong.
TEST_F(Clusters, ADamagedExchangeIsFound) {
  const Damage damages[] = {
      {R"(\n *cluster_barrier\(\);)", "\n"},
      {R"(\n *asm volatile\("barrier.cluster.wait[^\n]*)", "\n"},
      {R"(rank < (\d+)u)", "rank + 1u < $1u"},
      {R"(\(iteration \+ 1\) % 2 \* exchanged)", "iteration % 2 * exchanged"},
      {R"(\n *shared\[exchanged_\w+_at \+ slot\] = at_row[^\n]*)", "\n"},
      {R"(\n *store_to_all_\d+\(&[^\n]*)", "\n"},
      {R"((\w+) \* columns \+ column\) \*)", "$1 * columns + column + 1) *"},
  };
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "4", 1);
  const WideCase c{"lstm", 3, 5, 18};
  const GraphPtr graph = layer_in_f64(c, Derivatives::with);
  cuda::Gpu gpu;
  gpu.multiprocessors = 4;
  const Plan plan = clustered_plan(graph);
  const int found = expect_damages_found(
      cuda::make_launches(plan, gpu, cuda::Placement::cluster).kernels, damages, [&] {
        std::map<unsigned, int> sizes;
        return results(graph, wide_inputs(c), cuda::Placement::cluster, sizes);
      });
  EXPECT_GE(found, 16);
}

TEST_F(Clusters, HandNothingOnToAProductOfNoTerms) {
  const GraphPtr graph = parse_graph(R"(
    graph @g(%x: f32[3,2,4], %h0: f32[2,4], %z: f32[2,0], %w: f32[0,4]) {
      %y, %e = scan %t in %x carry %h = %h0 with %z, %w {
        %n = tanh(add(add(%h, %t), matmul(%z, %w)))
        next %h = %n
        emit %n
      }
      return %y, %e
    })");
  CompileReport report;
  compiled(graph, cuda::Placement::cluster, report);
  for (const cuda::Launch& launch : clustered_loops(graph))
    EXPECT_TRUE(launch.placement->exchanged.empty()) << launch.note;
}

TEST_F(Clusters, AreChosenWhereMatricesFitThemAndTheGpuHasThem) {
  const GraphPtr graph = layer_in_f64({"lstm", 30, 128, 192}, Derivatives::with);
  cuda::Gpu all;
  all.clusters = {};
  EXPECT_EQ(clustered_loops(graph, all, std::nullopt).size(), 2u);
  // The derivative takes 16 clusters of eight blocks, of which an H200 runs 15 at a time.
  const std::vector<cuda::Launch> loops = clustered_loops(graph, {}, std::nullopt);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].placement->rounds({}), 1);
  EXPECT_EQ(cuda::Gpu().clusters_at_a_time(8), 15);
  EXPECT_EQ(cuda::Gpu().clusters_at_a_time(16), 7);
  cuda::Gpu old;
  old.capability = 89;
  EXPECT_EQ(clustered_loops(graph, old, std::nullopt).size(), 0u);
  // A barrier of a cluster that costs as much as any other is no reason.
  const GraphPtr large = layer_in_f64({"lstm", 30, 128, 512}, Derivatives::with);
  EXPECT_EQ(clustered_loops(large, {}, std::nullopt).size(), 0u);
}

/// A device that runs other numbers of clusters at a time than the table says is asked, and what it
/// says is known to later compilations.
TEST_F(Clusters, TheDeviceIsAskedHowManyRunAtATime) {
  const GraphPtr graph = layer_in_f64({"lstm", 3, 128, 192}, Derivatives::with);
  const auto clusters = [&](const char* limit) {
    setenv("GRAPHC_MOCK_CLUSTERS", limit, 1);
    CompileReport report;
    CompileOptions options;
    options.cuda.least_tried_work = std::numeric_limits<int64_t>::max();  // by the model alone
    compile(graph, targets::cuda, options, report);
    std::string found;
    for (const Remark& remark : report.remarks) {
      const size_t at = remark.text.find(" clusters of ");
      if (at != std::string::npos) found += remark.text.substr(0, at + 14) + "; ";
    }
    return found;
  };
  // Of another number of multiprocessors, so that no other test knows it.
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "131", 1);
  EXPECT_EQ(clusters("16"), "15 clusters of 8; ");
  EXPECT_EQ(clusters("16"), "16 clusters of 8; 16 clusters of 8; ");
  EXPECT_EQ(clusters("4"), "");
}

/// The derivative of a large LSTM in tf32: clusters of eight have no room for its matrix. With more
/// rows clusters of sixteen take two rounds, and blocks that exchange through memory are faster.
TEST_F(Clusters, OfSixteenAreForDevicesThatAreKnownToRunThem) {
  const GraphPtr graph = wide_layer({"lstm", 3, 64, 512}, Derivatives::with);
  CompileReport formed;
  const Plan plan = make_plan(*form_kernels_for(graph, {.precision = Precision::tf32}, formed),
                              cuda::gpu_machine(Precision::tf32));
  const auto counted = [&](const cuda::Gpu& gpu) {
    int64_t found = 0;
    for (const cuda::Launch& launch : cuda::make_launches(plan, gpu).step)
      found +=
          launch.cluster == 16 && launch.note.find("counted in by mbarriers") != launch.note.npos;
    return found;
  };
  cuda::Gpu gpu;
  EXPECT_EQ(counted(gpu), 1);
  gpu.clusters[4] = 0;
  EXPECT_EQ(counted(gpu), 0);
  // A device that runs none is asked, and gets another placement.
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "130", 1);
  setenv("GRAPHC_MOCK_CLUSTERS", "0", 1);
  CompileReport report;
  CompileOptions options{.precision = Precision::tf32};
  options.cuda.least_tried_work = std::numeric_limits<int64_t>::max();
  compile(graph, targets::cuda, options, report);
  for (const Remark& remark : report.remarks)
    EXPECT_THAT(remark.text, Not(HasSubstr(" clusters of 16 blocks")));
}

TEST_F(Clusters, AreRefusedBelowSm90) {
  const GraphPtr graph = wide_layer({"rnn", 3, 3, 5}, Derivatives::without);
  const std::string wanted =
      "--placement=cluster needs clusters of blocks, sm_90 or newer: found sm_80";
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { clustered_loops(graph, cuda::gpu_of("sm_80")); }),
            wanted);
  setenv("GRAPHC_MOCK_CAPABILITY", "80", 1);
  CompileReport report;
  EXPECT_EQ(
      error_of(ErrorKind::resource, [&] { compiled(graph, cuda::Placement::cluster, report); }),
      wanted);
  compiled(graph, std::nullopt, report);
}

TEST_F(Clusters, AreRefusedWhereTheMatricesDoNotFit) {
  const GraphPtr graph = layer_in_f64({"lstm", 30, 128, 512}, Derivatives::with);
  EXPECT_THAT(error_of(ErrorKind::resource, [&] { clustered_loops(graph); }),
              AllOf(HasSubstr("--placement=cluster: the matrices of the loop do not fit into 16 "
                              "blocks with 232448 bytes of shared memory each"),
                    Not(HasSubstr("\n"))));
}

TEST_F(Clusters, AreRefusedWhereTheDeviceHoldsNone) {
  setenv("GRAPHC_MOCK_CLUSTERS", "0", 1);
  CompileReport report;
  const GraphPtr graph = wide_layer({"rnn", 3, 3, 18}, Derivatives::without);
  EXPECT_THAT(
      error_of(ErrorKind::resource, [&] { compiled(graph, cuda::Placement::cluster, report); }),
      AllOf(HasSubstr("holds no cluster of "), HasSubstr("--placement=grid needs none")));
}

}  // namespace
}  // namespace graphc::core::testing
