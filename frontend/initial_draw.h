// SPDX-License-Identifier: Apache-2.0
// Initial values that need no kernel: uniform numbers that a few numbers are added to and
// multiplied with, which is what layers' weights are drawn from, and constants. They are drawn
// while a graph is compiled, as most of that is one thread's work.
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

/// An initial value of that kind.
class PlainDraw {
 public:
  /// What a graph draws from its only input, the key (initial_graph()). Nothing where it has
  /// anything but one `uniform` under that key and additions, subtractions and multiplications by
  /// numbers, and is not a constant.
  static std::optional<PlainDraw> of(const Graph& initial, int64_t key);

  const Type& type() const { return type_; }
  /// The bits of the evaluator, whatever the number of threads: large values are drawn by up to
  /// `threads`.
  Literal value(int threads) const;

 private:
  /// An operation with a number, on either side.
  struct Step {
    const Op* op;
    float number;
    bool number_first;
  };
  using Piece = std::array<float, 2048>;  // stays in the first-level cache from step to step
  static void take(const Step& step, Piece& numbers);

  Type type_;
  int64_t key_ = 0;
  std::optional<double> constant_;
  std::vector<Step> steps_;  // from `uniform` to the result
};

/// Draws values on a thread of its own, from the first on, until finish().
class DrawsBeside {
 public:
  using Draws = std::vector<std::pair<std::string, PlainDraw>>;

  /// Without draws no thread is made. Values of more than kMostElements are left to the caller, who
  /// has more threads for them.
  explicit DrawsBeside(Draws draws);
  DrawsBeside(const DrawsBeside&) = delete;
  DrawsBeside& operator=(const DrawsBeside&) = delete;
  ~DrawsBeside() { finish(); }

  static constexpr int64_t kMostElements = int64_t(1) << 24;

  /// Begins no other value, and waits for the one under way.
  void finish();
  /// After finish(): the value of that name, once; nothing where it was not drawn.
  std::optional<Literal> take(std::string_view name);

 private:
  void draw_all();

  Draws draws_;
  std::map<std::string, Literal, std::less<>> values_;
  std::atomic<bool> enough_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace graphc::core
