// SPDX-License-Identifier: Apache-2.0
// einsum against the sum written out, stack and unstack.
#include <gmock/gmock.h>

#include <map>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::HasSubstr;

constexpr const char* kLetters = "bijkl";
const std::map<char, int64_t> kExtents = {{'b', 2}, {'i', 3}, {'j', 4}, {'k', 5}, {'l', 1}};

Shape shape_of(const std::string& axes) {
  std::vector<int64_t> extents;
  for (char c : axes) extents.push_back(kExtents.at(c));
  return Shape(extents);
}

/// The element of a value with these axes where each letter has its index.
double at(const Literal& x, const std::string& axes, const std::map<char, int64_t>& index) {
  int64_t offset = 0;
  for (char c : axes) offset = offset * kExtents.at(c) + index.at(c);
  return x.element(offset);
}

/// Every combination of indices, the slow way.
std::vector<double> written_out(const std::vector<std::string>& inputs, const std::string& output,
                                const std::vector<Literal>& values) {
  std::vector<double> result(size_t(shape_of(output).elements()), 0);
  std::map<char, int64_t> index;
  const auto go = [&](auto& self, const char* letter) -> void {
    if (*letter != 0) {
      bool used = false;
      for (const std::string& axes : inputs) used |= axes.find(*letter) != std::string::npos;
      for (index[*letter] = 0; index[*letter] < (used ? kExtents.at(*letter) : 1); ++index[*letter])
        self(self, letter + 1);
      return;
    }
    double product = 1;
    for (size_t i = 0; i < inputs.size(); ++i) product *= at(values[i], inputs[i], index);
    int64_t offset = 0;
    for (char c : output) offset = offset * kExtents.at(c) + index.at(c);
    result[size_t(offset)] += product;
  };
  go(go, kLetters);
  return result;
}

void expect_einsum(const std::vector<std::string>& inputs, const std::string& output,
                   const std::string& target) {
  const std::string formula = fmt::format("{}->{}", fmt::join(inputs, ","), output);
  SCOPED_TRACE(formula);
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    Values operands;
    for (const std::string& axes : inputs) {
      std::vector<Dim> dims;
      for (char c : axes) dims.emplace_back(kExtents.at(c));
      operands.push_back(in("x" + std::to_string(operands.size()), f32, dims));
    }
    return einsum(formula, operands);
  });
  std::vector<Tensor> tensors;
  std::vector<Literal> values;
  for (const std::string& axes : inputs) {
    tensors.push_back(random_uniform(shape_of(axes), tensors.size() + 1));
    values.push_back(tensors.back().copy());
  }
  Session session(m, {.target = target});
  const Tensor found = session.run("f", tensors);
  const std::vector<double> wanted = written_out(inputs, output, values);
  ASSERT_EQ(found.type().shape, shape_of(output));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found.data<float>()[i], wanted[i], 1e-4) << i;
}

void expect_einsums(const std::string& target) {
  expect_einsum({"ij", "jk"}, "ik", target);
  expect_einsum({"ij", "kj"}, "ki", target);
  expect_einsum({"bij", "bjk"}, "bik", target);
  expect_einsum({"jbi", "kbj"}, "ikb", target);
  expect_einsum({"bij", "jk"}, "bik", target);
  expect_einsum({"i", "j"}, "ij", target);
  expect_einsum({"ij", "ij"}, "", target);
  expect_einsum({"ij", "ij"}, "j", target);
  expect_einsum({"bijl", "kj"}, "kb", target);
  expect_einsum({"bij"}, "jb", target);
  expect_einsum({"ij"}, "", target);
}

TEST(Einsum, IsTheSumWrittenOut) { expect_einsums("reference"); }

TEST(EinsumCpu, IsTheSumWrittenOut) { expect_einsums("cpu"); }

