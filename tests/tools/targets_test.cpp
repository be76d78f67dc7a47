// SPDX-License-Identifier: Apache-2.0
// `graphc targets`: targets, and the libraries that they would open.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codegen/target.h"
#include "tests/testing/source_tree.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

/// What `graphc targets` says where libraries are looked for in `places`.
Ran targets(const std::string& places, const std::string& arguments = "",
            const std::string& more = "") {
  const TemporaryFolder folder;
  return run_bash("GRAPHC_CUDA_LIBRARIES='" + places + "' " + more + " graphc targets " + arguments,
                  folder);
}

/// The row of a library.
Json library(const Ran& ran, const std::string& name) {
  const Json list = Json::parse(ran.out);
  for (const Json& row : list.at("libraries")) {
    if (row.at("name") == name) return row;
  }
  ADD_FAILURE() << "no row for " << name << " in " << ran.out;
  return {};
}

TEST(GraphcTargets, SayWhereNothingIsLookedFor) {
  const Ran ran = targets("none");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, IsEmpty());
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("reference  the evaluator: slow"),
            HasSubstr("\n\nlibraries of CUDA:\n"
                      "driver    not usable: no libcuda.so.1 was found\n"
                      "nvrtc     not usable: no libnvrtc.so.13 or libnvrtc.so.12 was found\n"
                      "cudnn     not usable: no libcudnn.so.9 was found\n"
                      "cublaslt  not usable: no libcublasLt.so.13 or libcublasLt.so.12 was "
                      "found\n")));
  const Ran json = targets("none", "--json");
  EXPECT_EQ(
      library(json, "driver"),
      (Json{{"name", "driver"}, {"available", false}, {"reason", "no libcuda.so.1 was found"}}));
  const Json rows = Json::parse(json.out)["targets"];
  EXPECT_EQ(rows.at(0).at("name"), "cpu");
  EXPECT_FALSE(rows.at(0).contains("text"));
}

TEST(GraphcTargets, NameThePrecisionsOfEachRecord) {
  const Ran ran = targets("none");
  const Json rows = Json::parse(targets("none", "--json").out).at("targets");
  ASSERT_EQ(rows.size(), all_targets().size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Target& target = *all_targets()[i];
    EXPECT_EQ(rows.at(i).at("name"), target.name);
    EXPECT_EQ(rows.at(i).at("precisions"), Json(names_of(target.precisions)));
    EXPECT_THAT(ran.out, HasSubstr(fmt::format("{}; in {} (", target.summary,
                                               fmt::join(names_of(target.precisions), ", "))));
  }
}

TEST(GraphcTargets, SayWhyALibraryIsNotTaken) {
  const std::string old = GRAPHC_FAKES_FOLDER "/old_driver";
  EXPECT_THAT(targets(old).out, HasSubstr("driver    not usable: '" + old +
                                          "/libcuda.so.1' is a driver of CUDA 11.8; wanted a "
                                          "driver of CUDA 12.1 or newer\n"));
  // Whatever bytes a name has, they do not steer a terminal, and JSON can say them.
  const Ran strange = targets("/no\x1b/such\xff", "--json");
  EXPECT_EQ(library(strange, "nvrtc").at("reason"),
            "GRAPHC_CUDA_LIBRARIES: no folder '/no\\x1b/such\\xff'");
  EXPECT_THAT(targets("/no/such/folder").out,
              HasSubstr("nvrtc     not usable: GRAPHC_CUDA_LIBRARIES: no folder "
                        "'/no/such/folder'\n"));
}

TEST(GraphcTargets, SayWhatIsFoundAndWhere) {
  const std::string mock = GRAPHC_MOCK_FOLDER;
  EXPECT_THAT(targets(mock).out,
              HasSubstr("driver    13.0, " + mock + "/libcuda.so.1\nnvrtc     13.0, " + mock +
                        "/libnvrtc.so.13\n"));
  const Json driver{{"name", "driver"},
                    {"available", true},
                    {"version", "13.0"},
                    {"path", mock + "/libcuda.so.1"}};
  EXPECT_EQ(library(targets(mock, "--json"), "driver"), driver);
}

TEST(GraphcTargets, SayWhyADriverDoesNotStart) {
  const std::string mock = GRAPHC_MOCK_FOLDER;
  const Ran none = targets(mock, "", "GRAPHC_MOCK_FAIL=cuInit:100:1");
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.out,
              HasSubstr("driver    not usable: cuInit: no CUDA-capable device is detected\n"));
  EXPECT_THAT(targets(mock, "", "GRAPHC_MOCK_FAIL=cuDriverGetVersion:999:1").out,
              HasSubstr("driver    not usable: cuDriverGetVersion: unknown error\n"));
}

/// The script with a pip that writes down what it is asked for, and puts two libraries where the
/// packages have them.
Ran cuda_libraries(const TemporaryFolder& folder, const std::string& arguments,
                   const std::string& pip = "") {
  const auto python = folder.add("bin/python3", R"(#!/bin/sh
[ "$3" = --version ] && exit 0
echo "$@" >> asked
[ "$3" = install ] || exit 1
for name in cu13 cudnn; do
  mkdir -p "$6/nvidia/$name/lib" "$6/nvidia/$name/include"
  touch "$6/nvidia/$name/lib/lib$name.so.9"
done
)" + pip);
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  return run_bash("PATH=$PWD/bin:$PATH " + source_path("tools/cuda-libraries") + " " + arguments,
                  folder);
}

TEST(CudaLibrariesScript, FetchesAndSaysHowToUseIt) {
  const TemporaryFolder folder;
  const Ran ran = cuda_libraries(folder, "\"it's here\"");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string to = std::filesystem::canonical(folder.path() / "it's here").string();
  EXPECT_EQ(run_bash(ran.out + "echo \"$GRAPHC_CUDA_LIBRARIES\"", folder).out,
            to + "/nvidia/cu13/lib:" + to + "/nvidia/cudnn/lib\n");
  EXPECT_EQ(content(folder.path() / "asked"),
            "-m pip install --upgrade --target " + to + " nvidia-cuda-nvrtc==13.*\n");
  EXPECT_EQ(cuda_libraries(folder, "--cudnn --tools more").code, 0);
  EXPECT_THAT(content(folder.path() / "asked"),
              HasSubstr("/more nvidia-cuda-nvrtc==13.* nvidia-cudnn-cu13==9.* "
                        "nvidia-cuda-nvcc==13.*\n"));
}

TEST(CudaLibrariesScript, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  for (const char* wrong : {"", "--fast there", "here there", "--cudnn", "a:b"}) {
    const Ran ran = cuda_libraries(folder, wrong);
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, HasSubstr("tools/cuda-libraries")) << wrong;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "asked"));
  const Ran failed = cuda_libraries(folder, "there", "exit 1\n");
  EXPECT_EQ(failed.code, 5);
  EXPECT_EQ(failed.err, "tools/cuda-libraries: pip could not fetch nvidia-cuda-nvrtc==13.*\n");
  const Ran empty = cuda_libraries(folder, "there", "rm -r \"$6/nvidia\"\n");
  EXPECT_EQ(empty.code, 5);
  EXPECT_THAT(empty.err, HasSubstr("pip put no library into "));
  EXPECT_EQ(cuda_libraries(folder, "bin/python3/x").code, 5);
}

}  // namespace
}  // namespace graphc::core::testing
