// SPDX-License-Identifier: Apache-2.0
// What a kernel or the host must not do with memory, and how it is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::HasSubstr;

/// The error of a kernel of one block with "int* written, int* unwritten", ten elements each.
std::string memory_error_of(const std::string& body, unsigned threads = 32) {
  const Module module(kernel_text("int* written, int* unwritten", body), "kernel.cu");
  return message_of([&] {
    DeviceMemory memory;
    Array<int> written(memory, "written", std::vector<int>(10)), unwritten(memory, "unwritten", 10);
    run_kernel(module, launch_of(1, threads), memory, written.data(), unwritten.data());
  });
}

TEST(EmulatorMemory, OutsideAnAllocationIsAnError) {
  EXPECT_EQ(memory_error_of("if (threadIdx.x == 3)\n  written[10] = 1;"),
            "tested, line 3, block (0,0,0) thread (3,0,0): write of 4 bytes past "
            "the end of 'written': at byte 40 of 40");
  EXPECT_THAT(memory_error_of("int x = written[threadIdx.x];"),
              HasSubstr("thread (10,0,0): read of 4 bytes past the end of 'written'"));
  EXPECT_THAT(memory_error_of("atomicAdd(written + 10, 1);"),
              HasSubstr("atomic of 4 bytes past the end of 'written'"));
  EXPECT_THAT(memory_error_of("*(double*)(written + 9) = 1.0;"), HasSubstr("write of 8 bytes "));
  EXPECT_THAT(memory_error_of("int* p = (int*)64ull; *p = 3;"),
              HasSubstr("write of 4 bytes outside any allocation"));
  EXPECT_THAT(memory_error_of("written[-100000000] = 3;"), HasSubstr("outside any allocation"));
  EXPECT_THAT(memory_error_of("*(int*)((char*)written + 2) = 3;"),
              HasSubstr("write of 4 bytes that is not aligned: at byte 2 of 'written'"));
}

TEST(EmulatorMemory, OutsideAnArrayIsAnError) {
  EXPECT_THAT(memory_error_of("int a[2][8] = {};\na[0][threadIdx.x] = 1;"),
              HasSubstr("line 3, block (0,0,0) thread (8,0,0): index 8 of 'a', which has 8 there"));
  EXPECT_THAT(memory_error_of("int a[4] = {}; int k = -1; a[k] = 1;"),
              HasSubstr("index -1 of 'a'"));
  EXPECT_THAT(memory_error_of("__shared__ int s[3][4]; s[threadIdx.x][0] = 1;"),
              HasSubstr("thread (3,0,0): index 3 of 's', which has 3 there"));
  EXPECT_THAT(memory_error_of("int a[4] = {}; int* p = a; p[threadIdx.x] = 1;"),
              HasSubstr("write of 4 bytes outside the local memory of the thread"));
  EXPECT_THAT(memory_error_of("__shared__ float s[8]; float* p = s; p[threadIdx.x] = 1.0f;"),
              HasSubstr("thread (8,0,0): write of 4 bytes past the end of 'shared memory'"));
}

TEST(EmulatorMemory, ReadingWhatWasNeverWrittenIsAnError) {
  EXPECT_THAT(memory_error_of("written[threadIdx.x % 10] = unwritten[4];"),
              HasSubstr("read of 4 bytes never written: at byte 16 of 'unwritten'"));
  EXPECT_THAT(memory_error_of("__shared__ int s[4]; if (threadIdx.x == 0) s[0] = s[1];"),
              HasSubstr("read of 4 bytes never written: at byte 4 of 'shared memory'"));
  EXPECT_THAT(
      memory_error_of("int a[4]; a[0] = 1; if (threadIdx.x == 2) written[0] = a[0] + a[1];"),
      HasSubstr("thread (2,0,0): read of 4 bytes never written: at byte 4 of 'local"));
  EXPECT_THAT(memory_error_of("int x; if (threadIdx.x > 3) x = 1; written[threadIdx.x % 10] = x;"),
              HasSubstr("read of 4 bytes never written"));
  EXPECT_THAT(memory_error_of("for (int k = 0; k < 2; ++k) { int x; if (k == 0) x = 1; "
                              "written[threadIdx.x] = x; }",
                              1),
              HasSubstr("read of 4 bytes never written"));
  EXPECT_THAT(memory_error_of("((unsigned char*)unwritten)[1] = 5; written[0] = unwritten[0];", 1),
              HasSubstr("read of 4 bytes never written"));
  EXPECT_THAT(memory_error_of("atomicAdd(unwritten, 1);"), HasSubstr("never written"));
  EXPECT_EQ(memory_error_of("if (threadIdx.x < 10) { unwritten[threadIdx.x] = 1; "
                            "written[threadIdx.x] = unwritten[threadIdx.x]; }"),
            "");
}

TEST(EmulatorMemory, ArithmeticThatHasNoResultIsAnError) {
  EXPECT_THAT(memory_error_of("int k = threadIdx.x; written[0] = 7 / k;", 1),
              HasSubstr("division of an integer by 0"));
  EXPECT_THAT(memory_error_of("unsigned long long k = threadIdx.x; written[0] = (int)(7 % k);", 1),
              HasSubstr("remainder of an integer by 0"));
  EXPECT_THAT(memory_error_of("int k = 32; written[0] = 7 << k;", 1),
              HasSubstr("shift by 32 of a number of 32 bits"));
  EXPECT_THAT(memory_error_of("int k = -1; written[0] = 7 >> k;", 1), HasSubstr("shift by -1"));
  EXPECT_THAT(memory_error_of("if (threadIdx.x == 9)\n__trap();"),
              HasSubstr("line 3, block (0,0,0) thread (9,0,0): __trap()"));
}

