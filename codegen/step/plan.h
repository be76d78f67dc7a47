// SPDX-License-Identifier: Apache-2.0
// The compiled step as data: buffers with places and lifetimes, and records that every thread
// walks.
//
//     lower (codegen/lower)   kernels to records; every value has a place of its own
//     plan_memory             values share places (plan/sharing.h), buffers get offsets
//     schedule                every record gets each worker's share (plan/schedule.h)
//     verify_plan             replays which value lies where
//
//     place_barriers   barriers between workers (step/barriers.h)
//
// All of them query a Machine (codegen/machine.h); none depends on a particular one. A target
// executes the plan with step/plan_walk.h, or compiles it to its own form.
//
// Only nests are machine code. A plan belongs to one graph at one set of shapes; plans
// can share nests. A record is a phase: values live for whole phases, and a barrier follows a phase
// where a worker needs what another one has done (step/barriers.h). The records of a loop are
// phases of their own, unless the loop is `private_rows`: then each thread runs all steps for its
// own rows without barriers. Phases are numbered in the order of the text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/nest/program.h"
#include "codegen/step/layout.h"
#include "codegen/step/share.h"
#include "ir/graph.h"
#include "ir/kernel_family.h"

namespace graphc::core {

/// Where a buffer lies. `form`: a derived form of a state (runtime/state_store.h), which outlives
/// the call.
enum class Place : uint8_t { arena, input, state, output, constant, form };

/// A stretch of memory that lives for whole phases. A value computed and used within one
/// step of a loop lives for some phases of the loop. Any other value that the loop accesses lives
/// for all its phases.
struct Buffer {
  std::string name;
  Place place = Place::arena;
  int index = 0;  ///< which input, state, output, constant or form
  int64_t bytes = 0;
  int scope = -1;  ///< LoopCall::id of the loop in whose step it lives; -1: none
  int first_phase = -1, last_phase = -1;
  int64_t offset = 0;  ///< in the arena; set by plan_memory
  std::string data;    ///< of a constant
};

/// Where something begins, possibly depending on the loops around it. `terms` add to the offset;
/// during the first iteration of loop `first_loop`, the address is `at_first` (a carry's initial
/// value).
struct Address {
  struct Term {
    int loop = 0;        ///< depth of the loop, outermost 0
    int64_t step = 0;    ///< bytes per step index
    int64_t parity = 0;  ///< bytes added in odd iterations: one of two slots
    bool operator==(const Term&) const = default;
  };
  int buffer = -1;
  int value = -1;      ///< the original buffer, which `buffer` now stores; set by plan_memory
  int64_t offset = 0;  ///< bytes
  std::vector<Term> terms;
  int first_loop = -1;
  std::shared_ptr<const Address> at_first;

  /// Whether two addresses are the same place at every step.
  bool operator==(const Address& other) const;
};

/// A value as it is stored: an address and strides in elements.
struct View {
  Address address;
  DType dtype = DType::f32;
  Shape shape;
  std::array<int64_t, Shape::kMaxRank> strides{};

  bool contiguous() const;
};

/// An operand of a nest call. `outer` has the strides of the axes around rows and columns.
struct CallOperand {
  Address address;                ///< unless it is an iota or a literal
  int64_t base = 0;               ///< iota: the index at row 0, part 0, column 0
  std::array<char, 8> literal{};  ///< literal: the number in its dtype
  int64_t row = 0, part = 0, column = 0;
  std::vector<int64_t> outer;
};

/// Strides in bytes of a stored matrix [k, parts * unit].
struct MatrixStrides {
  int64_t k = 0, column = 0, part = 0;
  bool operator==(const MatrixStrides&) const = default;
};

/// A product of a nest call. The nest reads its right operand, a matrix [k, parts * unit], in
/// panels: it is packed already (`in_panels`), or the call packs it block by block.
struct CallProduct {
  Address a;
  int64_t a_row = 0, a_k = 0;  ///< bytes
  Address b;
  bool in_panels = false;
  MatrixStrides b_strides;  ///< unused when in panels
  PanelForm panels;
  std::vector<int64_t> outer;        ///< bytes, of the left operand
  std::vector<int64_t> right_outer;  ///< the same of the right one: 0, but for batches of matrices
  /// In the first iteration of the enclosing loop the left operand is zero: the product runs with
  /// k = 0.
  bool zeros_at_first = false;
};

/// The axes that a call may be shared out along; schedule() chooses one from the number of workers.
enum class Split : uint8_t { rows, columns, any };

/// One call of a nest, over rows x parts x unit columns.
struct NestCall {
  std::string name;
  int program = 0;  ///< index into Plan::programs
  std::vector<CallOperand> operands;
  std::vector<CallProduct> products;
  std::vector<int64_t> outer;  ///< extents around the rows
  int64_t rows = 0, unit = 0;
  Split split = Split::any;
};

/// The part of a nest's call that one worker executes.
struct NestPart {
  Range outer{0, 1};  ///< of the outermost axis around the rows; {0, 1} where there is none
  Range rows, columns;

  /// Whether nothing is executed. A call without rows or columns still writes its sums: 0.
  bool is_empty(const NestCall& call) const;
};
/// All of a call, but for `own` along what is shared out.
NestPart part_of(const NestCall& call, Along along, Range own);

/// Puts matrices [k, parts * unit] into panels, those of one after those of another.
struct PanelCall {
  std::string name;
  Address from, to;
  MatrixStrides from_strides;
  PanelForm panels;
  int64_t matrices = 1;
  int64_t from_matrix = 0;  ///< bytes from one matrix to the next

