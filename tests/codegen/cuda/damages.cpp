// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/damages.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <regex>

#include "codegen/target.h"
#include "ir/error.h"
#include "tests/runtime/cuda/mock_driver.h"

namespace graphc::core::testing {
namespace {

/// Instructions after which a damaged launch counts as endless.
constexpr uint64_t kMostOfDamaged = 3'000'000;

}  // namespace

int expect_damages_found(const std::vector<cuda::KernelText>& kernels,
                         std::span<const Damage> damages,
                         const std::function<std::vector<Literal>()>& results) {
  const cuda::testing::MockDriver driver;
  const std::vector<Literal> wanted = results();
  int found = 0;
  for (const cuda::KernelText& kernel : kernels) {
    // Were this beyond the limit, all damages would count as found.
    const std::string undamaged = kernel.text + "\n";
    clear_code_caches();
    driver.exchange(kernel.text.c_str(), undamaged.c_str(), kMostOfDamaged);
    EXPECT_EQ(results(), wanted) << kernel.name << ": undamaged, within the limit of instructions";
    for (const Damage& damage : damages) {
      const std::regex place(damage.place);
      const std::sregex_iterator end;
      for (std::sregex_iterator at(kernel.text.begin(), kernel.text.end(), place); at != end;
           ++at) {
        const size_t begin = size_t(at->position());
        const std::string text = kernel.text.substr(0, begin) + at->format(damage.replacement) +
                                 kernel.text.substr(begin + size_t(at->length()));
        SCOPED_TRACE(fmt::format("{}: {} -> {}", kernel.name, at->str(), damage.replacement));
        clear_code_caches();
        driver.exchange(kernel.text.c_str(), text.c_str(), kMostOfDamaged);
        bool is_found = false;
        try {
          is_found = results() != wanted;
        } catch (const Error&) {
          is_found = true;
        }
        EXPECT_TRUE(is_found);
        found += is_found ? 1 : 0;
      }
    }
  }
  driver.exchange(nullptr, nullptr, 0);
  clear_code_caches();
  std::printf("%d damages found\n", found);
  return found;
}

}  // namespace graphc::core::testing
