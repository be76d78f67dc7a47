// SPDX-License-Identifier: Apache-2.0
// Options of every verb: none takes the next one for its value, none writes over what another reads
// or writes, none is without effect in silence.
#include <gmock/gmock.h>

#include <set>

#include "runtime/files/files.h"
#include "tests/testing/samples.h"
#include "tests/testing/temporary_folder.h"
#include "tests/testing/transcript.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::lines_of;
using graphc::core::testing::Ran;
using graphc::core::testing::run_bash;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// "graphc train", and each other verb, and "graphc-bench".
std::vector<std::string> commands_of_tools() {
  const TemporaryFolder folder;
  std::vector<std::string> commands{"graphc-bench"};
  bool verbs = false;
  for (const std::string& line : lines_of(run_bash("graphc --help", folder).out)) {
    if (verbs && line.starts_with("  ") && line.size() > 2 && line[2] != ' ')
      commands.push_back("graphc " + line.substr(2, line.find(' ', 2) - 2));
    verbs |= line.find("ubcommands") != std::string::npos ||
             line.find("SUBCOMMANDS") != std::string::npos;
  }
  return commands;
}

/// The options that take a value, as the help of the command has them.
std::vector<std::string> options_with_values(const std::string& command) {
  const TemporaryFolder folder;
  std::vector<std::string> options;
  for (const std::string& line : lines_of(run_bash(command + " --help", folder).out)) {
    const size_t at = line.find("--");
    if (!line.starts_with("  ") || at == line.npos || at > 5) continue;
    const size_t end = std::min(line.find(' ', at), line.size());
    // A type stands right behind the name of what takes a value.
    const std::string rest = line.substr(std::min(end + 1, line.size()));
    if (!rest.empty() && rest[0] != ' ' && !rest.starts_with("Excludes:"))
      options.push_back(line.substr(at, end - at));
  }
  return options;
}

TEST(Options, NoneTakesTheNextOneForItsValue) {
  const TemporaryFolder folder;
  const std::vector<std::string> commands = commands_of_tools();
  ASSERT_GE(commands.size(), 13u);
  int options = 0;
  std::set<std::string> seen;
  size_t again = 0;
  for (const std::string& command : commands) {
    std::vector<std::string> with_values = options_with_values(command);
    // Every option of some command, and a third of those that others have too.
    std::erase_if(with_values, [&](const std::string& option) {
      return !seen.insert(option).second && !testing::is_sampled(again++, 7);
    });
    // A hundred and more refusals: to look for leaks in each takes a quarter of their time.
    std::string script = "export ASAN_OPTIONS=detect_leaks=0:$ASAN_OPTIONS\n";
    for (const std::string& option : with_values) {
      script += fmt::format("{0} {1}= --quiet x 2>&1; echo $?; {0} {1} --some=3 2>&1; echo $?\n",
                            command, option);
    }
    const std::vector<std::string> lines = lines_of(run_bash(script, folder).out);
    size_t at = 0;
    for (const std::string& option : with_values) {
      ++options;
      ASSERT_LT(at + 3, lines.size()) << command << option;
      if (option.find("prompt") == std::string::npos) {
        EXPECT_EQ(lines[at], fmt::format("error: {0}: {1}=: wanted a value: found nothing behind "
                                         "the '='",
                                         command, option));
        EXPECT_EQ(lines[at + 1], "2");
        at += 2;
      } else {
        while (lines[at].size() > 1) ++at;
        EXPECT_NE(lines[at++], "0");
      }
      EXPECT_EQ(lines[at], fmt::format("error: {0}: {1}: wanted a value: found '--some=3'; a value "
                                       "that begins so is written {1}=--some=3",
                                       command, option));
      EXPECT_EQ(lines[at + 1], "2");
      at += 2;
    }
  }
  EXPECT_GE(options, 40);
}

class Files : public ::testing::Test {
 protected:
  Files() {
    folder_.add("data.csv", "load\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n");
    folder_.add("texts/a.txt", "one two three\n");
    folder_.add("step.graph", "graph @f(%x: f32[2], %w: f32[2]) { %y = add %x, %w return %y, %x }");
    run_bash("ln -s data.csv link.csv; ln -s nothing dangling; mkdir sub; ln -s ../texts sub/t",
             folder_);
  }
  Ran bash(const std::string& script) const { return run_bash(script, folder_); }
  void refuses(const std::string& command, const std::string& says, int code = 2) const {
    const std::string before = bash("cat data.csv texts/a.txt step.graph; ls -R").out;
    const Ran ran = bash(command);
    EXPECT_EQ(ran.code, code) << command << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(says)) << command;
    EXPECT_EQ(bash("cat data.csv texts/a.txt step.graph; ls -R").out, before) << command;
  }

  const TemporaryFolder folder_;
};