  int64_t blocks() const { return matrices * panels.blocks(); }
  int64_t bytes() const { return matrices * panels.bytes(); }
};

enum class TableOp : uint8_t { gather, scatter, scatter_add, merge_rows, check_labels };
std::string_view name_of(TableOp op);

/// Rows of a table by index, each `row_bytes` contiguous bytes: gather copies them out, scatter
/// writes and scatter_add adds rows to them. merge_rows makes a table of the sums of rows with
/// equal indices, and the distinct indices. check_labels checks the indices against `table_rows`,
/// reads no table, and copies the indices to `rows`.
struct TableCall {
  std::string name;
  TableOp op = TableOp::gather;
  Address table, indices, rows;
  Address distinct;  ///< merge_rows only
  DType dtype = DType::f32, index_dtype = DType::i32, distinct_dtype = DType::i32;
  int64_t table_rows = 0, count = 0, row_bytes = 0;
  Where where;  ///< for an index outside the table

  bool has_table() const { return op != TableOp::check_labels; }
};

struct Record;

/// A value that goes from step to step: `now` is what a step finds, `next` what it leaves. As
/// lowered these are two buffers. Each step reads the previous step's `next` as `now`; the first
/// reads `initial`. plan_memory() gives them one place, or two that change roles.
struct Carry {
  int now = -1, next = -1;  ///< buffers as lowered, alike and contiguous
  Address initial;
  DType dtype = DType::f32;
  int64_t elements = 0;
  int64_t rows = 1;  ///< of a loop with matrices: `elements` are so many equal rows, one by one
};

/// Steps 0 .. steps-1, or backwards with `reverse`.
struct LoopCall {
  std::string name;
  int id = -1;  ///< distinct; -1 with private_rows
  int64_t steps = 0;
  bool reverse = false;
  bool private_rows = false;
  int64_t rows = 0;  ///< shared out if private_rows
  /// A carry has a matrix in every row. Values that live in a step, or in one of a loop inside,
  /// share no memory with each other then, so that rows stay apart.
  bool matrices = false;
  /// Rows that no access of the loop joins: a worker takes one of its own after another through all
  /// steps, those of loops inside included, and what a row reads and writes stays in its caches. 0:
  /// not so. Records share out as many rows, or indices of an outermost axis. Set by
  /// keep_rows_apart() (step/rows_apart.h), of the outermost such loop.
  int64_t rows_apart = 0;
  std::vector<Carry> carries;
  std::vector<Record> body;
  Where where;  ///< of the user's loop
};

/// The nests of a body of several stages: each thread runs them all for a few of its rows at
/// a time, while those are in its cache, without barriers in between.
struct BlockCall {
  std::string name;
  int64_t rows = 0;
  int64_t block_rows = 1;
  std::vector<Record> body;  ///< nest calls over `rows` rows
};

/// An operand of an external call: a contiguous range of bytes, read or written.
struct ExternOperand {
  std::string name;  ///< as the function calls it
  Address address;
  int64_t bytes = 0;
  bool written = false;
};

/// Work that a target does without a nest: a library function or a collective. The plan knows only
/// what the call accesses. The target that lowered it (Machine::lower_external) knows what it
/// computes, from the name of the function and its parameters.
struct ExternCall {
  std::string name;
  std::string function;                                     ///< "lstm"
  std::vector<std::pair<std::string, int64_t>> parameters;  ///< of the function: "steps", 35
  std::vector<ExternOperand> operands;  ///< reads before writes; absent ones are left out

  /// Null if the call has no such operand.
  const ExternOperand* operand(std::string_view name) const;
  /// Throws an internal error if the call has no such parameter.
  int64_t parameter(std::string_view name) const;
};

struct Record {
  std::optional<Family>
      family;  ///< of the kernel it comes from; none: a loop around kernels, or external
  std::variant<NestCall, PanelCall, TableCall, ExternCall, LoopCall, BlockCall> call;
  int id = -1;  ///< distinct, in the order of lowering; -1: a copy that planning added
  Share share;  ///< set by schedule()
  /// Whether a barrier of all workers follows it, or the last step of a loop; set by
  /// place_barriers().
  bool barrier = false;
  /// Its result is unused in the last iteration of the enclosing loop: walks skip it there.
  bool idle_at_last = false;
};

/// A derived form of states that the plan reads: panels of a weight, or all weights of a layer in
/// the order of the machine's library. Before the records of the plan, `make` writes it from the
/// states as the call finds them, if one has been written since that was done last; so calls that
/// change no weights make nothing.
struct PlanForm {
  int buffer = -1;           ///< what is written
  std::vector<int> states;   ///< of the graph: what it is made from
  std::vector<Record> make;  ///< panels of one state; or nests, none of which reads another's

  /// How it is made if it is the panels of one state; else null.
  const PanelCall* panels() const;
  /// Of panels: all that decides their bytes, besides the state's. Plans with equal keys share the
  /// memory.
  std::vector<int64_t> key() const;
};

/// A copy that planning removed, because source and destination share a place.
struct RemovedCopy {
  int from = -1, to = -1;  ///< values
  int id = -1;             ///< of the record
  int scope = -1;          ///< LoopCall::id of the loop around it
};

struct Plan {
  std::string name;
  std::vector<NestProgram> programs;  ///< distinct; each is compiled once
  std::vector<Buffer> buffers;
  std::vector<PlanForm> forms;  ///< made before the records, each if it is stale
  std::vector<Record> records;
  std::vector<RemovedCopy> removed;  ///< by id
  std::vector<View> results;         ///< of the graph's results, in output buffers
  int64_t arena_bytes = 0;
  int phases = 0;
  int loop_depth = 0;  ///< deepest nesting of loops
  int workers = 1;     ///< among whom the records are shared out
};

/// The plan as readable text: buffers with offset, lifetime and phase, records with what they
/// read and write.
std::string print(const Plan& plan);

}  // namespace graphc::core
