// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace graphc::core {
namespace {

TEST(ScalarOp, EachHasANameAndACost) {
  std::set<std::string_view> names;
  for (int i = 0; i <= int(ScalarOp::select); ++i) {
    const ScalarOp op{uint8_t(i)};
    EXPECT_TRUE(names.insert(name_of(op)).second) << name_of(op);
    const bool computes = op != ScalarOp::argument && op != ScalarOp::constant;
    EXPECT_EQ(cost_of(op) > 0, computes) << name_of(op);
    // An elementary function divides, or takes as many multiplications as two divisions and more.
    EXPECT_EQ(cost_of(op) > 2 * cost_of(ScalarOp::div), is_elementary(op)) << name_of(op);
  }
  EXPECT_EQ(cost_of(ScalarOp::add), 1);
}

}  // namespace
}  // namespace graphc::core
