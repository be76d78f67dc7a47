// SPDX-License-Identifier: Apache-2.0
// The language: values, nodes and graphs. This is the header to read first.
//
// A graph is a list of nodes in an order in which every node comes after its operands. A node is
// the application of an op (ir/op.h: a constant record that lives as long as the program) to
// values of the same graph; a value is one result of a node. Inputs and states are nodes too, of
// the ops `input` and `state`, so that every value has a node. There are no use lists.
//
// A *region* is a graph inside a node: the body of a `scan`, the contents of a `kernel`. Regions
// nest. A region is closed: everything it uses is one of its inputs, and input i is operand i of
// the node, or one step of it where the op says so (ir/scan.h). Only during tracing may a region
// use values of the graphs around it; each becomes an input. A node holds its regions by shared
// pointers to frozen graphs; nodes with the same region share one object (a forward loop copied for
// two layers of one shape has one body).
//
// A *state* belongs to the module, not to a graph: parameters, optimizer slots, carried
// activations, counters. A graph lists the states it uses and, in `next`, the value each will have
// after the graph has run. All `next` are assigned at once, after everything else. Regions have no
// states.
//
// *Ownership*: a Graph owns its nodes; a Value is a plain pointer and an index, valid as long as
// its graph and not keeping it alive: hold the GraphPtr. A graph is built by adding nodes, then
// frozen; from then on nobody changes it. The fields of a Node are public to be read.
//
// A *pass* is a function from frozen graph to frozen graph: it builds a new graph from an old one
// (ir/rewrite.h), so that before and after both exist. It may assume what the verifier checks
// (ir/verify.h): types inferred and correct, regions closed, names unique in a graph. It may not
// assume that every node is live, nor which passes ran before. It must keep the number, order and
// types of inputs, states, results and `next`, and their values: exactly where arithmetic is exact,
// otherwise up to the rounding of another summation order. It keeps the names and user lines of
// nodes that it copies; dead nodes need not be copied. Where a pass cannot apply, it leaves the
// graph unchanged and emits a remark.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/attribute.h"
#include "ir/error.h"
#include "ir/indexing.h"
#include "ir/name_table.h"
#include "ir/type.h"

namespace graphc::core {

struct Node;
struct Op;
class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

/// The number of the trace active on this thread, set by the tracer; 0 if none.
uint32_t& current_trace_number();

/// One result of a node. Two words; copied freely. A default value is "absent".
///
/// A value of a user's trace carries the number of that trace: its graph dies with the trace, but
/// users may keep values in variables. Reading one later, or in another trace, is ErrorKind::input.
/// Graphs that are not traced by a user have the number 0 and are not checked.
struct Value {
  const Node* node = nullptr;
  int index = 0;
  uint32_t trace = 0;

  /// Throws ErrorKind::input, at `where`, for an absent value and for one of another trace.
  void expect_usable(Where where) const;

  const Type& type() const;
  const Shape& shape() const;
  DType dtype() const;
  const std::string& name() const;  ///< without the percent sign; unique in its graph
  explicit operator bool() const { return node != nullptr; }
  /// Whether both are the same result of the same node; ir/build.h has equal(), which compares
  /// elements.
  bool operator==(const Value& other) const { return node == other.node && index == other.index; }

  /// Element `place` along axis 0, which is removed; adds nodes, as the functions of ir/build.h do.
  Value operator[](Index place) const;
  /// A part along an axis: `x[{.from = 1}]`.
  Value operator[](Slice part) const;
};
using Values = std::vector<Value>;

/// One application of an op. Never changes after it has been added to its graph.
struct Node {
  const Op& op;
  Values operands;
  Attributes attributes;
  std::vector<GraphPtr> regions;   ///< frozen; most nodes have none, `scan` and `kernel` have one
  std::vector<Type> types;         ///< of the results, computed by `op.infer`
  std::vector<std::string> names;  ///< of the results; kept through passes
  Where where;                     ///< the user's line that created it
  Graph* graph = nullptr;          ///< the graph that owns this node
  int id = 0;                      ///< position in its graph: index into `Graph::nodes()`
  uint32_t trace = 0;              ///< see Value

  bool is(const Op& other) const { return &op == &other; }
  int results() const { return int(types.size()); }
  Value result(int index = 0) const { return {this, index, trace}; }
  const Graph& region(int index = 0) const { return *regions.at(size_t(index)); }
};

/// A state and the value it has after the graph has run.
struct Next {
  Value state;
  Value value;
};

/// Inputs, states, nodes and results; also the region inside a node.
class Graph {
 public:
  explicit Graph(std::string name = "");
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // --- building: refused (internal error) once frozen ---

