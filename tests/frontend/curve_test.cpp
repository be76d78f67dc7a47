// SPDX-License-Identifier: Apache-2.0
// Learning curves in files, and told to whoever watches.
#include "frontend/curve.h"

#include <gmock/gmock.h>

#include <cmath>

#include "runtime/files/files.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

TEST(Curve, IsAFileWithALineForEachRowThatTrainingGoesOnWith) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "curve.csv";
  std::vector<double> seen;
  {
    Curve curve(path, {"epoch", "loss"}, [&](const auto& row) { seen.push_back(row.at("loss")); });
    curve.add({1, 0.5});
    EXPECT_EQ(read_file(path), "epoch,loss\n1,0.5\n");
  }
  Curve(path, {"epoch", "loss"}).add({2, std::nan("")});
  EXPECT_EQ(read_file(path), "epoch,loss\n1,0.5\n2,\n");
  EXPECT_THAT(seen, ::testing::ElementsAre(0.5));
}

TEST(Curve, ARowThatWasCutShortIsRemoved) {
  const TemporaryFolder folder;
  const auto path = folder.add("curve.csv", "epoch,loss\n1,0.5\n2,0.4");
  Curve(path, {"epoch", "loss"}).add({2, 0.45});
  EXPECT_EQ(read_file(path), "epoch,loss\n1,0.5\n2,0.45\n");
}

TEST(Curve, RefusesOtherColumnsAndRows) {
  const TemporaryFolder folder;
  const auto path = folder.add("curve.csv", "step,loss\n");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { Curve(path, {"epoch", "loss"}); }),
              HasSubstr("curve.csv: has other columns than epoch,loss: found 'step,loss'"));
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Curve("", {"a", "b"}).add({1}); }),
            "a row has a number for each of a,b: found 1");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Curve("", {"epoch", "a", "a"}); }),
            "two columns of a curve are called 'a': wanted names that differ");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Curve("", {"a,b"}); }),
            "a column's name has no comma, quote or newline: found 'a,b'");
  EXPECT_THAT(error_of(ErrorKind::resource, [&] { Curve(folder.path() / "no" / "c.csv", {"a"}); }),
              HasSubstr("cannot write"));
}

}  // namespace
}  // namespace graphc::core
