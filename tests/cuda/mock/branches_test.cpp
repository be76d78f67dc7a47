// SPDX-License-Identifier: Apache-2.0
// Several streams of the mock in one capture: branches of a graph, in any order that their
// dependencies leave, and what a driver refuses of them.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

#include "tests/cuda/mock/calls.h"

namespace graphc::core::cuda::testing {
namespace {

/// Two streams, of which the second joins what the first one captures.
class MockBranches : public MockCalls {
 protected:
  MockBranches() {
    ok(d.cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
    for (CUevent* event : {&forked, &joined}) ok(d.cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
  }
  ~MockBranches() override {
    for (CUevent event : {forked, joined}) ok(d.cuEventDestroy(event));
    ok(d.cuStreamDestroy(other));
  }

  void begin() { ok(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); }
  void fork() {
    ok(d.cuEventRecord(forked, stream));
    ok(d.cuStreamWaitEvent(other, forked, 0));
  }
  void join() {
    ok(d.cuEventRecord(joined, other));
    ok(d.cuStreamWaitEvent(stream, joined, 0));
  }
  void fill(CUstream by, unsigned char value) { ok(d.cuMemsetD8Async(memory, value, 4, by)); }
  CUgraph end() {
    CUgraph graph = nullptr;
    ok(d.cuStreamEndCapture(stream, &graph));
    return graph;
  }
  CUresult refused_end() {
    CUgraph graph = nullptr;
    const CUresult result = d.cuStreamEndCapture(stream, &graph);
    EXPECT_EQ(graph, nullptr);
    return result;
  }

  /// What the memory has after each of many launches of the graph, which is destroyed.
  std::set<int> outcomes(CUgraph graph) {
    CUgraphExec executable = nullptr;
    ok(d.cuGraphInstantiate(&executable, graph, 0));
    ok(d.cuGraphDestroy(graph));
    std::set<int> found;
    for (int i = 0; i < 40; ++i) {
      unsigned char value = 0;
      ok(d.cuGraphLaunch(executable, stream));
      ok(d.cuMemcpyDtoHAsync(&value, memory, 1, stream));
      found.insert(value);
    }
    ok(d.cuGraphExecDestroy(executable));
    return found;
  }

  CUstream other = nullptr;
  CUevent forked = nullptr, joined = nullptr;
};

TEST_F(MockBranches, ComeInAnyOrder) {
  begin();
  fill(stream, 1);
  fork();
  fill(stream, 2);
  fill(other, 3);
  join();
  EXPECT_EQ(outcomes(end()), (std::set<int>{2, 3}));
}

TEST_F(MockBranches, KeepToWhatTheyWaitFor) {
  begin();
  fork();
  fill(other, 3);
  join();
  fill(stream, 2);
  EXPECT_EQ(outcomes(end()), std::set<int>{2});
}

TEST_F(MockBranches, ForgetAWaitThatATestSays) {
  mock.forget(2);
  begin();
  fork();
  fill(other, 3);
  join();
  fill(stream, 2);
  refused(refused_end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(mock.forget(2), 2u);
  begin();
  fork();
  fill(other, 3);
  join();
  fill(stream, 2);
  join();
  EXPECT_EQ(outcomes(end()), (std::set<int>{2, 3}));
  EXPECT_EQ(mock.forget(0), 3u);
}

TEST_F(MockBranches, AreOneOrderWhereTheEnvironmentSaysSo) {
  setenv("GRAPHC_MOCK_AS_CAPTURED", "1", 1);
  begin();
  fork();
  fill(stream, 2);
  fill(other, 3);
  join();
  EXPECT_EQ(outcomes(end()), std::set<int>{3});
  unsetenv("GRAPHC_MOCK_AS_CAPTURED");
}

TEST_F(MockBranches, MustJoinTheStreamThatBegan) {
  begin();
  fork();
  fill(other, 3);
  refused(refused_end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  fill(other, 3);  // it captures no longer
  begin();
  fork();
  fill(other, 3);
  CUgraph graph = nullptr;
  refused(d.cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  refused(refused_end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(MockBranches, WaitForNothingOutsideOfTheCapture) {
  refused(d.cuStreamWaitEvent(stream, reinterpret_cast<CUevent>(other), 0),
          CUDA_ERROR_INVALID_HANDLE);
  invalid(d.cuStreamWaitEvent(stream, forked, 7));
  ok(d.cuEventRecord(forked, other));
  ok(d.cuStreamWaitEvent(stream, forked, 0));  // what is done already
  begin();
  refused(d.cuStreamWaitEvent(stream, forked, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  refused(refused_end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  ok(d.cuEventRecord(joined, stream));
  refused(d.cuStreamWaitEvent(nullptr, joined, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  ok(d.cuGraphDestroy(end()));
  refused(d.cuStreamWaitEvent(other, joined, 0), CUDA_ERROR_CAPTURED_EVENT);
}

TEST_F(MockBranches, OfTwoCapturesDoNotMeet) {
  begin();
  ok(d.cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ok(d.cuEventRecord(forked, stream));
  refused(d.cuStreamWaitEvent(other, forked, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  CUgraph graph = nullptr;
  refused(d.cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  refused(refused_end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(MockBranches, AreSpoiledWhereTheirStreamIsWaitedForOrDestroyed) {
  begin();
  fork();
  refused(d.cuStreamSynchronize(other), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  refused(refused_end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  fork();
  ok(d.cuStreamDestroy(other));
  refused(refused_end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ok(d.cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
}

}  // namespace
}  // namespace graphc::core::cuda::testing
