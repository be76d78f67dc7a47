// SPDX-License-Identifier: Apache-2.0
// Damaged input for every parser, the same in every run: each fuzz target over the files of its
// corpus, all their truncations, flips of single bits, and random changes. Input must be read or
// refused by a clear error, in little time and memory. GRAPHC_FUZZ says how many random changes.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "ir/error.h"
#include "runtime/clock.h"
#include "runtime/files/files.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"
#include "tests/testing/source_tree.h"

extern "C" {
int fuzz_characters(const uint8_t* data, size_t size);
int fuzz_checkpoint(const uint8_t* data, size_t size);
int fuzz_einsum(const uint8_t* data, size_t size);
int fuzz_graph_json(const uint8_t* data, size_t size);
int fuzz_graph_pbtxt(const uint8_t* data, size_t size);
int fuzz_graph_proto(const uint8_t* data, size_t size);
int fuzz_graph_text(const uint8_t* data, size_t size);
int fuzz_npy(const uint8_t* data, size_t size);
int fuzz_options(const uint8_t* data, size_t size);
int fuzz_safetensors(const uint8_t* data, size_t size);
int fuzz_words(const uint8_t* data, size_t size);
}

namespace graphc::core {
namespace {

struct FuzzTarget {
  std::string name;  ///< of its file, and of the folder of its corpus
  int (*run)(const uint8_t* data, size_t size);
};

void PrintTo(const FuzzTarget& target, std::ostream* out) { *out << target.name; }

const FuzzTarget kTargets[] = {
    {"characters", fuzz_characters},
    {"checkpoint", fuzz_checkpoint},
    {"einsum", fuzz_einsum},
    {"graph_json", fuzz_graph_json},
    {"graph_pbtxt", fuzz_graph_pbtxt},
    {"graph_proto", fuzz_graph_proto},
    {"graph_text", fuzz_graph_text},
    {"npy", fuzz_npy},
    {"options", fuzz_options},
    {"safetensors", fuzz_safetensors},
    {"words", fuzz_words},
};

std::vector<std::string> corpus_of(const std::string& name) {
  std::vector<std::filesystem::path> paths;
  const auto folder = testing::source_path(fmt::format("tests/fuzz/corpus/{}", name));
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> files;
  for (const auto& path : paths) files.push_back(read_file(path));
  return files;
}

/// Input as text, for a message: what is no letter of ASCII by its code.
std::string shown(std::string_view input) {
  std::string text;
  for (const char c : input.substr(0, 2000))
    text += c >= ' ' && c <= '~' && c != '\\' ? std::string(1, c)
                                              : fmt::format("\\x{:02x}", uint8_t(c));
  return text;
}

/// Runs a target on a copy in a block of exactly its length, so that a sanitizer sees the first
/// byte read beyond the end. False when that was a failure.
bool execute(const FuzzTarget& target, std::string_view input) {
  const auto block = std::make_unique<uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), block.get());
  const double begun = steady_seconds();
  std::string fault;
  try {
    target.run(block.get(), input.size());
  } catch (const std::exception& error) {
    fault = error.what();
  }
  const double seconds = steady_seconds() - begun;
  if (seconds > 10) fault = fmt::format("it took {} s", seconds);
  if (fault.empty()) return true;
  ADD_FAILURE() << fault << "\nfor the input:\n" << shown(input);
  return false;
}

int64_t peak_bytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

class Fuzz : public ::testing::TestWithParam<FuzzTarget> {
 protected:
  void TearDown() override {
    // Inputs have a few hundred bytes each; sanitizers keep freed memory a while.
    EXPECT_LT(peak_bytes(), int64_t{2} << 30) << "memory was asked for that no file has";
  }
};

TEST_P(Fuzz, EveryTruncationIsReadOrRefused) {
  int64_t tried = 0;
  for (const std::string& file : corpus_of(GetParam().name)) {
    ASSERT_GT(file.size(), 8u);
    for (size_t length = 0; length <= file.size(); ++length, ++tried)
      ASSERT_TRUE(execute(GetParam(), std::string_view(file).substr(0, length)));
  }
  ASSERT_GT(tried, 100);
  testing::count("bad inputs", tried);
}

TEST_P(Fuzz, FlippedBitsAreReadOrRefused) {
  const int flips = testing::whole_samples() ? 10'000 : 2'000;
  std::mt19937 random(1);
  for (const std::string& file : corpus_of(GetParam().name)) {
    for (int i = 0; i < flips; ++i) {
      std::string damaged = file;
      damaged[random() % damaged.size()] ^= char(1 << random() % 8);
      ASSERT_TRUE(execute(GetParam(), damaged));
    }
    testing::count("bad inputs", flips);
  }
}

/// Changes input as fuzzers do: pieces of it and of others moved, repeated, cut, numbers and bytes
/// replaced.
class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, unsigned seed)
      : corpus_(std::move(corpus)), random_(seed) {}

  std::string next() {
    std::string text = pick(corpus_);
    for (int changes = 1 + int(random_() % 4); changes > 0; --changes) change(text);
    return text;
  }

 private:
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }

  std::string piece(const std::string& of) {
    const size_t begin = of.empty() ? 0 : random_() % of.size();
    return of.substr(begin, 1 + random_() % 24);
  }

  void change(std::string& text) {
    static const std::vector<std::string> odd{"0",
                                              "-1",
                                              "9223372036854775807",
                                              "-9223372036854775808",
                                              "4294967296",
                                              "1e308",
                                              "nan",
                                              "[",
                                              "]",
                                              "{",
                                              "}",
                                              "\"",
                                              "%",
                                              "@",
                                              ",",
                                              ":",
                                              "=",
                                              "\n",
                                              "\xff\xff\xff\xff\xff\x7f",
                                              std::string(4, '\0'),
                                              std::string(64, '['),
                                              std::string(64, '{'),
                                              "\xc3\x28"};
    const size_t at = random_() % (text.size() + 1);
    switch (random_() % 6) {
      case 0:
        text.insert(at, piece(pick(corpus_)));
        break;
      case 1:
        text.insert(at, pick(odd));
        break;
      case 2:
        text.erase(at, random_() % 16);
        break;
      case 3:
        text.replace(at, random_() % 8, pick(odd));
        break;
      case 4:
        text.replace(at, random_() % 24, piece(text));
        break;
      default:
        if (at < text.size()) text[at] = char(random_());
    }
  }

  std::vector<std::string> corpus_;
  std::mt19937 random_;
};

TEST_P(Fuzz, RandomChangesAreReadOrRefused) {
  const char* const number = std::getenv("GRAPHC_FUZZ");
  const int64_t otherwise = testing::whole_samples() ? 10'000 : 2'000;
  const int64_t runs = number == nullptr ? otherwise : std::strtoll(number, nullptr, 10);
  Mutator mutator(corpus_of(GetParam().name), 7);
  for (int64_t i = 0; i < runs; ++i) ASSERT_TRUE(execute(GetParam(), mutator.next()));
  testing::count("fuzz executions", runs);
}

INSTANTIATE_TEST_SUITE_P(All, Fuzz, ::testing::ValuesIn(kTargets),
                         [](const ::testing::TestParamInfo<FuzzTarget>& of) {
                           return of.param.name;
                         });

}  // namespace
}  // namespace graphc::core
