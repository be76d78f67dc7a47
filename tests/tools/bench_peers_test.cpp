// SPDX-License-Identifier: Apache-2.0
// graphc-bench --peers: where tools/peers is looked for, what it is asked, what becomes of its
// answers. A script stands in its place; the real one is asked what it refuses.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/files/files.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kTiny =
    "lstm-layer hidden=16 steps=3 batch=4 --repeat=2 --compilations=1 --threads=1 "
    "--peers=torch,jax ";

/// Says what it was asked, and has measured something unless DOING says what it does instead.
constexpr const char* kFake = R"(#!/bin/bash
for word in "$@"; do
  case $word in
    --dry-run) dry=yes ;;
    --json=*) json=${word#--json=} ;;
  esac
done
echo "$@" >> asked.txt
[ "$DOING" = refuses ] && [ $dry ] && { echo 'peers: error: no such thing' >&2; exit 2; }
[ $dry ] && exit 0
echo 'a message' >&2
[ "$DOING" = fails ] && { echo 'peers: no luck' >&2; exit 5; }
[ "$DOING" = babbles ] && { echo '{"schema":' > "$json"; exit 0; }
echo '{"schema": "made up", "workloads": []}' > "$json"
printf 'a CPU\n\n| Library |\n| --- |\n'
[ "$DOING" = differs ] && exit 4
exit 0
)";

/// graphc-bench of an installed prefix, or of a build, in `folder`: with a stand-in for tools/peers
/// at `place`.
Ran bench_in(const TemporaryFolder& folder, const std::string& bin, const std::string& place,
             const std::string& arguments, const std::string& doing = "") {
  if (!place.empty()) folder.add(place, kFake);
  return run_bash(
      fmt::format("export ASAN_OPTIONS=detect_leaks=0:malloc_context_size=0:$ASAN_OPTIONS\n"
                  "mkdir -p '{0}'\n{1}[ -e '{0}/graphc-bench' ] || ln '{2}' '{0}' "
                  "2> link || cp '{2}' '{0}'\nDOING='{3}' '{0}/graphc-bench' {4}",
                  bin, place.empty() ? "" : fmt::format("chmod +x '{}'\n", place), GRAPHC_BENCH,
                  doing, arguments),
      folder);
}

constexpr const char* kInstalled = "share/graphc/tools/peers";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(BenchPeersCpu, TheTableOfPeersComesAfterTheBenchmarks) {
  const TemporaryFolder folder;
  const Ran ran = bench_in(folder, "bin", kInstalled, kTiny);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 7u) << ran.out;
  EXPECT_THAT(lines[0], StartsWith("Library "));
  EXPECT_THAT(lines[1], StartsWith("graphc fused hidden=16 steps=3 batch=4 "));
  EXPECT_EQ(lines[2], "");
  EXPECT_EQ(lines[3], "a CPU");
  EXPECT_EQ(lines[6], "| --- |");
  EXPECT_THAT(ran.err, HasSubstr("a message\n"));
}

TEST(BenchPeersCpu, IsAskedForTheSameWork) {
  const TemporaryFolder folder;
  const Ran ran = bench_in(folder, "bin", kInstalled, kTiny);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<std::string> asked = lines_of(read_file(folder.path() / "asked.txt"));
  ASSERT_EQ(asked.size(), 2u);
  const std::string same = fmt::format(
      "lstm-layer hidden=16 steps=3 batch=4 --with=torch,jax --precision=f32 --threads=1 "
      "--programs={} --no-install --calls=2 ",
      (std::filesystem::canonical(folder.path()) / "bin").string());
  EXPECT_EQ(asked[0], same + "--dry-run");
  EXPECT_THAT(asked[1], StartsWith(same + "--json="));
}

TEST(BenchPeersCpu, IsFoundInTheSourceTreeOfABuild) {
  const TemporaryFolder folder;
  const Ran ran = bench_in(folder, "build/release/bin", "tools/peers", kTiny);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\n\na CPU\n"));
}

TEST(BenchPeersCpu, TheJsonHasWhatThePeersMeasured) {
  const TemporaryFolder folder;
  const Ran ran = bench_in(folder, "bin", kInstalled, std::string(kTiny) + "--json=-");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json all = Json::parse(ran.out);
  EXPECT_EQ(all["results"].size(), 1u);
  EXPECT_EQ(all["peers"]["schema"], "made up");
}

TEST(BenchPeersCpu, WhatWasMeasuredIsWrittenWhenThePeersFail) {
  for (const auto& [doing, code, message] :
       {std::tuple{"fails", 5, "share/graphc/tools/peers ended with exit code 5"},
        {"babbles", 5, "share/graphc/tools/peers wrote no JSON"},
        {"differs", 4,
         "--peers: a program did other work than graphc's step, and was not timed"}}) {
    const TemporaryFolder folder;
    const Ran ran = bench_in(folder, "bin", kInstalled, std::string(kTiny) + "--json=all", doing);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_THAT(ran.out, StartsWith("Library "));
    const Json all = Json::parse(read_file(folder.path() / "all"));
    EXPECT_EQ(all["results"].size(), 1u);
    EXPECT_EQ(all.contains("peers"), code == 4) << doing;
  }
}

TEST(BenchPeers, IsRefusedBeforeAnythingIsMeasured) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& place, const std::string& arguments,
                           const std::string& doing = "") {
    const Ran ran = bench_in(folder, "bin", place, arguments, doing);
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, AllOf(StartsWith("error: --peers: "), Not(HasSubstr("compiled in"))));
    return std::pair(ran.code, ran.err);
  };
  const auto [none, nowhere] = refused("", kTiny);
  EXPECT_EQ(none, 5);
  EXPECT_THAT(nowhere, AllOf(HasSubstr("there is no program /"), HasSubstr("/tools/peers or /"),
                             HasSubstr("/share/graphc/tools/peers\n")));
  EXPECT_EQ(refused(kInstalled, kTiny, "refuses"),
            std::pair(2, std::string("error: --peers: no such thing\n")));
  EXPECT_EQ(refused(kInstalled, "lstm-layer --target=reference --peers=torch").first, 2);
}

TEST(BenchPeers, TheRealOneSaysWhatItHas) {
  const TemporaryFolder folder;
  const auto bench = [&](const std::string& arguments) {
    return run_bash(
        "export ASAN_OPTIONS=detect_leaks=0:malloc_context_size=0:$ASAN_OPTIONS "
        "XDG_CACHE_HOME=none\n"
        "'" GRAPHC_BENCH "' --threads=1 " +
            arguments,
        folder);
  };
  for (const auto& [arguments, code, message] :
       {std::tuple{"lstm-layer cell=gru --peers=jax", 2,
                   "'lstm-layer' has no parameter 'cell' here: there are hidden, steps, batch"},
        {"char-lstm --peers=jax", 2,
         "no model is called 'char-lstm': there are lstm-layer, ptb-lm, cell-layer"},
        {"lstm-layer --peers=abacus", 2,
         "wanted some of torch, jax, tensorflow, onnxruntime: found 'abacus'"},
        {"lstm-layer --peers=torch,jax", 5, "torch, jax: not installed in "}}) {
    const Ran ran = bench(arguments);
    EXPECT_EQ(ran.code, code) << arguments << ran.err;
    EXPECT_THAT(ran.err, AllOf(StartsWith("error: --peers: "), HasSubstr(message)));
    EXPECT_THAT(ran.out, IsEmpty());
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "none"));
  EXPECT_EQ(bench("lstm-layer --profile --peers=torch").code, 2);
}

}  // namespace
}  // namespace graphc::core::testing
