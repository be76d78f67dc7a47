// SPDX-License-Identifier: Apache-2.0
// Initial values that need no kernel: constants, and uniform numbers with a scale and an offset,
// from which layers draw their weights. They are drawn while a graph is compiled, because
// compilation is mostly single-threaded.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::core {

/// An initial value of this kind.
class PlainDraw {
 public:
  /// The draw that a graph computes from its only input, the key (initial_graph()). Empty unless
  /// the graph is a constant, or one `uniform` under that key with additions, subtractions and
  /// multiplications by numbers.
  static std::optional<PlainDraw> of(const Graph& initial, int64_t key);

  const Type& type() const { return type_; }
  /// Bit-identical to the evaluator for any number of threads; large values use up to `threads`.
  Literal value(int threads) const;

 private:
  /// A binary operation with a number on either side.
  struct Step {
    const Op* op;
    float number;
    bool number_first;
  };
  using Piece = std::array<float, 2048>;  // stays in L1 from step to step
  static void take(const Step& step, Piece& numbers);

  Type type_;
  int64_t key_ = 0;
  std::optional<double> constant_;
  std::vector<Step> steps_;  // from `uniform` to the result
};

/// Draws values in order on a thread of its own until finish() is called.
class DrawsBeside {
 public:
  using Draws = std::vector<std::pair<std::string, PlainDraw>>;

  /// Starts no thread if there are no draws. Values with more than kMostElements elements are left
  /// to the caller, who has more threads for them.
  explicit DrawsBeside(Draws draws);
  DrawsBeside(const DrawsBeside&) = delete;
  DrawsBeside& operator=(const DrawsBeside&) = delete;
  ~DrawsBeside() { finish(); }

  static constexpr int64_t kMostElements = int64_t(1) << 24;

  /// Starts no further value and waits for the current one.
  void finish();
  /// After finish(): the value with that name, once; empty if it was not drawn.
  std::optional<Literal> take(std::string_view name);

 private:
  void draw_all();

  Draws draws_;
  std::map<std::string, Literal, std::less<>> values_;
  std::atomic<bool> enough_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace graphc::core
