// SPDX-License-Identifier: Apache-2.0
// The first losses of the PTB language model, evaluated in f64 from the equations in our text,
// against those of the reference in PyTorch (tools/references/ptb_lm.py) from the same weights.
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "models/data/text_corpus.h"
#include "passes/passes.h"
#include "tests/testing/corpus.h"
#include "tests/testing/golden.h"

namespace graphc::core {
namespace {

constexpr int64_t kBatch = 20, kSteps = 2;

/// One training step of size `test`: clipping by the global norm at 1, SGD at rate 1.
constexpr const char* kTrain = R"(
graph @train(%tokens: i32[2,20], %targets: i32[2,20])
    state(%embedding: f32[10000,2], %lstm.0.w: f32[2,8], %lstm.0.u: f32[2,8], %lstm.0.b: f32[8],
          %softmax.w: f32[2,10000], %softmax.b: f32[10000], %h: f32[20,2], %c: f32[20,2]) {
  %x = gather %embedding, %tokens
  %y, %h.end, %c.end = scan %x.t in %x carry %h.t = %h, %c.t = %c
      with %w = %lstm.0.w, %u = %lstm.0.u, %b = %lstm.0.b {
    %i, %f, %g, %o = split add(add(matmul(%x.t, %w), matmul(%h.t, %u)), %b) {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c.t), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(%c.1))
    next %h.t = %h.1, %c.t = %c.1
    emit %h.1
  }
  %logits = add(matmul(%y, %softmax.w), %softmax.b)
  %cost = div(sum(cross_entropy(%logits, %targets)) {axes = [0,1]}, 20.)
  %de, %dw, %du, %db, %dsw, %dsb =
      grad %cost, %embedding, %lstm.0.w, %lstm.0.u, %lstm.0.b, %softmax.w, %softmax.b
  %ne = sum(square(%de)) {axes = [0,1]}
  %nw = sum(square(%dw)) {axes = [0,1]}
  %nu = sum(square(%du)) {axes = [0,1]}
  %nb = sum(square(%db)) {axes = [0]}
  %nsw = sum(square(%dsw)) {axes = [0,1]}
  %nsb = sum(square(%dsb)) {axes = [0]}
  %norm = sqrt(add(add(add(%ne, %nw), add(%nu, %nb)), add(%nsw, %nsb)))
  %rate = div(1., maximum(%norm, 1.))
  %e.1 = sub(%embedding, mul(%rate, %de))
  %w.1 = sub(%lstm.0.w, mul(%rate, %dw))
  %u.1 = sub(%lstm.0.u, mul(%rate, %du))
  %b.1 = sub(%lstm.0.b, mul(%rate, %db))
  %sw.1 = sub(%softmax.w, mul(%rate, %dsw))
  %sb.1 = sub(%softmax.b, mul(%rate, %dsb))
  %loss = div(%cost, 2.)
  next %embedding = %e.1, %lstm.0.w = %w.1, %lstm.0.u = %u.1, %lstm.0.b = %b.1,
       %softmax.w = %sw.1, %softmax.b = %sb.1, %h = %h.end, %c = %c.end
  return %loss
})";

TEST(PtbLosses, OfSizeTestAgreeWithPyTorchInF64) {
  const auto folder = testing::find_corpus("ptb");
  if (!folder) GTEST_SKIP() << "needs the corpus ptb";
  const TextCorpus corpus = read_ptb(*folder);
  const Windows windows(corpus.train, kBatch, kSteps);
  const GraphPtr graph =
      run_pipeline(parse_graph(kTrain, "train.graph"), {{&passes::autodiff, {}}}).graph;

  std::map<std::string, Literal> states = testing::golden_arrays("ptb_test_init");
  for (const char* state : {"h", "c"}) states[state] = Literal({DType::f32, {kBatch, 2}});
  const std::vector<double> losses = testing::golden_losses("ptb_test_losses");
  ASSERT_EQ(losses.size(), 20u);
  for (size_t i = 0; i < losses.size(); ++i) {
    const Window window = windows.window(int64_t(i));
    Evaluation step = evaluate(*graph, {window.tokens, window.targets}, states, Precision::f64);
    EXPECT_NEAR(step.results[0].element(0), losses[i], 1e-11) << "step " << i + 1;
    states = std::move(step.next);
  }
}

}  // namespace
}  // namespace graphc::core
