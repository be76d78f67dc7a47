// SPDX-License-Identifier: Apache-2.0
// Tensors: views, sharing with literals, and items.
#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;

Literal counting(int64_t elements) {
  Literal literal(Type{DType::f32, {elements}});
  for (int64_t i = 0; i < elements; ++i) literal.mutable_data<float>()[size_t(i)] = float(i);
  return literal;
}

TEST(Tensor, SharesALiteralsBuffer) {
  const Literal literal = counting(4);
  const Tensor tensor(literal);
  EXPECT_EQ(tensor.type(), literal.type());
  EXPECT_EQ(tensor.address(), literal.bytes().data());
  EXPECT_EQ(tensor.literal().bytes().data(), literal.bytes().data());
  EXPECT_EQ(tensor.literal(), literal);
}

TEST(Tensor, WritingATensorLeavesTheLiteral) {
  const Literal literal = counting(3);
  Tensor tensor = literal;
  EXPECT_FALSE(tensor.is_unique());
  tensor.mutable_data<float>()[0] = 9;
  EXPECT_EQ(literal.to_text(), "[0, 1, 2]");
  EXPECT_EQ(tensor.literal().to_text(), "[9, 1, 2]");
}

TEST(Tensor, WritingALiteralLeavesTheTensor) {
  const Tensor tensor = counting(3);
  Literal literal = tensor.literal();
  literal.mutable_data<float>()[0] = 9;
  EXPECT_EQ(tensor.data<float>()[0], 0.0f);
}

TEST(Tensor, ViewsOfOneBuffer) {
  auto buffer = allocate_buffer(256);
  const Tensor whole({DType::f32, {64}}, buffer);
  Tensor aligned({DType::f32, {2}}, buffer, 64), odd({DType::f32, {2, 2}}, buffer, 4);
  buffer.reset();
  for (int i = 0; i < 64; ++i) reinterpret_cast<float*>(whole.address())[i] = float(i);
  EXPECT_EQ(aligned.literal().to_text(), "[16, 17]");
  EXPECT_EQ(aligned.literal().bytes().data(), aligned.address());
  EXPECT_EQ(odd.literal().to_text(), "[[1, 2], [3, 4]]");
  odd.mutable_data<float>()[0] = -1;
  EXPECT_EQ(whole.data<float>()[1], 1.0f);
  EXPECT_EQ(odd.literal().to_text(), "[[-1, 2], [3, 4]]");
  error_of(ErrorKind::input, [&] { Tensor({DType::f32, {1}}, whole.literal().buffer(), 2); });
}

TEST(Tensor, ALiteralOutlivesItsTensor) {
  Literal literal;
  {
    const Tensor tensor({DType::i32, {1}}, allocate_buffer(128), 64);
    reinterpret_cast<int32_t*>(tensor.address())[0] = 5;
    literal = tensor.literal();
  }
  EXPECT_EQ(literal.to_text(), "[5]");
}

TEST(Tensor, CopyKeepsTodaysElements) {
  const Tensor tensor(Type{DType::i32, {2}});
  const Literal copy = tensor.copy(), shared = tensor.literal();
  reinterpret_cast<int32_t*>(tensor.address())[1] = 5;
  EXPECT_EQ(copy.to_text(), "[0, 0]");
  EXPECT_EQ(shared.to_text(), "[0, 5]");
}

TEST(Tensor, Item) {
  EXPECT_EQ(Tensor(Literal::of(2.5f)).item<float>(), 2.5f);
  EXPECT_EQ(Tensor(Literal::filled({DType::i64, {1, 1}}, 3)).item<int64_t>(), 3);
  EXPECT_EQ(error_of(ErrorKind::input, [] { Tensor(counting(2)).item<float>(); }),
            "item() needs exactly one element: found f32[2]");
  EXPECT_EQ(error_of(ErrorKind::input, [] { Tensor().item<float>(); }),
            "item() needs exactly one element: found f32[0]");
  EXPECT_EQ(error_of(ErrorKind::input, [] { Tensor(counting(1)).item<double>(); }),
            "f32[1] is read as another type: wanted data<float>(), or converted() before it");
}

}  // namespace
}  // namespace graphc::core
