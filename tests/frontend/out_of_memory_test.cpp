// SPDX-License-Identifier: Apache-2.0
// A small training run that ends with a saved file, in which one allocation fails, or all from one
// on: the run ends with an error of the machine, the file that was there stays, and the next run in
// the process gives what it always gives.
//
// LLVM's own allocations are not failed: what an exception passes through on its way out of LLVM is
// kept for ever (CodeModule), and each of thousands would be. The machine code comes from the
// process's cache, which a first run has filled. tools/memory-limits runs LLVM without memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "frontend/graphc.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/frontend/failing_allocations.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using testing::Failing;
using testing::FailingAllocations;
using testing::TemporaryFolder;

Tensor input(uint64_t step) {
  std::mt19937_64 random(step);
  Literal values(Type{f32, {3, 2, 4}});
  for (float& x : values.mutable_data<float>()) x = float(random() % 1000) / 1000;
  return Tensor(values);
}

/// Three steps of a small recurrent layer, then its parameters to a file. Returns the losses.
std::vector<double> train(const char* target, int threads, const std::string& path) {
  Model model("cell");
  Param w = model.param("w", {4, 20}, uniform(0.5)), u = model.param("u", {5, 20}, uniform(0.5));
  model.graph("train", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {"steps", "batch", 4});
    State h = in.state("h", {x.shape()[1], 5}), c = in.state("c", {x.shape()[1], 5});
    const Value y = scan(x, [&](Value x_t) {
      auto [i, f, g, o] = split<4>(matmul(x_t, w) + matmul(h, u));
      c = sigmoid(f) * c + sigmoid(i) * tanh(g);
      h = sigmoid(o) * tanh(c);
      return h;
    });
    const Value loss = mean(square(y));
    minimize(loss, {w, u}, Sgd{0.5});
    return loss;
  });
  Session session(model, {.target = target, .compile = {.threads = threads}});
  std::vector<double> losses;
  for (uint64_t step = 0; step < 3; ++step)
    losses.push_back(session.run("train", {input(step)}).scalar());
  session.save(path);
  return losses;
}

/// What a run in which allocations fail does; empty when it is as it must be.
std::string fault_of(const char* target, int threads, const std::string& path, int64_t index,
                     Failing failing, const std::vector<double>& wanted) {
  std::string fault;
  int64_t failed = 0;
  {
    FailingAllocations allocations(index, failing);
    try {
      const std::vector<double> losses = train(target, threads, path);
      failed = allocations.failed();
      // A hint that is not taken, or memory that somebody does without.
      if (losses != wanted) fault = "it ends well with other losses";
    } catch (const std::bad_alloc&) {
      failed = allocations.failed();
    } catch (const Error& error) {
      failed = allocations.failed();
      if (error.kind() != ErrorKind::resource) fault = error.what();
    } catch (const std::exception& error) {
      fault = std::string("another exception: ") + error.what();
    }
  }
  if (fault.empty() && failed == 0) fault = "no allocation failed";
  return fault;
}

class OutOfMemory {
 public:
  OutOfMemory(const char* target, int threads) : target_(target), threads_(threads) {
    const std::string first = (folder_.path() / "first.safetensors").string();
    wanted_ = train(target, threads, first);
    EXPECT_EQ(train(target, threads, first), wanted_);
    wanted_file_ = read_file(first);
    const FailingAllocations none(INT64_MAX, Failing::once);
    train(target, threads, first);
    allocations_ = none.asked();
  }

  int64_t allocations() const { return allocations_; }

  /// Fails allocation `index`, and looks at what is left.
  void fail(int64_t index, Failing failing) {
    const std::string old = "the old file, whatever it holds";
    const auto path = folder_.add("saved.safetensors", old);
    const std::string fault = fault_of(target_, threads_, path, index, failing, wanted_);
    ASSERT_EQ(fault, "") << "allocation " << index << " of " << allocations_;
    const std::string left = read_file(path);
    ASSERT_TRUE(left == old || left == wanted_file_) << "allocation " << index;
    ASSERT_EQ(folder_.count(), 2) << "allocation " << index << ": a file is left behind";
  }

  /// That runs after all of that give what they gave before.
  void expect_no_trace() {
    const std::string path = (folder_.path() / "saved.safetensors").string();
    EXPECT_EQ(train(target_, threads_, path), wanted_);
    EXPECT_EQ(read_file(path), wanted_file_);
  }

 private:
  const char* target_;
  int threads_;
  TemporaryFolder folder_;
  std::vector<double> wanted_;
  std::string wanted_file_;
  int64_t allocations_ = 0;
};

constexpr int64_t kEvery = INT64_MAX;

/// Fails at most `runs` allocations spread evenly over the run, each place drawn from its part,
/// half of them alone and half with all that follow.
void sweep(const char* target, int threads, int64_t runs) {
  OutOfMemory memory(target, threads);
  ASSERT_GT(memory.allocations(), 100);
  std::mt19937_64 random(5);
  const int64_t last = memory.allocations() - 1;
  runs = std::min(runs, last);
  for (int64_t i = 0; i < runs; ++i) {
    const int64_t begin = last * i / runs, end = std::max(begin + 1, last * (i + 1) / runs);
    const int64_t index = begin + int64_t(random() % uint64_t(end - begin));
    memory.fail(index, i % 2 == 0 ? Failing::once : Failing::from_then);
    if (::testing::Test::HasFatalFailure()) return;
  }
  memory.expect_no_trace();
  testing::count("failed allocations", runs);
}

TEST(OutOfMemory, OnTheReferenceTarget) { sweep("reference", 1, 150); }

TEST(OutOfMemoryCpu, WithOneThread) { sweep("cpu", 1, 150); }

TEST(OutOfMemoryCpu, WithTwoThreads) { sweep("cpu", 2, 150); }

TEST(OutOfMemorySlow, AtEveryCallOnTheReferenceTarget) { sweep("reference", 1, kEvery); }

TEST(OutOfMemorySlow, AtEveryCallWithOneThread) { sweep("cpu", 1, kEvery); }

TEST(OutOfMemorySlow, AtEveryCallWithTwoThreads) { sweep("cpu", 2, kEvery); }

}  // namespace
}  // namespace graphc::core