  /// Adds an input. Inputs keep the order in which they are added.
  Value input(const Type& type, std::string name, Where where = {});
  /// Adds a use of the module's state `name`; returns the existing value if it is already listed.
  /// Throws ErrorKind::input if it is listed with another type.
  Value state(const Type& type, const std::string& name, Where where = {});
  /// Adds a node and infers its result types. Names are hints: a name already taken gets `.1`,
  /// `.2`, ...; absent names come from the op. Throws ErrorKind::input, at `where`, if the operands
  /// do not fit the op.
  const Node& add(const Op& op, Values operands, Attributes attributes = {},
                  std::vector<GraphPtr> regions = {}, Where where = {},
                  std::vector<std::string> names = {});
  /// Adds a node with the op, attributes, line and names of `node`, which may be in any graph, and
  /// these operands and regions. Reuses the types of `node` if operand types and regions are the
  /// same; otherwise infers them. Throws what add() throws.
  const Node& add_copy(const Node& node, Values operands, std::vector<GraphPtr> regions);
  void set_results(Values results);
  /// Reserves room for this many more nodes, if the number is known.
  void reserve(size_t nodes);
  /// Sets the value of `state` after the graph has run. The types must be equal; the last call for
  /// a state counts.
  void set_next(Value state, Value value);
  void set_name(std::string name) { name_ = std::move(name); }
  /// Marks its values as those of this trace; call before adding nodes.
  void set_trace(uint32_t number) { trace_ = number; }

  // --- reading ---

  const std::string& name() const { return name_; }
  /// All nodes in order, inputs and states among them. References stay valid while the graph lives.
  const std::deque<Node>& nodes() const { return nodes_; }
  const Values& inputs() const { return inputs_; }
  const Values& states() const { return states_; }
  const std::vector<Next>& next() const { return next_; }
  const Values& results() const { return results_; }
  /// The value with this name, or an absent value.
  Value find(const std::string& name) const;
  /// Every value that must outlive the graph's run: results, then the values of `next`.
  Values roots() const;
  bool frozen() const { return frozen_; }

  // --- tracing: a region under construction may use values of the graphs around it ---

  /// The enclosing graph during tracing; null otherwise.
  Graph* parent() const { return parent_; }
  void set_parent(Graph* parent) { parent_ = parent; }
  /// The input of this graph that stands for `outer`, a value of an enclosing graph; created on
  /// first use.
  Value capture(Value outer);
  /// The captured outer values, in the order of the inputs made for them.
  const std::vector<std::pair<Value, Value>>& captures() const { return captures_; }

 private:
  friend GraphPtr freeze(std::unique_ptr<Graph> graph);
  Node& append(const Op& op, Values operands, Attributes attributes, std::vector<GraphPtr> regions,
               Where where);
  void infer_types(Node& node);
  void name_results(Node& node, std::vector<std::string> hints);
  std::string unique_name(const std::string& taken);

  std::string name_;
  std::deque<Node> nodes_;
  Values inputs_, states_, results_;
  std::vector<Next> next_;
  NameTable names_;
  std::unordered_map<std::string, int> suffixes_;
  std::vector<std::pair<Value, Value>> captures_;
  Graph* parent_ = nullptr;
  uint32_t trace_ = 0;
  bool frozen_ = false;
};

/// Ends the building of a graph: from here on it is constant and may be shared.
GraphPtr freeze(std::unique_ptr<Graph> graph);

/// Program equality: the same nodes applied to the same values, with equal attributes, regions,
/// types, inputs, states, results and next. Names of values, user locations, the order of
/// independent nodes, and whether two uses share one constant node are ignored.
bool equal(const Graph& a, const Graph& b);

/// Named graphs and the states they share.
struct Module {
  std::string name;
  std::vector<std::pair<std::string, Type>> states;  ///< in the order of declaration
  std::vector<GraphPtr> graphs;                      ///< each with a distinct name

  /// The graph called `name`; throws ErrorKind::input naming the existing graphs.
  const GraphPtr& graph(const std::string& name) const;
  /// Declares a state; throws ErrorKind::input if it is declared with another type.
  void declare(const std::string& name, const Type& type, Where where = {});
};

}  // namespace graphc::core
