// SPDX-License-Identifier: Apache-2.0
// Extents and attributes as large as they are written: an op infers a type that a shape can be, or
// refuses. Made from the records of all ops.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/graph.h"
#include "ir/op.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr double kMostElements = double(int64_t{1} << 48);

/// What inference says about the sample: types that are checked, or an error of the user's.
enum class Inferred { types, refused };

Inferred infer(const Op& op, const Sample& sample) {
  try {
    Graph graph(std::string(op.name));
    Values operands;
    for (const Type& type : sample.operands) operands.push_back(graph.input(type, "x"));
    const Node& node = graph.add(op, operands, sample.attributes);
    for (const Type& type : node.types) {
      double elements = 1;
      for (int64_t extent : type.shape.extents()) {
        EXPECT_GE(extent, 0) << op.name << " " << to_string(type);
        elements *= double(std::max<int64_t>(extent, 1));
      }
      EXPECT_LE(elements, kMostElements) << op.name << " " << to_string(type);
      EXPECT_GE(type.bytes(), 0) << op.name << " " << to_string(type);
    }
    return Inferred::types;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << op.name << ": " << error.what();
    return Inferred::refused;
  }
}

/// Each sample of each op, changed by `change`, which is told a number to put somewhere and where.
template <typename Change>
void try_samples(int64_t& tried, int64_t& refused, const Change& change) {
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr) continue;
    for (const Sample& sample : op->samples()) {
      for (int64_t number : {kLargest, kLargest / 2 + 1, int64_t{1} << 62, int64_t{1} << 47,
                             int64_t{1} << 31, int64_t{1} << 25, int64_t{-1}, -kLargest}) {
        for (const Sample& changed : change(sample, number)) {
          ++tried;
          refused += infer(*op, changed) == Inferred::refused;
        }
      }
    }
  }
}

TEST(Extents, OfAttributesAreRefusedOrMakeAShape) {
  int64_t tried = 0, refused = 0;
  try_samples(tried, refused, [](const Sample& sample, int64_t number) {
    std::vector<Sample> result;
    for (const auto& [name, value] : sample.attributes) {
      Sample changed = sample;
      if (std::holds_alternative<int64_t>(value)) {
        changed.attributes.set(name, number);
        result.push_back(std::move(changed));
      } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
        for (size_t i = 0; i <= list->size(); ++i) {
          // One of them, or all.
          std::vector<int64_t> numbers = *list;
          for (size_t k = 0; k < numbers.size(); ++k)
            numbers[k] = k == i || i == list->size() ? number : numbers[k];
          changed.attributes.set(name, numbers);
          result.push_back(changed);
        }
      }
    }
    return result;
  });
  EXPECT_GT(tried, 300);
  EXPECT_GT(refused, tried / 2);
  count("attributes of all sizes", tried);
}

TEST(Extents, OfOperandsAreRefusedOrMakeAShape) {
  int64_t tried = 0, refused = 0;
  try_samples(tried, refused, [](const Sample& sample, int64_t number) {
    // Every extent that is equal, alone or with another one: those that must agree do.
    std::vector<int64_t> extents;
    for (const Type& type : sample.operands)
      extents.insert(extents.end(), type.shape.begin(), type.shape.end());
    std::vector<Sample> result;
    for (int64_t a : extents) {
      for (int64_t b : extents) {
        Sample changed = sample;
        try {
          for (Type& type : changed.operands) {
            std::vector<int64_t> all(type.shape.begin(), type.shape.end());
            for (int64_t& extent : all) extent = extent == a || extent == b ? number : extent;
            type.shape = Shape(all);
          }
          result.push_back(std::move(changed));
        } catch (const Error&) {
          // No operand is that large.
        }
      }
    }
    return result;
  });
  EXPECT_GT(tried, 1000);
  EXPECT_GT(refused, 100);
  count("operands of all sizes", tried);
}

}  // namespace
}  // namespace graphc::core::testing
