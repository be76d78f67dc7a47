// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/op_cases.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ir/serialize.h"
#include "ir/text.h"
#include "tests/testing/counts.h"
#include "tests/testing/guarded_tensor.h"

namespace graphc::core::testing {
namespace {

TEST(Conformance, EveryOpHasSamplesButThoseOfStructure) {
  std::vector<std::string_view> without;
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr) without.push_back(op->name);
  }
  EXPECT_EQ(without, (std::vector<std::string_view>{"input", "state", "scan", "grad", "kernel"}));
}

TEST(Conformance, GuardsFindWhatIsTouchedOutsideATensor) {
  const Literal seven(std::vector<float>(7, 1), {7});
  const Tensor begins = guarded_tensor(seven, Guard::before);
  const Tensor ends = guarded_tensor(seven, Guard::behind);
  EXPECT_TRUE(intact_around(begins) && intact_around(ends));
  begins.address()[7 * 4] = std::byte{1};
  ends.address()[-1] = std::byte{1};
  EXPECT_FALSE(intact_around(begins) || intact_around(ends));
  const auto touch = [](const std::byte* at) {
    std::exit(int(*const_cast<volatile const std::byte*>(at)) & 0);
  };
  EXPECT_DEATH(touch(begins.address() - 1), "");
  EXPECT_DEATH(touch(ends.address() + 7 * 4), "");
}

TEST(Conformance, EveryOpIsReadBackAsItWasWritten) {
  int64_t cases = 0;
  std::vector<OpCase> all;
  for (const Op* op : sampled_ops()) {
    for (OpCase& c : op_cases(*op)) all.push_back(std::move(c));
    for (OpCase& c : dtype_cases(*op)) all.push_back(std::move(c));
  }
  for (const OpCase& c : all) {
    SCOPED_TRACE(c.name);
    EXPECT_TRUE(equal(*parse_graph(print(*c.graph)), *c.graph)) << print(*c.graph);
    Module module;
    module.graphs.push_back(c.graph);
    EXPECT_TRUE(equal(*from_proto(to_proto(module)).graphs.at(0), *c.graph));
    EXPECT_TRUE(equal(*from_pbtxt(to_pbtxt(module)).graphs.at(0), *c.graph));
    cases += 3;
  }
  EXPECT_GT(cases, 2000);
  count("conformance round trips", cases);
}

}  // namespace
}  // namespace graphc::core::testing
