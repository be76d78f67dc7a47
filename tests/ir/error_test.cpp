// SPDX-License-Identifier: Apache-2.0
#include "ir/error.h"

#include <gtest/gtest.h>

#include <string>

namespace graphc::core {
namespace {

Where caller(Where where = Where::here()) { return where; }

TEST(Error, SaysPositionMessageAndNotes) {
  Error error =
      input_error({"model.cpp", 31, 0}, "matmul: inner dimensions differ: {} and {}", 650, 1300);
  EXPECT_STREQ(error.what(), "model.cpp:31: error: matmul: inner dimensions differ: 650 and 1300");
  error.note("%u was declared at model.cpp:19").note("it has 1300 rows");
  EXPECT_STREQ(error.what(),
               "model.cpp:31: error: matmul: inner dimensions differ: 650 and 1300\n"
               "  note: %u was declared at model.cpp:19\n"
               "  note: it has 1300 rows");
  EXPECT_EQ(error.message(), "matmul: inner dimensions differ: 650 and 1300");
  EXPECT_EQ(error.notes().size(), 2u);
}

TEST(Error, ColumnIsPrintedWhenKnown) {
  EXPECT_STREQ(input_error({"a.graph", 7, 12}, "unknown op").what(),
               "a.graph:7:12: error: unknown op");
}

TEST(Error, FirstPositionStands) {
  Error error = input_error({}, "no such file");
  EXPECT_STREQ(error.what(), "error: no such file");
  EXPECT_FALSE(error.where());
  error.at({"a.graph", 3, 1}).at({"b.graph", 9, 1});
  EXPECT_STREQ(error.what(), "a.graph:3:1: error: no such file");
  EXPECT_EQ(error.where().line, 3);
}

TEST(Error, KindIsTheExitCode) {
  EXPECT_EQ(Error(ErrorKind::internal, {}, "x").exit_code(), 1);
  EXPECT_EQ(Error(ErrorKind::usage, {}, "x").exit_code(), 2);
  EXPECT_EQ(input_error({}, "x").exit_code(), 3);
  EXPECT_EQ(Error(ErrorKind::check, {}, "x").exit_code(), 4);
  EXPECT_EQ(resource_error("disk full: {}", "/tmp").exit_code(), 5);
  EXPECT_STREQ(resource_error("disk full: {}", "/tmp").what(), "error: disk full: /tmp");
}

TEST(Error, FailedCheckIsInternalAndNamesItsCondition) {
  const int two = 2;
  try {
    GRAPHC_CHECK(two == 3, "found {}", two);
    FAIL() << "the check passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_EQ(error.message(), "found 2 (two == 3)");
    ASSERT_EQ(error.notes().size(), 1u);
    EXPECT_NE(error.notes()[0].find("tests/ir/error_test.cpp:"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).rfind("internal error: ", 0), 0u);
  }
}

TEST(Error, HoldingCheckEvaluatesItsConditionOnce) {
  int evaluated = 0;
  GRAPHC_CHECK(++evaluated == 1, "found {}", evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST(Where, DefaultedArgumentIsTheCallersLine) {
  const Where where = caller();
  EXPECT_EQ(where.line, __LINE__ - 1);
  EXPECT_EQ(std::string(where.file), "tests/ir/error_test.cpp");
  EXPECT_TRUE(where);
}

TEST(Where, InternedNamesOutliveTheirSource) {
  std::string name = "some/file.graph";
  const char* interned = intern_file_name(name);
  EXPECT_EQ(intern_file_name("some/file.graph"), interned);
  name.assign(name.size(), 'x');
  EXPECT_STREQ(interned, "some/file.graph");
  EXPECT_STRNE(intern_file_name("other"), interned);
}

}  // namespace
}  // namespace graphc::core
