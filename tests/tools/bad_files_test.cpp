// SPDX-License-Identifier: Apache-2.0
// Every verb that reads a file, given files that are missing, empty, something else, a folder or
// unreadable: exit code 3, nothing on stdout, and a message that names the file.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>

#include "ir/error.h"
#include "runtime/files/files.h"
#include "tests/testing/corpus.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/run_tool.h"

namespace graphc::core {
namespace {

using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kGoodGraph = "graph @f(%x: f32[2]) state(%s: f32[2]) { return add(%x, %s) }";

/// A folder with files to give, and where a command writes.
class BadFiles : public ::testing::Test {
 protected:
  struct Ran {
    int code;
    std::string out, err;
  };

  BadFiles() {
    folder_.add("good.graph", kGoodGraph);
    for (const char* ending : {"graph", "pb", "pbtxt", "json", "npy", "safetensors"}) {
      folder_.add(fmt::format("empty.{}", ending), "");
      folder_.add(fmt::format("bytes.{}", ending), bytes());
      std::filesystem::create_directory(path(fmt::format("folder.{}", ending)));
      // Whoever reads this gets an error of the disk: even root, whom no permission stops.
      std::filesystem::create_symlink("/proc/self/mem", path(fmt::format("unreadable.{}", ending)));
    }
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// A program of no known format, with zeros and high bytes.
  static std::string bytes() {
    std::string text(
        "\x7f"
        "ELF\x02\x01\x01\0\0",
        9);
    for (int i = 0; i < 1000; ++i) text += char(i * 37 + i / 7);
    return text;
  }

  Ran run(const std::string& program, const std::string& arguments) const {
    const std::string command = fmt::format("'{}' {} < /dev/null > '{}' 2> '{}'", program,
                                            arguments, path("out"), path("err"));
    const int status = testing::run_shell(command);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(path("out")),
            read_file(path("err"))};
  }

  /// Runs `arguments`, in which {} stands for the file, over every bad file of this ending.
  void expect_refusals(const std::string& program, const std::string& arguments,
                       const std::string& ending) {
    int64_t tried = 0;
    for (const char* kind : {"missing", "empty", "bytes", "folder", "unreadable"}) {
      const std::string file = path(fmt::format("{}.{}", kind, ending));
      const std::string command = fmt::format(fmt::runtime(arguments), file);
      const Ran ran = run(program, command);
      EXPECT_EQ(ran.code, 3) << command << "\n" << ran.err;
      EXPECT_THAT(ran.out, IsEmpty()) << command;
      EXPECT_THAT(ran.err, HasSubstr(file)) << command;
      EXPECT_THAT(ran.err, HasSubstr("error: ")) << command;
      EXPECT_THAT(ran.err, Not(HasSubstr("internal"))) << command;
      ++tried;
    }
    testing::count("bad inputs", tried);
  }

