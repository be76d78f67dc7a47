// SPDX-License-Identifier: Apache-2.0
// tools/roofline: where points and roofs are in the picture, that labels have room, and what it
// says of files that it cannot draw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/files/files.h"
#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Ran roofline(const TemporaryFolder& folder, const std::string& arguments,
             const std::string& after = "") {
  return run_bash(fmt::format("'{}' {} {}", source_path("tools/roofline"), arguments, after),
                  folder);
}

std::string kernel(const std::string& name, double seconds, double flop, double bytes) {
  return fmt::format(
      R"({{"name": "{}", "kind": "gemm", "file": "a.cpp", "line": 3, "calls": 1, "seconds": {},
          "seconds_min": 1, "seconds_max": 1, "flop": {}, "bytes": {}}})",
      name, seconds, flop, bytes);
}

/// A profile of one call, with a peak of 1000 GFLOP/s.
std::string profile(const std::vector<std::string>& kernels, const std::string& more = "") {
  return fmt::format(
      R"({{"environment": {{"cpu": "a CPU"}}, "profiles": [{{"workload": "w", "call": "train",
          "parameters": {{"hidden": 3}}, "variant": "fused", "threads": 2, "precision": "f32",
          "peak_gflops": 1000, {} "kernels": [{}]}}]}})",
      more, fmt::join(kernels, ", "));
}

constexpr const char* kMachine = R"({"threads": 2, "bandwidth": [
  {"from": "second-level cache", "bytes_of_thread": 1, "gb_per_s": 500},
  {"from": "shared cache", "bytes_of_thread": 1, "gb_per_s": 100},
  {"from": "memory", "bytes_of_thread": 1, "gb_per_s": 10}]})";

/// Ten FLOP a byte at 100 GFLOP/s, a quarter of the call; a hundred at 500; and no products.
std::string three_kernels() {
  return profile({kernel("ten", 0.01, 1e9, 1e8), kernel("hundred", 0.02, 1e10, 1e8),
                  kernel("none", 0.01, 0, 1e8)});
}

TEST(Roofline, PointsAreWhereTheirNumbersSay) {
  const TemporaryFolder folder;
  folder.add("profile.json", three_kernels());
  folder.add("machine.json", kMachine);
  const Ran ran = roofline(folder, "profile.json --bandwidth=machine.json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\""));
  // Three decades each: 1 to 1000 FLOP a byte from 62 to 738, 10 to 10,000 GFLOP/s from 450 to 70.
  // The radius is 24 times the root of the share.
  EXPECT_THAT(ran.out, HasSubstr(R"(<circle cx="287.3" cy="323.3" r="12.0")"));
  EXPECT_THAT(ran.out, HasSubstr(R"(<circle cx="512.7" cy="234.8" r="17.0")"));
  EXPECT_THAT(ran.out, HasSubstr("<title>gemm %ten, a.cpp:3: 100 GFLOP/s, 10 FLOP a byte, 25.0 % "
                                 "of the call</title>"));
  for (const char* decade : {">1<", ">10<", ">100<", ">1,000<", ">10,000<"})
    EXPECT_THAT(ran.out, HasSubstr(decade));
  // Memory meets the peak at 100 FLOP a byte, the shared cache at 10.
  EXPECT_THAT(ran.out, HasSubstr(R"(<line x1="62.0" y1="450.0" x2="512.7" y2="196.7")"));
  EXPECT_THAT(ran.out, HasSubstr(R"(<line x1="62.0" y1="323.3" x2="287.3" y2="196.7")"));
  EXPECT_THAT(ran.out, HasSubstr(R"(<line x1="287.3" y1="196.7" x2="738.0" y2="196.7")"));
  for (const char* words :
       {"train: w hidden=3 --variant=fused", "40 ms; 1 kernel without products, 25.0 % of it, not",
        "peak 1,000 GFLOP/s", "memory 10 GB/s", "shared cache 100 GB/s", "a CPU, 2 threads"})
    EXPECT_THAT(ran.out, HasSubstr(words));
}

TEST(Roofline, RoofsCanBeGiven) {
  const TemporaryFolder folder;
  folder.add("profile.json", three_kernels());
  const Ran ran =
      roofline(folder, "profile.json --memory=20 --peak=2000 --output=picture.svg --title='A < B'");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  const std::string picture = read_file(folder.path() / "picture.svg");
  EXPECT_THAT(picture, AllOf(HasSubstr("memory 20 GB/s"), HasSubstr("peak 2,000 GFLOP/s"),
                             HasSubstr("A &lt; B"), Not(HasSubstr("shared cache"))));
}

