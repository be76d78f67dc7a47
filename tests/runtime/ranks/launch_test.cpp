// SPDX-License-Identifier: Apache-2.0
// Who started a process, where the module is looked for, and which cores a rank gets.
#include "runtime/ranks/launch.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "runtime/ranks/binding.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Variable variable_of(const Variables& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

std::string told(const Variables& variables) {
  const std::optional<Launch> launch = launch_of(variable_of(variables));
  if (!launch) return "";
  return fmt::format("{} {}/{}", launch->launcher, launch->rank, launch->count);
}

TEST(Launch, IsWhatLaunchersSay) {
  EXPECT_EQ(told({}), "");
  EXPECT_EQ(told({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
            "mpirun of Open MPI 2/4");
  EXPECT_EQ(told({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "mpiexec of MPICH 0/1");
  EXPECT_EQ(told({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "8"}}), "srun 3/8");
  EXPECT_EQ(told({{"PMIX_RANK", "5"}}), "a launcher with PMIx 5/0");
  // Open MPI's mpirun within an allocation of Slurm.
  EXPECT_EQ(told({{"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "2"},
                  {"SLURM_PROCID", "0"},
                  {"SLURM_STEP_NUM_TASKS", "1"},
                  {"PMIX_RANK", "1"}}),
            "mpirun of Open MPI 1/2");
}

TEST(Launch, IsNotABatchScriptNorNonsense) {
  EXPECT_EQ(told({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}), "");
  EXPECT_EQ(told({{"OMPI_COMM_WORLD_RANK", "2"}}), "");
  EXPECT_EQ(told({{"PMI_RANK", "-1"}, {"PMI_SIZE", "2"}}), "");
  EXPECT_EQ(told({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), "");
  EXPECT_EQ(told({{"PMI_RANK", "0x1"}, {"PMI_SIZE", "2"}}), "");
}

TEST(FindMpi, SaysWhyThereIsNoModule) {
  const testing::TemporaryFolder folder;
  const auto why_not = [](const std::string& module) {
    const Variables variables{{"GRAPHC_MPI", module}};
    const FoundMpi found = open_mpi(nullptr, variable_of(variables));
    EXPECT_EQ(found.module, nullptr);
    return found.why_not;
  };
  EXPECT_EQ(why_not("none"), "GRAPHC_MPI is 'none'");
  EXPECT_THAT(why_not("/no/such.so"), HasSubstr("GRAPHC_MPI: /no/such.so: cannot open"));
  EXPECT_THAT(why_not(folder.add("text.so", "text").string()), HasSubstr("GRAPHC_MPI: "));
  EXPECT_EQ(why_not(GRAPHC_FAKE_NO_MODULE),
            fmt::format("GRAPHC_MPI: '{}' is no module of graphc", GRAPHC_FAKE_NO_MODULE));
  EXPECT_THAT(why_not(GRAPHC_FAKE_OTHER_MODULE),
              HasSubstr("is a module of another graphc: its version is 1000, wanted 2"));
}

TEST(FindMpi, LooksFirstWhereTheProgramSays) {
  const Variables none;
  const testing::TemporaryFolder folder;
  folder.add("graphc_mpi.so", "text");
  const FoundMpi found = open_mpi(folder.path().c_str(), variable_of(none));
  EXPECT_THAT(found.why_not, HasSubstr((folder.path() / "graphc_mpi.so").string()));
}

TEST(ShareOfCores, DividesTheCoresThatRanksHaveTogether) {
  const Cores eight{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}};
  const std::vector<Cores> three(3, eight);
  EXPECT_EQ(share_of_cores(three, 0), (Cores{{0, 8}, {1, 9}}));
  EXPECT_EQ(share_of_cores(three, 1), (Cores{{2, 10}, {3, 11}, {4, 12}}));
  EXPECT_EQ(share_of_cores(three, 2), (Cores{{5, 13}, {6, 14}, {7, 15}}));
}

TEST(ShareOfCores, KeepsWhatALauncherBound) {
  const std::vector<Cores> bound{{{0}, {1}}, {{2}, {3}}};
  EXPECT_EQ(share_of_cores(bound, 0), bound[0]);
  EXPECT_EQ(share_of_cores(bound, 1), bound[1]);
  // By socket: the ranks of each divide it.
  const Cores one{{0}, {1}, {2}}, other{{3}, {4}, {5}};
  const std::vector<Cores> sockets{one, other, one, other, other};
  EXPECT_EQ(share_of_cores(sockets, 0), (Cores{{0}}));
  EXPECT_EQ(share_of_cores(sockets, 2), (Cores{{1}, {2}}));
  EXPECT_EQ(share_of_cores(sockets, 4), (Cores{{5}}));
}

TEST(ShareOfCores, MoreRanksThanCoresTakeThemInTurn) {
  const std::vector<Cores> five(5, Cores{{0}, {1}});
  EXPECT_EQ(share_of_cores(five, 3), (Cores{{1}}));
  EXPECT_EQ(share_of_cores(five, 4), (Cores{{0}}));
  EXPECT_EQ(share_of_cores(std::vector<Cores>(2), 1), Cores());
}

TEST(ShareOfCores, AreTextAndBack) {
  for (const Cores& cores : {Cores{}, Cores{{3}}, Cores{{0, 4}, {1, 5}, {12}}})
    EXPECT_EQ(cores_in(to_text(cores)), cores);
  EXPECT_EQ(to_text({{0, 4}, {15}}), "0+4 15");
}

}  // namespace
}  // namespace graphc::core