  const TemporaryFolder folder_;
};

TEST_F(BadFiles, AreRefusedByEveryVerbThatReadsGraphs) {
  for (const char* verb : {"opt {}", "dump {}", "dump {} --stage=dot", "check {}", "run {}"}) {
    for (const char* ending : {"graph", "pb", "pbtxt", "json"}) {
      expect_refusals(GRAPHC_TOOL, verb, ending);
    }
  }
  for (const char* ending : {"graph", "pb", "pbtxt", "json"})
    expect_refusals(GRAPHC_BENCH, "{} --repeat=1", ending);
  expect_refusals(GRAPHC_TOOL, "check {} --gradient", "graph");
}

TEST_F(BadFiles, AreRefusedAsArrays) {
  const std::string graph = path("good.graph");
  expect_refusals(GRAPHC_TOOL, "run " + graph + " --input x=@{} --input s=1", "npy");
  expect_refusals(GRAPHC_TOOL,
                  "train lstm-layer hidden=3 steps=2 batch=2 --max-steps 1 --target=reference "
                  "--init {}",
                  "safetensors");
}

TEST_F(BadFiles, AreRefusedAsCheckpoints) {
  expect_refusals(GRAPHC_TOOL, "generate {} --target=reference", "safetensors");
  // Where there is no file yet, --resume begins anew: all others are refused.
  for (const char* kind : {"empty", "bytes", "folder", "unreadable"}) {
    const std::string file = folder_.add("c/checkpoint.safetensors", "").string();
    std::filesystem::remove(file);
    std::filesystem::rename(path(fmt::format("{}.safetensors", kind)), file);
    for (const auto& [option, code] : {std::pair{"--resume", 3}, std::pair{"", 2}}) {
      const Ran ran =
          run(GRAPHC_TOOL, fmt::format("train lstm-layer hidden=3 steps=2 batch=2 --max-steps 1 "
                                       "--target=reference --checkpoint '{}' {}",
                                       path("c"), option));
      EXPECT_EQ(ran.code, code) << kind << " " << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(file)) << kind;
      testing::count("bad inputs", 1);
    }
    std::filesystem::remove_all(path("c"));
  }
}

TEST_F(BadFiles, OfProtobufAreRefusedInOneLine) {
  for (const char* ending : {"pb", "pbtxt", "json"}) {
    const std::string empty = path(fmt::format("empty.{}", ending));
    EXPECT_EQ(run(GRAPHC_TOOL, "check " + empty).err,
              fmt::format("{}: error: the file is empty\n", empty));
    const std::string err =
        run(GRAPHC_TOOL, fmt::format("check {}", path(fmt::format("bytes.{}", ending)))).err;
    EXPECT_EQ(err.find('\n'), err.size() - 1) << err;
    for (const char byte : err) EXPECT_TRUE(byte == '\n' || (byte >= ' ' && byte < 127)) << err;
  }
}

TEST_F(BadFiles, AreRefusedAsATextToLearn) {
  // Any bytes are a text.
  for (const char* kind : {"missing", "empty", "unreadable"}) {
    const std::string file = path(fmt::format("{}.npy", kind));
    const Ran ran = run(GRAPHC_TOOL,
                        "train char-lm hidden=4 --max-steps 1 --target=reference "
                        "--data " +
                            file);
    EXPECT_EQ(ran.code, 3) << kind << " " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(file)) << kind;
    testing::count("bad inputs", 1);
  }
}

TEST_F(BadFiles, AreRefusedAsACorpus) {
  for (const char* name : {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"}) {
    const std::string corpus = testing::tiny_ptb().string();
    for (const char* kind : {"missing", "empty", "bytes", "folder", "unreadable"}) {
      const std::string copy = path("corpus");
      std::filesystem::remove_all(copy);
      std::filesystem::copy(corpus, copy);
      const std::string file = fmt::format("{}/{}", copy, name);
      std::filesystem::remove(file);
      if (kind != std::string("missing"))
        std::filesystem::rename(path(fmt::format("{}.npy", kind)), file);
      const Ran ran = run(GRAPHC_TOOL,
                          "train ptb-lm size=test --max-steps 1 --target=reference --data " + copy);
      EXPECT_EQ(ran.code, 3) << kind << " " << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(file)) << kind;
      if (kind != std::string("missing"))
        std::filesystem::rename(file, path(fmt::format("{}.npy", kind)));
    }
  }
}

TEST_F(BadFiles, PlacesThatCannotBeWrittenAreFive) {
  const std::string graph = path("good.graph");
  for (const std::string& place :
       {path("folder.npy"), path("missing/y.npy"), std::string("/proc/y.npy")}) {
    const Ran ran =
        run(GRAPHC_TOOL, fmt::format("run {} --input x=1 --input s=2 --output s={}", graph, place));
    EXPECT_EQ(ran.code, 5) << place << " " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(place));
  }
  for (const char* verb : {"ops", "opt", "dump"}) {
    const std::string file = verb == std::string("ops") ? "" : graph;
    const int status = std::system(
        fmt::format("'{}' {} {} > /dev/full 2> {}", GRAPHC_TOOL, verb, file, path("err")).c_str());
    EXPECT_EQ(WEXITSTATUS(status), 5) << verb;
    EXPECT_THAT(read_file(path("err")), HasSubstr("stdout: No space left on device")) << verb;
  }
}

