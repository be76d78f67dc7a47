// SPDX-License-Identifier: Apache-2.0
// The command line described from its own records: help, completion, manual pages, complaints.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/files/files.h"
#include "tests/testing/transcript.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lines_of;
using ::testing::Not;
using testing::Ran;
using ::testing::StartsWith;
using testing::TemporaryFolder;

Ran bash(const std::string& script) { return testing::run_bash(script, TemporaryFolder()); }

/// The words that bash offers for the last of the words of a line; an `=` is a word of its own.
std::vector<std::string> completed(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += fmt::format(" '{}'", word);
  const bool bench = words[0] == "graphc-bench";
  const Ran ran =
      bash(fmt::format("set -e\nsource <({})\nCOMP_WORDS=({}) COMP_CWORD={}\nset +e\n_{}\n"
                       "((${{#COMPREPLY[@]}})) && printf '%s\\n' \"${{COMPREPLY[@]}}\"\ntrue",
                       bench ? "graphc-bench --completion bash" : "graphc completion bash", line,
                       words.size() - 1, bench ? "graphc_bench" : "graphc"));
  EXPECT_EQ(ran.code, 0) << line;
  EXPECT_THAT(ran.err, IsEmpty()) << line;
  return lines_of(ran.out);
}

/// Verbs as the help lists them.
std::vector<std::string> verbs() { return completed({"graphc", ""}); }

TEST(CommandLine, HelpBeginsWithAnExample) {
  EXPECT_THAT(bash("graphc --help").out, StartsWith("$ graphc "));
  EXPECT_THAT(bash("graphc-bench --help").out, StartsWith("$ graphc-bench "));
  ASSERT_GE(verbs().size(), 12u);
  for (const std::string& verb : verbs()) {
    const Ran ran = bash(fmt::format("graphc {} --help", verb));
    EXPECT_EQ(ran.code, 0);
    const std::string example = lines_of(ran.out)[0];
    EXPECT_THAT(example, HasSubstr(fmt::format("graphc {}", verb))) << ran.out;
    EXPECT_THAT(example, StartsWith("$ ")) << verb;
  }
}

TEST(CommandLine, TheVersionIsAVerbAndAnOption) {
  const Ran option = bash("graphc --version");
  EXPECT_EQ(option.code, 0);
  EXPECT_THAT(option.out, StartsWith("graphc 0."));
  EXPECT_EQ(option.out, bash("graphc version").out);
}

TEST(CommandLine, WrongWordsAreNamedWithTheNearestRightOne) {
  const auto error = [](const std::string& command) {
    const Ran ran = bash(command);
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_THAT(ran.out, IsEmpty()) << command;
    return lines_of(ran.err).at(0);
  };
  EXPECT_EQ(error("graphc tran"), "error: there is no verb 'tran'; did you mean 'train'?");
  EXPECT_EQ(error("graphc quux"), "error: there is no verb 'quux'");
  EXPECT_THAT(error("graphc"), StartsWith("error: wanted a verb: check, "));
  EXPECT_EQ(error("graphc train lstm-layer --max-step 3"),
            "error: graphc train: there is no option '--max-step'; did you mean '--max-steps'?");
  EXPECT_EQ(error("graphc opt --pases=cse"),
            "error: graphc opt: there is no option '--pases'; did you mean '--passes'?");
  EXPECT_EQ(error("graphc-bench lstm-layer --varant=fused"),
            "error: graphc-bench: there is no option '--varant'; did you mean '--variant'?");
  EXPECT_EQ(error("graphc man dmup"), "error: there is no verb 'dmup'; did you mean 'dump'?");
  EXPECT_EQ(error("graphc completion fish"),
            "error: completion: shells are bash and zsh: found 'fish'");
  EXPECT_THAT(error("graphc train"), StartsWith("error: graphc train: MODEL is required"));
  EXPECT_THAT(error("echo | graphc opt - --passes=hosit"), HasSubstr("did you mean 'hoist'?"));
  EXPECT_THAT(error("graphc train lstm-layr"), HasSubstr("did you mean 'lstm-layer'?"));
  EXPECT_THAT(error("graphc dump lstm-layr"), HasSubstr("did you mean 'lstm-layer'?"));
  EXPECT_THAT(error("graphc-bench lstm-layr"), HasSubstr("did you mean 'lstm-layer'?"));
  EXPECT_THAT(error("graphc dump lstm-layer --target=cpo"), HasSubstr("did you mean 'cpu'?"));
  EXPECT_THAT(error("graphc dump lstm-layer --stage=kernel"), HasSubstr("did you mean 'kernels'?"));
  EXPECT_THAT(error("graphc dump lstm-layer --variant=fuse"), HasSubstr("did you mean 'fused'?"));
}

