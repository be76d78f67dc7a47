// SPDX-License-Identifier: Apache-2.0
// The programs as they are linked: at random addresses, with read-only tables and no executable
// stack; and what is compiled, with the checks of the compiler and the C library. Reads ELF itself.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/files/files.h"

namespace graphc::core {
namespace {

/// A 64-bit ELF program of this machine's byte order.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : bytes_(read_file(path)) {
    header_ = at<Elf64_Ehdr>(0);
    EXPECT_EQ(std::memcmp(header_.e_ident, ELFMAG, SELFMAG), 0) << path;
    EXPECT_EQ(header_.e_ident[EI_CLASS], ELFCLASS64) << path;
    for (int i = 0; i < header_.e_phnum; ++i)
      segments_.push_back(at<Elf64_Phdr>(header_.e_phoff + uint64_t(i) * header_.e_phentsize));
    const Elf64_Phdr* dynamic = segment(PT_DYNAMIC);
    if (dynamic == nullptr) return;
    for (uint64_t i = 0; i < dynamic->p_filesz; i += sizeof(Elf64_Dyn))
      dynamic_.push_back(at<Elf64_Dyn>(dynamic->p_offset + i));
  }

  Elf64_Half type() const { return header_.e_type; }

  /// The first segment of the type, or null.
  const Elf64_Phdr* segment(Elf64_Word type) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == type) return &segment;
    }
    return nullptr;
  }

  /// The value of an entry of the dynamic section; 0 where there is none.
  uint64_t dynamic(Elf64_Sxword tag) const {
    for (const Elf64_Dyn& entry : dynamic_) {
      if (entry.d_tag == tag) return entry.d_un.d_val;
    }
    return 0;
  }

 private:
  template <typename Record>
  Record at(uint64_t offset) const {
    Record record{};
    EXPECT_LE(offset + sizeof record, bytes_.size());
    if (offset + sizeof record <= bytes_.size())
      std::memcpy(&record, bytes_.data() + offset, sizeof record);
    return record;
  }

  std::string bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
};

class HardenedProgram : public ::testing::TestWithParam<const char*> {
 protected:
  const ElfFile program_{GetParam()};
};

TEST_P(HardenedProgram, LiesAtRandomAddresses) {
  EXPECT_EQ(program_.type(), ET_DYN);
  EXPECT_NE(program_.segment(PT_INTERP), nullptr);
  EXPECT_NE(program_.dynamic(DT_FLAGS_1) & DF_1_PIE, 0u);
}

TEST_P(HardenedProgram, FindsItsFunctionsAtTheStartAndThenLocksTheTable) {
  EXPECT_NE(program_.segment(PT_GNU_RELRO), nullptr);
  EXPECT_TRUE((program_.dynamic(DT_FLAGS) & DF_BIND_NOW) != 0 ||
              (program_.dynamic(DT_FLAGS_1) & DF_1_NOW) != 0);
}

TEST_P(HardenedProgram, ExecutesNothingOnTheStack) {
  const Elf64_Phdr* stack = program_.segment(PT_GNU_STACK);
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->p_flags & PF_X, 0u);
}

INSTANTIATE_TEST_SUITE_P(Programs, HardenedProgram, ::testing::Values(GRAPHC_TOOL, GRAPHC_BENCH),
                         [](const auto& program) {
                           return program.index == 0 ? "graphc" : "graphc_bench";
                         });

// The programs have the checks of the static libraries of others too: what is looked at is ours.
TEST(Hardening, EveryLibraryNoticesAFrameThatWasWrittenPast) {
  const std::string archives = GRAPHC_ARCHIVES;
  int looked_at = 0;
  for (size_t start = 0; start < archives.size(); ++looked_at) {
    const size_t end = std::min(archives.find(':', start), archives.size());
    const std::string archive = archives.substr(start, end - start);
    EXPECT_NE(read_file(archive).find("__stack_chk_fail"), std::string::npos) << archive;
    start = end + 1;
  }
  EXPECT_EQ(looked_at, 6);
}

#ifdef GRAPHC_WANTS_FORTIFY
TEST(HardeningDeathTest, ACallOfTheCLibraryThatWouldWritePastAnObjectEndsTheProcess) {
  EXPECT_DEATH(
      {
        char small[8];
        const volatile size_t size = 9;
        std::memset(small, 'x', size);
        [[maybe_unused]] const volatile char used = small[3];
      },
      "buffer overflow detected");
}
#endif

}  // namespace
}  // namespace graphc::core
