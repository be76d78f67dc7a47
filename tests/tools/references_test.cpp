// SPDX-License-Identifier: Apache-2.0
// The references without PyTorch: they have the parameters of graphc's models, and what compares
// the first losses says which differ.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "models/registry.h"
#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;
using Parameters = std::map<std::string, std::string>;

/// Python with the modules of tools/references.
Ran references_python(const std::string& script) {
  const TemporaryFolder folder;
  folder.add("script.py", script);
  return run_bash(fmt::format("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='{}' python3 script.py",
                              source_path("tools/references")),
                  folder);
}

Ran first_losses(const std::string& arguments) {
  const TemporaryFolder folder;
  return run_bash(
      fmt::format("PYTHONDONTWRITEBYTECODE=1 GRAPHC_DATA=nowhere python3 '{}' --programs=. {}",
                  source_path("tools/references/first_losses.py"), arguments),
      folder);
}

Parameters parameters_of(const char* model, const std::string& choice) {
  std::string full;
  make_program(model, {choice}, &full);
  std::istringstream words(full.substr(full.find(' ')));
  Parameters found;
  for (std::string word; words >> word;)
    found.emplace(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  return found;
}

/// What Python has under graphc's names is what graphc has.
void expect_equal(const nlohmann::json& references, const Parameters& ours) {
  for (const auto& [name, value] : ours) {
    if (!references.contains(name)) continue;
    const nlohmann::json& reference = references[name];
    if (reference.is_number()) {
      EXPECT_EQ(reference.get<double>(), std::stod(value)) << name;
    } else {
      EXPECT_EQ(value, reference.is_null()      ? "none"
                       : reference.is_boolean() ? (reference.get<bool>() ? "true" : "false")
                                                : reference.get<std::string>())
          << name;
    }
  }
}

TEST(References, HaveTheParametersOfTheModels) {
  const Ran ran = references_python(
      "import json\n"
      "from workloads import SIZES, wikitext2\n"
      "print(json.dumps({name: size._asdict() for name, size in SIZES.items()}))\n"
      "print(json.dumps({c: wikitext2({'config': c}) for c in ('kawakami', 'pytorch')}))\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const size_t line = ran.out.find('\n');
  const auto sizes = nlohmann::json::parse(ran.out.substr(0, line));
  const auto configs = nlohmann::json::parse(ran.out.substr(line));
  EXPECT_EQ(sizes.size(), 4u);
  for (const auto& [name, reference] : sizes.items()) {
    SCOPED_TRACE(name);
    expect_equal(reference, parameters_of("ptb-lm", "size=" + name));
  }
  for (const auto& [name, reference] : configs.items()) {
    SCOPED_TRACE(name);
    const Parameters ours = parameters_of("wikitext2-lm", "config=" + name);
    EXPECT_EQ(reference.size(), ours.size());
    expect_equal(reference, ours);
  }
}

TEST(References, SayHowFarLossesAreApart) {
  const Ran ran = references_python(
      "from first_losses import verdict\n"
      "for ours in ([4, 2, 1], [4, 2.5, 1], [4, float('nan'), 1]):\n"
      "    print(*verdict(ours, [4, 2, 1], 0.25 if ours[1] == 2 else 0.2))\n");
  EXPECT_EQ(ran.out,
            "3 losses agree to 0.00e+00 (step 1), limit 2e-01 True\n"
            "3 losses agree to 2.50e-01 (step 2), limit 2e-01: FAILED False\n"
            "one of the losses of step 2 is no number: FAILED False\n")
      << ran.err;
}

TEST(References, RefuseWhatCannotBeCompared) {
  const std::pair<const char*, const char*> wrong[] = {
      {"ptb-lm size=medium", "ptb-lm: wanted keep=1, without dropout"},
      {"wikitext2-lm config=pytorch", "wikitext2-lm: wanted keep=1, without dropout"},
      {"ptb-lm size=tiny", "size is one of test, small, medium, large: found 'tiny'"},
      {"ptb-lm hidden=3", "the reference of ptb-lm has no 'hidden'"},
      {"ptb-lm keep", "wanted NAME=VALUE: found 'keep'"},
      {"ptb-lm --steps=0", "--steps: wanted a number above 0: found 0"},
      {"--data=x", "--data wants a model"},
  };
  for (const auto& [arguments, message] : wrong) {
    const Ran ran = first_losses(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(message)) << arguments;
  }
  const Ran ran = first_losses("ptb-lm");
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("no graphc in ."));
}

}  // namespace
}  // namespace graphc::core::testing