/// The white boxes behind labels: left, top, right, bottom.
std::vector<std::array<double, 4>> boxes_of(const std::string& picture) {
  static const std::regex box(
      R"re(<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)")re");
  std::vector<std::array<double, 4>> boxes;
  for (std::sregex_iterator it(picture.begin(), picture.end(), box), end; it != end; ++it) {
    const double x = std::stod((*it)[1]), y = std::stod((*it)[2]);
    boxes.push_back({x, y, x + std::stod((*it)[3]), y + std::stod((*it)[4])});
  }
  return boxes;
}

TEST(Roofline, LabelsAreApartAndInside) {
  const TemporaryFolder folder;
  std::vector<std::string> kernels;
  for (int i = 0; i < 12; ++i)
    kernels.push_back(
        kernel(fmt::format("a_long_name.{}", i), 0.01 + 1e-4 * i, 9e9, 9e6 + 1e5 * i));
  folder.add("profile.json", profile(kernels));
  folder.add("machine.json", kMachine);
  const Ran ran = roofline(folder, "profile.json --bandwidth=machine.json --labels=12");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto boxes = boxes_of(ran.out);
  EXPECT_GE(boxes.size(), 8u);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const auto& [left, top, right, bottom] = boxes[i];
    EXPECT_TRUE(left >= 62 && top >= 70 && right <= 738 && bottom <= 450) << i;
    for (size_t j = 0; j < i; ++j) {
      const bool apart = boxes[j][2] <= left + 0.2 || right <= boxes[j][0] + 0.2 ||
                         boxes[j][3] <= top + 0.2 || bottom <= boxes[j][1] + 0.2;
      EXPECT_TRUE(apart) << i << " and " << j;
    }
  }
  EXPECT_TRUE(boxes_of(roofline(folder, "profile.json --memory=10 --labels=0").out).empty());
}

TEST(Roofline, SaysWhichFileIsWrongAndHow) {
  const TemporaryFolder folder;
  const std::string good = kernel("a", 1, 1, 1);
  folder.add("good.json", profile({good}));
  folder.add("machine.json", kMachine);
  const auto wrong = [&](const std::string& name, const std::string& content,
                         const std::string& message, const std::string& more = "") {
    if (!content.empty()) folder.add(name, content);
    const Ran ran = roofline(folder, name + " --bandwidth=machine.json --output=p.svg " + more);
    EXPECT_EQ(ran.code, 3) << name << ran.err;
    EXPECT_THAT(ran.err, AllOf(StartsWith("roofline: '" + name + "': "), HasSubstr(message)));
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "p.svg"));
  };
  wrong("missing.json", "", "No such file");
  wrong("text.json", "kernels", "not JSON: ");
  wrong("deep.json", std::string(100000, '['), "not JSON: ");
  wrong("list.json", "[]", "found no JSON object");
  wrong("other.json", R"({"results": []})", "not what --profile --json writes: wanted 'profiles'");
  wrong("empty.json", R"({"profiles": []})", "no profiles");
  wrong("nothing.json", profile({}), "profile 1: no kernels");
  wrong("map.json", profile({kernel("m", 1, 0, 1)}), "no kernel has products");
  wrong("seconds.json", profile({good, kernel("b", -1, 1, 1)}),
        "profile 1, kernel 2: gemm %b: wanted 'seconds' above 0: found -1");
  wrong("bytes.json", profile({kernel("b", 1, 1, -8)}), "wanted 'bytes' from 0: found -8");
  wrong("free.json", profile({kernel("b", 1, 1, 0)}), "gemm %b: products without bytes");
  wrong("huge.json", profile({kernel("b", 1e-300, 1e300, 1)}), "GFLOP/s or FLOP a byte");
  wrong("word.json", profile({R"({"name": "b", "kind": "gemm", "seconds": "1"})"}),
        "wanted 'seconds'");
  wrong("nan.json", profile({R"({"name": "b", "kind": "gemm", "seconds": NaN})"}),
        "wanted 'seconds' above 0: found nan");
  wrong("peak.json", profile({good}, R"("peak_gflops": -2,)"), "wanted 'peak_gflops' above 0");
  wrong("threads.json", profile({good}, R"("threads": "two",)"), "wanted 'threads'");
}

