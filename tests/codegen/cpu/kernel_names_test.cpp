// SPDX-License-Identifier: Apache-2.0
// What gdb reads: the list of object files that this process keeps for it, and their symbols.
#include "codegen/targets/cpu/jit/kernel_names.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/targets/cpu/jit/jit.h"
#include "codegen/targets/cpu/math/vector_math.h"

namespace {

// As the manual of gdb has them, "JIT Compilation Interface".
struct Entry {
  Entry *next, *before;
  const char* object;
  uint64_t size;
};

struct Descriptor {
  uint32_t version, action;
  Entry *relevant, *first;
};

}  // namespace

extern "C" Descriptor __jit_debug_descriptor;

namespace graphc::core::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Functions = std::vector<std::pair<std::string, const void*>>;

template <typename T>
T at(const Entry& entry, uint64_t offset) {
  EXPECT_LE(offset + sizeof(T), entry.size);
  T value;
  std::memcpy(&value, entry.object + offset, sizeof(T));
  return value;
}

/// The functions of an object file, and where its sections say that they lie.
Functions functions_of(const Entry& entry) {
  const auto header = at<Elf64_Ehdr>(entry, 0);
  EXPECT_EQ(std::string_view(entry.object, 4), "\177ELF");
  const auto section = [&](uint64_t index) {
    return at<Elf64_Shdr>(entry, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  Functions found;
  for (int i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(uint64_t(i));
    if (table.sh_type != SHT_SYMTAB) continue;
    const char* names = entry.object + section(table.sh_link).sh_offset;
    for (uint64_t offset = 0; offset < table.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(entry, table.sh_offset + offset);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const uint64_t address = section(symbol.st_shndx).sh_addr + symbol.st_value;
      found.emplace_back(names + symbol.st_name, reinterpret_cast<const void*>(address));
    }
  }
  return found;
}

/// The functions that gdb is told of.
Functions told() {
  Functions all;
  for (const Entry* entry = __jit_debug_descriptor.first; entry != nullptr; entry = entry->next) {
    const Functions some = functions_of(*entry);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

ObjectCode roots(Jit& jit) {
  return jit.compile(emit_math_loop(jit.cpu(), MathFunction::sqrt, jit.cpu().vector_lanes_f32));
}

class KernelNamesCpu : public ::testing::Test {
 protected:
  KernelNamesCpu() { setenv("GRAPHC_GDB", "1", 1); }
  ~KernelNamesCpu() override { unsetenv("GRAPHC_GDB"); }
};

TEST_F(KernelNamesCpu, GdbFindsAKernelUnderItsNameWhereItLies) {
  Jit jit;
  const ObjectCode object = roots(jit);
  const void* first = jit.link(object, "sqrt", "graphc one map %y");
  const void* second = jit.link(object, "sqrt", "graphc two map %z");
  const void* third = jit.link(object, "sqrt");
  // The newest first; beside the kernels there is nothing.
  EXPECT_THAT(told(), ElementsAre(Pair("sqrt", third), Pair("graphc two map %z", second),
                                  Pair("graphc one map %y", first)));
}

TEST_F(KernelNamesCpu, GdbForgetsTheKernelsOfAJitThatIsGone) {
  auto first = std::make_unique<Jit>();
  auto second = std::make_unique<Jit>();
  first->link(roots(*first), "sqrt", "graphc one map %y");
  const void* kept = second->link(roots(*second), "sqrt", "graphc two map %y");
  first->link(roots(*first), "sqrt", "graphc three map %y");
  first = nullptr;
  EXPECT_THAT(told(), ElementsAre(Pair("graphc two map %y", kept)));
  second = nullptr;
  EXPECT_THAT(told(), IsEmpty());
}

// What a kernel that gdb is shown computes is what it computes without; its tables say how to
// unwind it.
TEST_F(KernelNamesCpu, AKernelSaysHowItIsUnwoundWhereGdbIsTold) {
  Jit jit;
  const ObjectCode with = roots(jit);
  const auto function = reinterpret_cast<MathLoop>(jit.link(with, "sqrt", "graphc one map %y"));
  std::vector<float> x(64, 9), y(64, 0);
  function(x.data(), y.data(), 64);
  EXPECT_THAT(y, ::testing::Each(3.f));
  EXPECT_NE(with.bytes.find(".eh_frame"), std::string::npos);
  unsetenv("GRAPHC_GDB");
  EXPECT_EQ(roots(jit).bytes.find(".eh_frame"), std::string::npos);
}

TEST_F(KernelNamesCpu, GdbIsToldNothingUnasked) {
  for (const char* value : {"0", "", "yes"}) {
    setenv("GRAPHC_GDB", value, 1);
    Jit jit;
    jit.link(roots(jit), "sqrt", "graphc one map %y");
    EXPECT_THAT(told(), IsEmpty()) << value;
  }
}

}  // namespace
}  // namespace graphc::core::cpu