TEST(Einsum, EllipsesAndImplicitResultsAreWhatTheyStandFor) {
  // Each beside the formula in full, for x [2,3,4], y [4,5] and z [2,3,4].
  const std::vector<std::tuple<std::string, std::string, int>> formulas = {
      {"...j,jk->...k", "abj,jk->abk", 2},  {"...j,jk", "abj,jk->abk", 2},
      {"a...,...a->...", "abj,bja->bj", 3}, {"...,...->...", "abj,abj->abj", 1},
      {"...,...", "abj,abj->abj", 1},       {"b...,b...", "bij,bij->ij", 1},
      {"cba,ad", "cba,ad->bcd", 2},         {"B...J,Jk", "BiJ,Jk->iBk", 2},
      {"...ij->...ji", "aij->aji", 0},      {"cab", "cab->abc", 0},
  };
  Model m("m");
  for (const auto& [shorter, longer, with] : formulas) {
    m.graph(shorter, [&, s = shorter, l = longer, w = with](Inputs& in) {
      Value x = in("x", f32, {2, 3, 4});
      const Value others[] = {x, x * 2, in("y", f32, {4, 5}), transpose(x, {1, 2, 0})};
      const Values operands = w == 0 ? Values{x} : Values{x, others[w]};
      return Values{einsum(s, operands), einsum(l, operands)};
    });
  }
  Session session(m, {.target = "reference"});
  for (const auto& formula : formulas) {
    SCOPED_TRACE(std::get<0>(formula));
    const Outputs found =
        session(std::get<0>(formula), random_uniform({2, 3, 4}, 1), random_uniform({4, 5}, 2));
    EXPECT_EQ(found[0].literal(), found[1].literal());
  }
}

TEST(Einsum, SaysWhatDoesNotFit) {
  const auto message = [](const std::string& formula) {
    Model m("m");
    m.graph("f", [&](Inputs& in) {
      return einsum(formula, {in("x", f32, {3, 4}), in("y", f32, {4, 5})});
    });
    return error_of(ErrorKind::input, [&] { m.trace("f", Extents{}); });
  };
  EXPECT_THAT(message("ij,jk->ik->i"), HasSubstr("axes are letters"));
  EXPECT_THAT(message("ij,jk->i,k"), HasSubstr("wanted one result behind the arrow"));
  EXPECT_THAT(message("......,jk->"), HasSubstr("'...' comes twice"));
  EXPECT_THAT(message("ij->i"), HasSubstr("for 1 operands"));
  EXPECT_THAT(message("ijk,jk->i"), HasSubstr("'ijk' has 3 axes: operand 0 is f32[3,4]"));
  EXPECT_THAT(message("ii,jk->i"), HasSubstr("'i' comes twice"));
  EXPECT_THAT(message("ij,ik->jk"), HasSubstr("'i' is 3 and 4"));
  EXPECT_THAT(message("ij,jk->iz"), HasSubstr("'z' of the result is in no operand"));
  EXPECT_THAT(message("i1,jk->i"), HasSubstr("letters a to z and A to Z, or '...': found '1'"));
  EXPECT_THAT(message("...ijk,jk->i"), HasSubstr("'ijk' has 3 axes: operand 0 is f32[3,4]"));
}

TEST(Stack, IsUndoneByUnstack) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    const Value x = in("x", f32, {2, 3, 4});
    return Values{stack(unstack(x, 1), 1), unstack(x, 2)[3], stack({x, x + 1}, 3)};
  });
  Session session(m, {.target = "reference"});
  const Tensor x = random_uniform({2, 3, 4}, 1);
  const Outputs outputs = session("f", x);
  EXPECT_EQ(outputs[0].literal(), x.literal());
  EXPECT_EQ(outputs[1].data<float>()[4], x.data<float>()[19]);
  EXPECT_EQ(outputs[2].type().shape, Shape({2, 3, 4, 2}));
  EXPECT_EQ(outputs[2].data<float>()[1], x.data<float>()[0] + 1);
}

}  // namespace
}  // namespace graphc::core
