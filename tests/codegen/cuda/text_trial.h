// SPDX-License-Identifier: Apache-2.0
// A graph on the mock driver, called with one set of arguments: whether it gives what it should.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "codegen/targets/cuda/launches/executable.h"
#include "tests/codegen/wanted.h"
#include "tests/runtime/cuda/mock_driver.h"

namespace graphc::core::testing {

/// What is done to one of the indices of a call.
struct Outside {
  size_t position;
  int32_t index;
};

/// A graph of several sizes, which are launches of the same kernels.
struct Subject {
  const char* name;
  const char* graph;               ///< with letters for extents
  std::vector<const char*> sizes;  ///< "M=65 N=3"
  /// For a graph of indices: the first and the last one of all, between which they are drawn.
  int indices = 0;
  /// Further calls, of the first size: what is outside is refused.
  std::vector<Outside> outside = {};
  /// What the texts match that are damaged; others are another subject's.
  const char* having = "";
  /// Whether nests may be one launch, whose text depends on where things lie in memory.
  cuda::Merging merging = cuda::Merging::apart;
  cuda::Placement placement = cuda::Placement::streamed;
  int multiprocessors = 132;
  int64_t shared_bytes = 227 << 10;      ///< of a block
  Precision precision = Precision::f32;  ///< CompileOptions::precision
  /// Whole ones are exact in every precision, so are their products.
  Numbers numbers = Numbers::real;
  /// Whether the graph's f32 are f64: loops of those exchange no fragments.
  bool in_f64 = false;
  /// How far a result may be from the evaluator's, as a share of the largest one.
  double tolerance = 1e-3;
};

/// Those of text_subjects.cpp and text_subjects_of_gpus.cpp.
const std::vector<Subject>& text_subjects();
/// Those that not every GPU has: on tensor cores, or in clusters of blocks. `lstm`: its graph.
std::vector<Subject> subjects_of_gpus(const char* lstm);

inline void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

/// A graph of one size, what it is called with and what that gives.
class Trial {
 public:
  Trial(const Subject& subject, size_t size);
  ~Trial() {
    unsetenv("GRAPHC_MOCK_MULTIPROCESSORS");
    unsetenv("GRAPHC_MOCK_SHARED");
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const cuda::Launches& launches() const { return launches_; }
  const cuda::testing::MockDriver& driver() const { return driver_; }

  /// What is wrong with what it gives now, compiled anew; "" where all is as it should be.
  /// `packed`: in the arena as it was planned, where buffers follow each other in one place.
  /// Otherwise each is an allocation of its own, and what goes beyond one is found.
  std::string fault(bool packed);

 private:
  std::unique_ptr<cuda::GpuExecutable> compiled(const Plan& plan) const;
  Outcome run(Executable& executable, const Call& call);
  std::vector<Literal> evaluated(const Call& call) const;
  std::string first_call(Executable& executable);
  std::string refused(Executable& executable, const Call& call, const Outside& outside);

  cuda::testing::MockDriver driver_;
  GraphPtr graph_;
  const cuda::Merging merging_;
  Plan packed_, spread_;
  const cuda::Placement placement_;
  const Precision precision_;
  const double tolerance_;
  cuda::Launches launches_;
  cuda::DevicePtr device_;
  std::vector<Call> calls_;
  std::vector<Outside> outside_;  ///< of the calls but the first
  std::vector<Literal> wanted_;   ///< of the first call
};

}  // namespace graphc::core::testing