TEST_F(BadFiles, ShapesThatNoMachineHoldsAreErrorsOfTheGraphOrOfMemory) {
  struct Case {
    const char* text;
    int code;
  };
  const Case cases[] = {
      {"graph @f(%x: f32[1099511627776,1099511627776]) { return %x }", 3},
      {"graph @f(%x: f32[9223372036854775807]) { return %x }", 3},
      {"graph @f(%x: f32[99999999999999999999]) { return %x }", 3},
      {"graph @f(%x: f32[-1]) { return %x }", 3},
      {"graph @f(%x: f32[1048576,1], %y: f32[268435456,1,1048576]) { return add(%x, %y) }", 3},
      {"graph @f(%x: f32[1048576,1048576]) { return neg(%x) }", 5},
      {"graph @f(%x: f32[0,1048576], %y: f32[1048576,0]) { return matmul(%y, %x) }", 5},
      {"graph @f(%x: f32[0,3]) { return sum(%x) {axes = [0]} }", 0},
      {"graph @f(%x: f32[3], %x: f32[3]) { return %y }", 3},
      {"graph @f(%x: f32[3]) { %a = neg %b %b = neg %a return %b }", 3},
  };
  // A sanitizer would end the process where the system says that there is not so much memory.
  const char* options = std::getenv("ASAN_OPTIONS");
  setenv("ASAN_OPTIONS",
         fmt::format("{}:allocator_may_return_null=1", options == nullptr ? "" : options).c_str(),
         1);
  for (const Case& each : cases) {
    const std::string file = folder_.add("case.graph", each.text).string();
    const Ran ran = run(GRAPHC_TOOL, fmt::format("check --target=reference {}", file));
    EXPECT_EQ(ran.code, each.code) << each.text << "\n" << ran.out << ran.err;
    EXPECT_EQ(ran.err.find("error: ") != std::string::npos, each.code != 0) << each.text;
  }
  testing::count("bad inputs", std::size(cases));
}

/// Forty regions, each of which uses the one before it twice.
std::string doubling_regions() {
  std::string text = "region @r0 (%h: f32[2]) { return tanh(%h) }\n";
  for (int i = 1; i <= 40; ++i) {
    text += fmt::format(
        "region @r{0} (%h: f32[2]) {{\n  %a = scan {{steps = 1}} carry %h = %h @r{1}\n"
        "  %b = scan {{steps = 1}} carry %h = %a @r{1}\n  return %b\n}}\n",
        i, i - 1);
  }
  return text + "graph @f (%x: f32[2]) { %a = scan {steps = 1} carry %h = %x @r40 return %a }\n";
}

TEST_F(BadFiles, RegionsThatAreEndlessWhenWrittenOutAreRefused) {
  const std::string file = folder_.add("doubling.graph", doubling_regions()).string();
  for (const char* verb : {"dump", "dump --stage=proto"})
    EXPECT_EQ(run(GRAPHC_TOOL, fmt::format("{} {}", verb, file)).code, 0) << verb;
  for (const char* verb :
       {"dump --stage=optimized", "dump --stage=dot", "dump --stage=plan", "check",
        "run --input x=1", "run --target=reference --input x=1", "opt --passes=simplify"}) {
    const Ran ran = run(GRAPHC_TOOL, fmt::format("{} {}", verb, file));
    EXPECT_EQ(ran.code, 3) << verb;
    EXPECT_THAT(ran.err, HasSubstr("graph @f is made of 124 nodes, and of 5.5e+12 with each "
                                   "region written out"))
        << verb;
    testing::count("bad inputs", 1);
  }
}

}  // namespace
}  // namespace graphc::core
