// SPDX-License-Identifier: Apache-2.0
// Standard streams that are full, closed, endless or a terminal, for every verb.
#include <gmock/gmock.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::Ran;
using graphc::core::testing::run_bash;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kTraining =
    "graphc train lstm-layer hidden=3 steps=2 batch=2 --target=reference --max-steps 2";

/// Has the files that kVerbs name.
class Streams : public ::testing::Test {
 protected:
  Streams() {
    folder_.add("f.graph", "graph @f(%x: f32[2]) { return tanh(%x) }");
    std::string text;
    for (int i = 0; i < 60; ++i) text += "one two three four five\n";
    folder_.add("text", text);
    EXPECT_EQ(bash("graphc train char-lm hidden=2 steps=2 batch=2 --target=reference --max-steps 1 "
                   "--data text --checkpoint c")
                  .code,
              0);
  }

  Ran bash(const std::string& script) const { return run_bash(script, folder_); }

  const TemporaryFolder folder_;
};

/// Each writes something to stdout.
constexpr const char* kVerbs[] = {"graphc --help",
                                  "graphc --version",
                                  "graphc version",
                                  "graphc ops",
                                  "graphc passes",
                                  "graphc models",
                                  "graphc targets",
                                  "graphc man",
                                  "graphc completion bash",
                                  "graphc train --help",
                                  "graphc opt f.graph --remarks",
                                  "graphc dump f.graph",
                                  "graphc dump f.graph --stage=proto",
                                  "graphc check f.graph --target=reference",
                                  "graphc check f.graph --target=reference --gradient",
                                  "graphc run f.graph --target=reference --input x=1",
                                  "graphc run f.graph --input x=1 --output tanh=-",
                                  "graphc generate c --target=reference --length 3",
                                  "graphc-bench --help",
                                  "graphc-bench --man",
                                  "graphc-bench --completion zsh"};

TEST_F(Streams, DataThatCannotBeWrittenIsAnErrorOfTheMachine) {
  for (const std::string verb : kVerbs) {
    const Ran full = bash(verb + " > /dev/full"), closed = bash(verb + " >&-");
    EXPECT_EQ(full.code, 5) << verb << full.err;
    EXPECT_THAT(full.err, HasSubstr("error: stdout: No space left on device")) << verb;
    EXPECT_EQ(closed.code, 5) << verb << closed.err;
    EXPECT_THAT(closed.err, HasSubstr("error: stdout: Bad file descriptor")) << verb;
    testing::count("bad streams", 2);
  }
  EXPECT_EQ(bash(std::string(kTraining) + " --log - > /dev/full").code, 5);
  EXPECT_EQ(bash(std::string(kTraining) + " --log - >&-").code, 5);
}

TEST_F(Streams, MessagesThatCannotBeWrittenChangeNothing) {
  // One that works and a fault of each kind.
  std::vector<std::pair<std::string, int>> commands;
  for (const char* verb : kVerbs) commands.emplace_back(verb, 0);
  commands.emplace_back("graphc tran", 2);
  commands.emplace_back("graphc dump nothing", 2);
  commands.emplace_back("graphc opt missing.graph", 3);
  commands.emplace_back("graphc run f.graph --input x=1 --output tanh=/nowhere/y.npy", 5);
  commands.emplace_back("graphc-bench --nothing", 2);
  commands.emplace_back("graphc-bench missing.graph", 3);
  for (const auto& [command, code] : commands) {
    const std::string wanted = bash(command).out;
    for (const char* stream : {"2> /dev/full", "2>&-", "2> >(true)"}) {
      const Ran ran = bash(fmt::format("{} {}", command, stream));
      EXPECT_EQ(ran.code, code) << command << " " << stream;
      EXPECT_EQ(ran.out, wanted) << command << " " << stream;
      testing::count("bad streams", 1);
    }
  }
}

TEST_F(Streams, TrainingGoesOnAndSavesWithoutItsMessages) {
  const auto bytes = [&](const std::string& name) {
    return read_file(folder_.path() / name / "checkpoint.safetensors");
  };
  int number = 0;
  EXPECT_EQ(bash(fmt::format("{} --checkpoint wanted", kTraining)).code, 0);
  for (const char* stream : {"2> /dev/full", "2>&-", "2> >(true)", "<&- >&- 2>&-"}) {
    const std::string name = fmt::format("folder{}", number++);
    EXPECT_EQ(
        bash(fmt::format("{} --checkpoint {} --log {}.log {}", kTraining, name, name, stream)).code,
        0)
        << stream;
    EXPECT_TRUE(bytes(name) == bytes("wanted")) << stream;
    EXPECT_THAT(read_file(folder_.path() / (name + ".log")), StartsWith("{\"event\"")) << stream;
  }
}

TEST_F(Streams, MeasuringGoesOnWithoutItsMessages) {
  for (const char* stream : {"2> /dev/full", "2>&-"}) {
    const Ran ran =
        bash(fmt::format("graphc-bench f.graph --target=reference --repeat=1 {}", stream));
    EXPECT_EQ(ran.code, 0) << stream;
    EXPECT_THAT(ran.out, HasSubstr("graph=f")) << stream;
  }
}

TEST_F(Streams, NoDataGoesWhereAStreamWasClosed) {
  // The graph that is read would get number 0, the file that is written number 1.
  const Ran ran =
      bash("graphc run f.graph --target=reference --input x=1 --output tanh=y.npy <&- >&- 2>&-");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(read_file(folder_.path() / "y.npy"), StartsWith("\x93NUMPY"));
  EXPECT_EQ(read_file(folder_.path() / "f.graph"), "graph @f(%x: f32[2]) { return tanh(%x) }");
  EXPECT_EQ(bash("graphc opt - <&-").code, 3);
}