TEST_F(Files, AreNotWrittenTwiceOrOverWhatIsRead) {
  const std::string forecast =
      "graphc train forecast target=load steps=2 batch=2 hidden=2 --target=reference "
      "--max-steps 1 --data data.csv ";
  const std::vector<std::string> outputs{"--log", "--plot", "--trace"};
  for (const std::string& output : outputs) {
    for (const char* path : {"data.csv", "./data.csv", "link.csv", "sub/../data.csv"}) {
      refuses(fmt::format("{} {} {}", forecast, output, path),
              fmt::format("{} would write over what --data reads: '{}'", output, path));
    }
    refuses(fmt::format("{} {} step.graph --init ./step.graph", forecast, output),
            fmt::format("{} would write over what --init reads: 'step.graph'", output));
    for (const std::string& other : outputs) {
      if (output == other) continue;
      for (const auto& [a, b] : {std::pair{"new", "sub/../new"}, {"dangling", "nothing"}})
        refuses(fmt::format("{} {} {} {} {}", forecast, output, a, other, b),
                " are the same file: '");
    }
    refuses(forecast + output + " c/checkpoint.safetensors --checkpoint c",
            " are the same file: '");
    for (const char* model : {"char-lm", "word-lm"}) {
      refuses(fmt::format("graphc train {} --data texts --max-steps 1 {} sub/t/log", model, output),
              "' lies in the folder 'texts', of which --data reads every file");
    }
  }
  refuses("graphc train char-lm --data texts --max-steps 1 --checkpoint texts/c",
          "--checkpoint 'texts/c/");
  const std::string run = "graphc run step.graph --target=reference --input w=1 ";
  refuses(run + "--input x=2 --output y=y.npy --output x=./y.npy",
          "--output y and --output x are the same file: 'y.npy'");
  refuses(run + "--input x=@data.csv --output y=link.csv",
          "--output y would write over what --input x reads: 'link.csv'");
  refuses(run + "--input x=2 --output y=step.graph", "would write over what FILE reads");
  refuses("graphc-bench step.graph --target=reference --json ./step.graph",
          "--json would write over what FILE reads");
  EXPECT_EQ(bash(run + "--input x=2 --output y=- --output x=- > both").code, 0);
  EXPECT_EQ(bash(run + "--input x=2 --output y=/dev/null --output x=/dev/null").code, 5);
}

TEST_F(Files, AreReadByOptionsThatHaveAnEffect) {
  bash("printf 'x' > x.npy");
  const std::string text = "reads a text and no table", nothing = "reads no text and no table";
  for (const auto& [command, options, says] :
       {std::tuple{"train lstm-layer", "en de na", nothing},
        {"train rnn-variants", "en de na", nothing},
        {"train char-lstm", "en de na", nothing},
        {"train char-lstm corpus=nietzsche", "de na", text},
        {"train char-lm --data texts", "de na", text},
        {"train word-lm --data texts", "de na", text},
        {"train ptb-lm --data texts", "de na", text},
        {"train wikitext2-lm --data texts", "de na", text},
        {"train forecast --data x.npy", "en de na", "'x.npy' is an array"},
        {"run step.graph --input x=1 --input w=1", "en de na", nothing}}) {
    for (const auto& [name, option] :
         {std::pair{"en", "--encoding=foo"}, {"de", "--decimal=,"}, {"na", "--names=no"}}) {
      if (std::string(options).find(name) == std::string::npos) continue;
      refuses(fmt::format("graphc {} {}", command, option), "has no effect: '");
      EXPECT_THAT(bash(fmt::format("graphc {} {}", command, option)).err, HasSubstr(says));
    }
  }
  bash(
      "graphc train lstm-layer hidden=2 steps=2 batch=2 --max-steps 1 --target=reference "
      "--checkpoint c");
  refuses("graphc export c m.graphc --extent batch=3 --extent batch=4",
          "--extent: 'batch' is given twice");
  refuses("graphc export c/checkpoint.safetensors m.graphc --last",
          "--last has no effect: 'c/checkpoint.safetensors' is a file");
  refuses("graphc train forecast target=load embedding=3 --data data.csv",
          "forecast: embedding=3: no column is a category: wanted columns=NAME:category");
  refuses("graphc train forecast target=load categories=3 --data data.csv",
          "forecast: categories=3: no column is a category");
}

TEST_F(Files, HaveEachColumnOnce) {
  folder_.add("two.csv", "a,b\n1,2\n2,9\n3,1\n4,4\n5,0\n6,3\n7,5\n8,2\n9,2\n1,2\n1,4\n1,2\n1,1\n");
  const std::string forecast =
      "graphc train forecast steps=2 batch=2 hidden=2 --target=reference --max-steps 1 "
      "--data two.csv ";
  for (const auto& [parameters, says] :
       {std::pair{"target=a,a", "forecast: target=a,a: column 'a' is named twice"},
        {"target=a columns=b,b", "forecast: columns=b,b: column 'b' is named twice"},
        {"target=a columns=b,b:category", "column 'b' is named twice"},
        {"target=a columns=b,a:category", "'a:category' is a target too, which is a number"}})
    refuses(forecast + parameters, says);
  // Which column a number is, the file says.
  for (const auto& [parameters, says] :
       {std::pair{"target=a,1", "two.csv: 'a' and '1' are the same column"},
        {"target=a columns=b,2", "'b' and '2' are the same column"},
        {"target=1 columns=a", "'a' and '1' are the same column"},
        {"target=a,b columns=1,b", "are the same column"}})
    refuses(forecast + parameters, says, 3);
  EXPECT_EQ(bash(forecast + "target=a,b columns=b,a --log log").code, 0);
}

}  // namespace
}  // namespace graphc::core
