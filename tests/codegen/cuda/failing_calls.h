// SPDX-License-Identifier: Apache-2.0
// Calls of CUDA's libraries that fail while a graph is compiled and run on the mocks: what is to be
// heard of it, and that all goes on as before.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile.h"
#include "ir/graph.h"
#include "ir/literal.h"
#include "tests/cuda/mock/error_codes.h"
#include "tests/runtime/cuda/mock_driver.h"

namespace graphc::core::testing {

using cuda_mock::ErrorCode;

/// A function of a library: its symbol, and what errors call it.
struct LibraryCall {
  std::string_view symbol, name;
};
std::span<const LibraryCall> driver_calls();
std::span<const LibraryCall> cudnn_calls();
std::span<const LibraryCall> cublaslt_calls();
std::span<const LibraryCall> nvrtc_calls();

/// That its call number `call` returns a code.
struct Fault {
  LibraryCall function;
  ErrorCode code;
  size_t call = 1;
};

/// Whether a fault has to become an error.
enum class Hearing { heard, either, unheard };

/// A graph, and how it is compiled.
struct FaultSubject {
  std::string text;
  CompileOptions options = {};
  /// What is compiled for one case is used for the next: there are no calls about kernels.
  bool keeps_kernels = false;
};

/// A subject at work.
class FaultTrial {
 public:
  FaultTrial(const cuda::testing::MockDriver& driver, const FaultSubject& subject);
  ~FaultTrial();
  FaultTrial(const FaultTrial&) = delete;
  FaultTrial& operator=(const FaultTrial&) = delete;

  /// How often a function is called while the graph is compiled, does two steps, has its states
  /// asked for and is destroyed.
  size_t calls(std::string_view symbol) const;

  /// Does all that while one call fails. What must be: no error, or one of the code's kind that
  /// names the call and has the library's words; then nothing is left, and the same executable,
  /// where there is one, and another give right numbers. Returns whether there was an error.
  bool expect(const Fault& fault, Hearing hearing);

 private:
  std::unique_ptr<Executable> compiled() const;
  /// Two steps from the same states: "" or what is wrong with what came of them.
  std::string two_steps(Executable& executable);
  std::string difference(std::span<const Literal> found, size_t first) const;
  /// Compiles and runs: the error, if there is one. The executable is there if it was compiled.
  std::optional<Error> use(std::unique_ptr<Executable>& executable);
  void end() const;
  void check_error(const Error& error, const Fault& fault) const;

  const cuda::testing::MockDriver& driver_;
  const FaultSubject& subject_;
  GraphPtr graph_;
  std::vector<Literal> inputs_, states_;
  std::vector<Literal> wanted_;  ///< of the first step, the second, and the states at the end
  size_t live_ = 0;
  bool has_plan_ = false;  ///< of the last use: an error is one of a plan that was there
  std::map<std::string, size_t, std::less<>> calls_;
};

/// Which call of a function returns all of the codes, in turn.
enum class AllCodes { first, last };

/// Each code at one call; the codes that `everywhere` lists at every call of at most twelve, else
/// at the first two, one in the middle and the last two.
std::vector<Fault> faults_of(const LibraryCall& function, size_t calls,
                             std::span<const ErrorCode> codes, AllCodes all,
                             const std::set<int>& everywhere);

}  // namespace graphc::core::testing