TEST_F(Streams, WhatHasNoEndIsRefused) {
  for (const char* command :
       {"graphc opt /dev/zero", "graphc opt - < /dev/zero", "graphc check <(yes '# nothing')",
        "yes '# nothing' | graphc dump -", "graphc-bench /dev/zero"}) {
    const Ran ran = bash(command);
    EXPECT_EQ(ran.code, 3) << command;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("error: cannot read '"),
                               HasSubstr("it has more than 268435456 bytes: wanted at most "
                                         "268435456")))
        << command;
    testing::count("bad inputs", 1);
  }
  for (const char* command : {"graphc run f.graph --target=reference --input x=@/dev/zero",
                              "graphc train char-lm --target=reference --data /dev/zero"}) {
    const Ran ran = bash(command);
    EXPECT_EQ(ran.code, 3) << command;
    EXPECT_THAT(ran.err, HasSubstr("'/dev/zero': it has more than 1073741824 bytes")) << command;
    testing::count("bad inputs", 1);
  }
}

/// What a terminal is sent, both streams as they come, when `arguments` are given to graphc.
std::string on_a_terminal(const std::vector<std::string>& arguments) {
  int screen = -1;
  const pid_t child = forkpty(&screen, nullptr, nullptr, nullptr);
  if (child == 0) {
    std::vector<char*> words{const_cast<char*>("graphc")};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(GRAPHC_TOOL, words.data());
    _exit(127);
  }
  std::string shown;
  char buffer[4096];
  for (ssize_t count; (count = read(screen, buffer, sizeof buffer)) > 0;)
    shown.append(buffer, size_t(count));
  close(screen);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 127);
  return shown;
}

/// Shows that nothing but ends of lines steers the terminal.
void expect_harmless(const std::string& shown) {
  EXPECT_THAT(shown, Not(IsEmpty()));
  for (const char each : shown) {
    const bool ends_line = each == '\n' || each == '\r' || each == '\t';
    EXPECT_TRUE(ends_line || static_cast<unsigned char>(each) >= 0x20) << shown;
  }
  EXPECT_EQ(shown.find("\xC2\x9B"), shown.npos) << shown;
}

TEST_F(Streams, NoTextOfOthersSteersTheTerminal) {
  const std::string escape = "\x1b]0;owned\x07\x1b[2J";
  const auto graph = [&](const std::string& text) { return folder_.add("e.graph", text).string(); };
  expect_harmless(on_a_terminal({"opt", escape}));
  expect_harmless(on_a_terminal({escape}));
  expect_harmless(on_a_terminal({"dump", "lstm-layer", escape + "=1"}));
  expect_harmless(on_a_terminal({"check", "--tolerance=" + escape, "f"}));
  expect_harmless(on_a_terminal(
      {"opt", graph("graph @f(%\"a" + escape + "\": f32[2]) { return %\"a" + escape + "\" }")}));
  expect_harmless(
      on_a_terminal({"opt", graph("graph @f(%x: f32[2]) { return tanh(%\"y" + escape + "\") }")}));
  expect_harmless(on_a_terminal({"opt", graph(escape)}));

  const std::string path = (folder_.path() / "c/checkpoint.safetensors").string();
  Safetensors checkpoint = read_safetensors(path);
  std::string vocabulary = "\xC2\x9B";
  for (char each = 1; each < ' '; ++each) vocabulary += each;
  checkpoint.metadata.at("note.vocabulary") = vocabulary;
  checkpoint.metadata.at("checksum") = checksum(checkpoint, "checksum");
  write_safetensors(path, checkpoint);
  EXPECT_THAT(bash("graphc generate c --target=reference --temperature=9").out, HasSubstr("\x1b"));
  expect_harmless(on_a_terminal({"generate", path, "--target=reference", "--temperature=9"}));
  checkpoint.metadata["model"] = "char-lm " + escape;
  write_safetensors(path, checkpoint);
  expect_harmless(on_a_terminal({"generate", path}));
}

TEST_F(Streams, WhatIsNoTerminalGetsEveryByte) {
  folder_.add("e.graph", "graph @f(%\"a\x1b\": f32[2]) { return %\"a\x1b\" }");
  EXPECT_THAT(bash("graphc opt e.graph").out, HasSubstr("\x1b"));
}

TEST_F(Streams, NamesWithoutEndAreCut) {
  const std::string name(5'000'000, 'x');
  const std::string header =
      fmt::format(R"({{"{}":{{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}}})", name);
  std::string file;
  for (size_t i = 0; i < 8; ++i) file += char(header.size() >> (8 * i) & 0xff);
  folder_.add("long.safetensors", file + header + "12345678");
  folder_.add("long.graph", "graph @f(%x: f32[2]) { return tanh(%" + name + ") }");
  Ran ran = bash("graphc generate long.safetensors");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, MatchesRegex(".*array 'x+\\.\\.\\. \\(5000000 bytes\\)' is f32\\[1\\] of 4 "
                                    "bytes, its data_offsets span 8\n"));
  EXPECT_LT(ran.err.size(), 1000u);
  ran = bash("graphc opt long.graph");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("error: unknown value %xxx"));
  EXPECT_LT(ran.err.size(), 3000u);
}

}  // namespace
}  // namespace graphc::core
