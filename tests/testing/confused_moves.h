// SPDX-License-Identifier: Apache-2.0
// The moves that build confused graphs: each adds a few nodes that use existing values.
#pragma once

#include <functional>
#include <random>

#include "ir/op.h"
#include "ir/scan.h"
#include "tests/testing/confused_graph.h"

namespace graphc::core::testing {

/// A value and a bound on the magnitude of its elements.
struct Sized {
  Value value;
  int64_t bound = 0;

  const Shape& shape() const { return value.shape(); }
  const Type& type() const { return value.type(); }
  DType dtype() const { return value.dtype(); }
  int rank() const { return value.shape().rank(); }
};
using Pool = std::vector<Sized>;

/// A graph under construction, or the body of a loop in it: what a move may use.
struct Scope {
  Graph& graph;
  Scope* outer = nullptr;
  Pool pool = {};
  Pool carries = {};  ///< if it is the body of a loop
  /// Pairs of values that are at one address in some steps: a stream and its first step, carries
  /// that become one.
  std::vector<std::pair<Sized, Sized>> of_one_place = {};
  int depth = 0;
};

/// Draws a graph. Moves return the values they made, and the caller adds them to the scope's pool.
class Confuser {
 public:
  Confuser(unsigned seed, const ConfusedOptions& options);

  GraphPtr run();

 private:
  using Holds = std::function<bool(const Sized&)>;

  // --- confused_moves.cpp: drawing, choosing, leaves ---
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return draw(1, 100) <= percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[size_t(draw(0, int(all.size()) - 1))];
  }
  int64_t extent(std::initializer_list<int64_t> usual);
  Shape themed_shape();
  DType themed_dtype();
  /// An axis of the value, which must have one.
  int axis_of(const Sized& x) { return draw(0, x.rank() - 1); }
  /// All values of the scope and its enclosing scopes for which `holds`; captures none.
  Pool visible(const Scope& scope, const Holds& holds) const;
  /// The same value, captured into the scope.
  Sized inside(const Scope& scope, const Sized& x) const;
  /// One of them in the scope, preferring late and inner ones; absent if there is none.
  Sized pick(const Scope& scope, const Holds& holds);
  Sized pick(const Scope& scope);
  /// Unused values of the scope, except leaves: without a use they are dead.
  Pool unused(const Scope& scope) const;
  /// An existing value of this type, or a new leaf.
  Sized take(const Scope& scope, const Type& type);
  /// A new input, state or constant of this type, captured into the scope.
  Sized leaf(const Scope& scope, const Type& type);
  Sized list_constant(Graph& graph, const Type& type);

  // --- confused_arithmetic.cpp ---
  /// Clipped to [-bound, bound]; for real numbers with tanh.
  Sized clipped(const Sized& x, int64_t bound);
  /// The same value or, if it is large, one with small elements made from it.
  Sized tamed(const Sized& x);
  Sized converted(const Sized& x, DType dtype);
  Sized unary(const Sized& x);
  Sized combined(const Sized& x, const Sized& y);
  Sized binary(const Scope& scope, const Sized& x);
  Sized reduced(const Sized& x);
  /// An iota of a narrow type that overflows it.
  Sized long_iota(const Scope& scope);
  /// Constants whose product overflows f32. Only for results.
  Value beyond_range(const Sized& x);
  Value compared(Value x, Value y);
  int64_t held(DType dtype, int64_t bound) const;

  // --- confused_views.cpp ---
  Sized view(const Sized& x);
  /// The same elements in the same shape, rearranged.
  Sized moved(const Sized& x);
  Sized joined(const Scope& scope, const Sized& x);
  Sized reshaped(const Sized& x);
  /// The history of a loop, or something similar, after two first steps.
  Pool histories(const Scope& scope, const Sized& y);

  // --- confused_tables.cpp ---
  Pool table(const Scope& scope);
  Sized indices(const Scope& scope, const Sized& table, int64_t count);

  // --- confused_products.cpp ---
  Pool product(const Scope& scope);
  /// x [..., k] times some [k, n], or absent.
  Sized product_with(const Scope& scope, const Sized& x, int64_t n);
  /// A matrix [k, n] or [n, k]: an existing one, a part of one, or a new leaf.
  Sized matrix(const Scope& scope, int64_t k, int64_t n);
  /// Products of carries with two matrices that start at one address, if there are such.
  Pool products_of_one_place(const Scope& scope, const Sized& carry);
  /// A sum of products and values of a carry's type: any of them, or with a product of each carry.
  enum class Cell { of_any, of_all };
  Sized cell(const Scope& scope, const Sized& carry, Cell kind = Cell::of_any);

  // --- confused_loops.cpp ---
  /// The kind of a loop: anything; cells that share matrices; a loop around such a loop, with its
  /// matrices as streams and carries.
  enum class Loop { plain, of_cells, around };
  Pool loop(Scope& scope, Loop kind);
  Loop kind_of_loop(const Scope& scope);
  Shape step_shape(Loop kind);
  void add_streams(Scope& scope, ScanParts& parts, Scope& body, Loop kind);
  /// Adds the first step of streams of matrices, for use in every step.
  void add_first_steps(const ScanParts& parts, Scope& body);
  void add_carries(Scope& scope, ScanParts& parts, Scope& body, Loop kind);
  Sized next_of(const Scope& body, const Sized& carry, const Pool& earlier, Loop kind);
  /// The next value of each carry; with `become_one`, similar carries all take the first one's.
  Pool next_values(const Scope& body, Loop kind, bool become_one);
  Sized emit_of(const Scope& body, const Pool& next);

  // --- confused_states.cpp ---
  void add_states(Scope& root);
  void set_next(Scope& root, Values& results);
  Sized next_state(Scope& root, const Sized& state);
  void add_gradient(Scope& root, Values& results);

  // --- confused_graph.cpp ---
  void grow(Scope& scope, int moves);
  Pool move(Scope& scope);

  const ConfusedOptions options_;
  std::mt19937 random_;
  Scope* root_ = nullptr;
  Pool states_;
  Values leaves_;   ///< f32, to differentiate by
  Values results_;  ///< used only as results: bounds do not hold for them
  int64_t steps_ = 3, inner_steps_ = 2, rows_ = 3, columns_ = 8, half_ = 4;
  std::vector<int> weights_;  ///< of the kinds of moves
  int integers_ = 10;         ///< percentage of leaves
  int loops_ = 0;
};

constexpr int64_t kBoundLimit = int64_t{1} << 22;
/// The bound of integers that may have wrapped.
constexpr int64_t kWild = int64_t{1} << 30;
/// The bound of inputs and of initial states.
constexpr int64_t kLeafBound = 4;
/// The bound of a state's next value.
constexpr int64_t kNextBound = 64;

}  // namespace graphc::core::testing