TEST(EmulatorMemory, TheHostReadsWhatWasWritten) {
  DeviceMemory memory;
  char bytes[64] = {};
  memory.add(bytes, 32, "bytes");
  memory.written_by_host(bytes + 8, 8);
  memory.read_by_host(bytes + 8, 8);
  EXPECT_THAT(message_of([&] { memory.read_by_host(bytes + 7, 8); }),
              HasSubstr("the host reads byte 7 of 'bytes', which was never written"));
  EXPECT_THAT(message_of([&] { memory.read_by_host(bytes + 8, 9); }), HasSubstr("byte 16 of"));
  memory.copied(bytes + 16, bytes + 4, 8);
  memory.read_by_host(bytes + 20, 4);
  EXPECT_THAT(message_of([&] { memory.read_by_host(bytes + 16, 8); }), HasSubstr("byte 16 of"));
  memory.forget(bytes + 20, 1);
  EXPECT_THAT(message_of([&] { memory.read_by_host(bytes + 20, 4); }), HasSubstr("byte 20 of"));
  EXPECT_THAT(message_of([&] { memory.written_by_host(bytes + 30, 3); }),
              HasSubstr("the host writes 3 bytes from byte 30 of 'bytes', which has 32"));
  EXPECT_THAT(message_of([&] { memory.written_by_host(bytes + 32, 1); }),
              HasSubstr("outside any allocation"));
  EXPECT_THAT(message_of([&] { memory.add(bytes + 31, 4, "more"); }), HasSubstr("overlaps"));
  memory.add(bytes + 32, 4, "more");
  EXPECT_THAT(message_of([&] { memory.remove(bytes + 1); }), HasSubstr("no allocation begins"));
  memory.remove(bytes);
  EXPECT_THAT(message_of([&] { memory.read_by_host(bytes + 8, 1); }), HasSubstr("outside any"));
  memory.add(bytes, 32, "again");
  EXPECT_THAT(message_of([&] { memory.read_by_host(bytes + 8, 1); }), HasSubstr("never written"));
}

/// What a kernel says that moves four words, or twice two, to another place.
std::string words_moved(bool at_once, int first, std::vector<float>& found) {
  const std::string from =
      "unsigned x, y, z, w;\n"
      "asm volatile(\"ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\" : \"=r\"(x), \"=r\"(y), "
      "\"=r\"(z), \"=r\"(w) : \"l\"(in + first) : \"memory\");\n";
  const std::string four =
      "asm volatile(\"st.global.v4.u32 [%0], {%1, %2, %3, %4};\" : : \"l\"(out + first), "
      "\"r\"(x), \"r\"(y), \"r\"(z), \"r\"(w) : \"memory\");";
  const std::string two =
      "asm volatile(\"st.global.v2.u32 [%0], {%1, %2};\" : : \"l\"(out + first), \"r\"(z), "
      "\"r\"(w) : \"memory\");";
  const Module module(
      kernel_text("const float* in, float* out, int first", from + (at_once ? four : two)));
  DeviceMemory memory;
  Array<float> in(memory, "in", {0, 1, 2, 3, 4, 5, 6, 7}), out(memory, "out", 8);
  std::string message = message_of(
      [&] { run_kernel(module, launch_of(1, 1), memory, in.data(), out.data(), first); });
  found = out.values();
  return message;
}

TEST(EmulatorMemory, WordsOfOneAccessAreAlignedAndInOrder) {
  std::vector<float> found;
  EXPECT_EQ(words_moved(true, 4, found), "");
  EXPECT_THAT(found, testing::ElementsAre(0, 0, 0, 0, 4, 5, 6, 7));
  EXPECT_EQ(words_moved(false, 4, found), "");
  EXPECT_THAT(found, testing::ElementsAre(0, 0, 0, 0, 6, 7, 0, 0));
  EXPECT_THAT(words_moved(true, 2, found), HasSubstr("an access of 16 bytes at "));
  EXPECT_THAT(words_moved(true, 8, found), HasSubstr("past the end of 'in'"));
}

/// What a kernel says that moves two words by way of shared memory, there `apart` bytes away.
std::string two_words_moved(unsigned apart, int first, std::vector<float>& found) {
  const Module module(kernel_text("const float* in, float* out, int first, unsigned apart", R"(
    __shared__ float words[16];
    const float* begin = words;
    unsigned long long whole;
    asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(whole) : "l"(begin));
    const unsigned place = (unsigned)whole + apart;
    unsigned x, y, z, w;
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(x), "=r"(y) : "l"(in + first) : "memory");
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" : : "r"(place), "r"(x), "r"(y) : "memory");
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(z), "=r"(w) : "r"(place));
    asm volatile("st.global.v2.u32 [%0], {%1, %2};"
                 : : "l"(out + first), "r"(z), "r"(w) : "memory");)"));
  DeviceMemory memory;
  Array<float> in(memory, "in", {0, 1, 2, 3, 4, 5, 6, 7}), out(memory, "out", 8);
  std::string message = message_of(
      [&] { run_kernel(module, launch_of(1, 1), memory, in.data(), out.data(), first, apart); });
  found = out.values();
  return message;
}

TEST(EmulatorMemory, TwoWordsOfOneAccessAreAlignedAndInOrder) {
  std::vector<float> found;
  EXPECT_EQ(two_words_moved(8, 4, found), "");
  EXPECT_THAT(found, testing::ElementsAre(0, 0, 0, 0, 4, 5, 0, 0));
  EXPECT_THAT(two_words_moved(8, 3, found), HasSubstr("an access of 8 bytes at "));
  EXPECT_THAT(two_words_moved(4, 4, found), HasSubstr("8"));
  EXPECT_THAT(two_words_moved(8, 8, found), HasSubstr("past the end of 'in'"));
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