TEST(Roofline, RoofsAreOfWhatWasMeasured) {
  const TemporaryFolder folder;
  folder.add("good.json", profile({kernel("a", 1, 1, 1)}));
  folder.add("one.json", profile({kernel("a", 1, 1, 1)}, R"("threads": 1,)"));
  folder.add("bf16.json", profile({kernel("a", 1, 1, 1)}, R"("precision": "bf16",)"));
  folder.add("no_memory.json", R"({"threads": 2, "bandwidth": []})");
  folder.add("slow.json", R"({"threads": 2, "bandwidth": [{"from": "memory", "gb_per_s": -1}]})");
  folder.add("machine.json", kMachine);
  for (const auto& [arguments, message] :
       {std::pair{"good.json --bandwidth=no_memory.json", "'no_memory.json': no bandwidth from"},
        {"good.json --bandwidth=slow.json", "'slow.json': bandwidth 1: wanted 'gb_per_s' above 0"},
        {"good.json --bandwidth=good.json", "'good.json': not what --bandwidth --json writes"},
        {"one.json --bandwidth=machine.json", "'machine.json': read by 2 threads, where 'one.json"},
        {"one.json good.json --memory=1", "profiles on 1 and 2 threads have other roofs"},
        {"bf16.json good.json --memory=1", "profiles in bf16 and f32 have other peaks"},
        {"good.json --memory=1 --call=forward", "no profile of the call 'forward' in good.json"},
        {"good.json good.json good.json good.json good.json good.json good.json --memory=1",
         "7 profiles: a picture has room for 6"}}) {
    const Ran ran = roofline(folder, arguments);
    EXPECT_EQ(ran.code, 3) << arguments;
    EXPECT_THAT(ran.err, AllOf(StartsWith("roofline: "), HasSubstr(message)));
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(roofline(folder, "bf16.json good.json --memory=1 --peak=2").code, 0);
}

TEST(Roofline, AWrongCommandLineIsTwo) {
  const TemporaryFolder folder;
  folder.add("good.json", profile({kernel("a", 1, 1, 1)}));
  for (const auto& [arguments, message] :
       {std::pair{"", "PROFILE"},
        {"good.json", "wanted --bandwidth=FILE or --memory=GB/s"},
        {"good.json --memory=-1", "wanted a number above 0: found '-1'"},
        {"good.json --memory=1 --peak=nan", "wanted a number above 0: found 'nan'"},
        {"good.json --memory=1 --labels=few", "wanted a whole number from 0: found 'few'"},
        {"good.json --memory=1 --call=both", "invalid choice: 'both'"},
        {"good.json --memory=1 --abacus", "unrecognized arguments: --abacus"}}) {
    const Ran ran = roofline(folder, arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_EQ(ran.out, "");
  }
  const Ran help = roofline(folder, "--help");
  EXPECT_EQ(help.code, 0);
  for (const char* option :
       {"--bandwidth", "--memory", "--cache", "--peak", "--call", "--labels", "--output"})
    EXPECT_THAT(help.out, HasSubstr(option));
}

TEST(Roofline, WhatCannotBeWrittenIsFiveAndLeavesNothing) {
  const TemporaryFolder folder;
  folder.add("good.json", profile({kernel("a", 1, 1, 1)}));
  folder.add("folder/file", "");
  const int before = folder.count();
  const auto failed = [&](const std::string& arguments, const std::string& message,
                          const std::string& after = "") {
    const Ran ran = roofline(folder, "good.json --memory=1 " + arguments, after);
    EXPECT_EQ(ran.code, 5) << ran.err;
    EXPECT_EQ(ran.err, "roofline: " + message + "\n");
  };
  failed("--output=none/p.svg", "'none/p.svg': No such file or directory");
  failed("--output=folder", "'folder': not a regular file");
  failed("", "'-': No space left on device", "> /dev/full");
  EXPECT_EQ(folder.count(), before + 3);  // what run_bash() has there
  folder.add("p.svg", "what was there");
  EXPECT_EQ(roofline(folder, "good.json --memory=1 --output=p.svg").code, 0);
  EXPECT_THAT(read_file(folder.path() / "p.svg"), StartsWith("<svg "));
  EXPECT_EQ(folder.count(), before + 4);
}

TEST(RooflineCpu, DrawsWhatGraphcBenchWrites) {
  const TemporaryFolder folder;
  const Ran ran = run_bash(
      fmt::format("export ASAN_OPTIONS=detect_leaks=0:malloc_context_size=0:$ASAN_OPTIONS\n"
                  "'{0}' lstm-layer hidden=16 steps=3 batch=4 --threads=1 --profile --json=a.json "
                  "> a.txt\n'{0}' --bandwidth --threads=1 --json=b.json > b.txt\n"
                  "'{1}' a.json --bandwidth=b.json",
                  GRAPHC_BENCH, source_path("tools/roofline")),
      folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("<title>gemm %"), HasSubstr("<title>recurrent %"),
                             HasSubstr("train: lstm-layer hidden=16 steps=3 batch=4 cell=lstm "),
                             HasSubstr("forward: lstm-layer hidden=16")));
}

}  // namespace
}  // namespace graphc::core::testing