TEST(CommandLine, BashCompletesWhatTheCommandLineHas) {
  EXPECT_THAT(completed({"graphc", "tr"}), ElementsAre("train"));
  EXPECT_THAT(completed({"graphc", "dump", "lstm"}), Contains("lstm-layer"));
  EXPECT_THAT(completed({"graphc", "dump", "--print"}), ElementsAre("--print-after"));
  EXPECT_THAT(completed({"graphc", "dump", "x", "--target", "re"}), ElementsAre("reference"));
  EXPECT_THAT(completed({"graphc", "dump", "x", "--target", "=", "re"}), ElementsAre("reference"));
  EXPECT_THAT(completed({"graphc", "dump", "x", "--stage", "="}), Contains("kernels"));
  EXPECT_THAT(completed({"graphc", "opt", "x", "--passes", "=", "simplify,ho"}),
              ElementsAre("simplify,hoist"));
  EXPECT_THAT(completed({"graphc", "train", "lstm-layer", "hid"}), ElementsAre("hidden="));
  EXPECT_THAT(completed({"graphc", "train", "ptb-lm", "cel"}), IsEmpty());
  EXPECT_THAT(completed({"graphc", "man", "ver"}), ElementsAre("version"));
  EXPECT_THAT(completed({"graphc", "opt", "x"}), IsEmpty());
  EXPECT_THAT(completed({"graphc-bench", "--rep"}), ElementsAre("--repeat"));
  EXPECT_THAT(completed({"graphc-bench", "ptb"}), ElementsAre("ptb-lm"));
  EXPECT_THAT(completed({"graphc-bench", "--variant", "=", "basic,fu"}),
              ElementsAre("basic,fused"));
}

TEST(CommandLine, EveryOptionInTheHelpIsCompleted) {
  for (const std::string& verb : verbs()) {
    const std::vector<std::string> words = completed({"graphc", verb, "--"});
    int options = 0;
    for (const std::string& line : lines_of(bash(fmt::format("graphc {} --help", verb)).out)) {
      const size_t at = line.find("--");
      if (!line.starts_with("  ") || at == line.npos || at > 5) continue;
      const std::string option = line.substr(at, line.find_first_of(" ,", at) - at);
      EXPECT_THAT(words, Contains(option)) << verb;
      ++options;
    }
    EXPECT_GE(options, 1) << verb;
    EXPECT_EQ(int(words.size()), options) << verb;
  }
}

TEST(CommandLine, ManualPagesHaveEverything) {
  const TemporaryFolder folder;
  const Ran ran = testing::run_bash(
      "graphc man --write . && graphc-bench --man > graphc-bench.1 && ls *.1", folder);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(lines_of(ran.out).size(), verbs().size() + 2);
  for (const std::string& name : lines_of(ran.out)) {
    const std::string page = read_file(folder.path() / name);
    EXPECT_THAT(page, StartsWith(".TH GRAPHC")) << name;
    for (const char* section : {"NAME", "SYNOPSIS", "EXAMPLE", "OPTIONS", "EXIT STATUS"})
      EXPECT_THAT(page, HasSubstr(fmt::format("\n.SH {}\n", section))) << name;
    for (const std::string& line : lines_of(page)) {
      // Every request is one we mean: text never begins with a point.
      if (line.starts_with(".") && !line.starts_with(".TH ") && !line.starts_with(".SH ")) {
        EXPECT_THAT((std::vector<std::string>{".TP", ".nf", ".fi"}), Contains(line)) << name;
      }
      EXPECT_FALSE(line.empty()) << name << ": an empty line is a space in roff";
    }
  }
  const std::string dump = bash("graphc man dump").out;
  EXPECT_EQ(dump, read_file(folder.path() / "graphc-dump.1"));
  EXPECT_THAT(dump, HasSubstr("\\-\\-print\\-after"));
  EXPECT_THAT(dump, Not(HasSubstr("--print-after")));
}

TEST(CommandLine, GroffSetsTheManualPages) {
  ASSERT_EQ(bash("command -v groff").code, 0) << "tools/build installs groff-base";
  for (const char* page : {"graphc man", "graphc man dump", "graphc-bench --man"}) {
    const Ran ran = bash(fmt::format("set -o pipefail; {} | groff -man -Tascii -ww -P-cbou", page));
    EXPECT_EQ(ran.code, 0) << page;
    EXPECT_THAT(ran.err, IsEmpty()) << page;
    EXPECT_THAT(ran.out, HasSubstr("SYNOPSIS")) << page;
  }
}

}  // namespace
}  // namespace graphc::core
