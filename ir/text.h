// SPDX-License-Identifier: Apache-2.0
// The text of graphs: print and parse. parse(print(g)) equals g; print(parse(t)) is canonical.
//
//   module     = [ "module" "@" name ] { "state" param | region | graph } .
//   graph      = "graph" [ "@" name ] "(" [ params ] ")" [ "state" "(" params ")" ] block .
//   region     = "region" "@" name "(" [ params ] ")" block .
//   params     = "%" name ":" type { "," "%" name ":" type } .
//   block      = "{" { line } [ "next" binds ] [ ( "return" | "emit" ) [ operands ] ] "}" .
//   line       = [ names "=" ] ( application | scan | kernel ) [ ":" types ] .
//   names      = "%" name { "," "%" name } .
//   application= op [ operands | "(" [ operands ] ")" ] [ attributes ] .
//   scan       = "scan" [ attributes ] [ each { "," each } ] [ "carry" binds ] [ "with" captures ]
//                body .
//   kernel     = "kernel" [ attributes ] [ "(" [ captures ] ")" ] body .
//   body       = block | "@" name .
//   each       = "%" name "in" operand .
//   binds      = "%" name "=" operand { "," "%" name "=" operand } .
//   captures   = "%" name [ "=" operand ] { "," "%" name [ "=" operand ] } .
//   operands   = operand { "," operand } .
//   operand    = "%" name | number | "true" | "false"
//              | op [ "(" [ operands ] ")" ] [ attributes ] .
//   attributes = "{" [ name "=" attribute { "," name "=" attribute } ] "}" .
//   attribute  = number | "true" | "false" | string | dtype | "[" [ "." ] [ numbers ] "]" .
//   types      = type [ "x" int ] { "," type [ "x" int ] } .       "x" repeats the type before it
//   type       = dtype "[" [ int { "," int } ] "]" .
//   name       = letters, digits and "_./-", or a string .
//
// Values. A name is defined once in its graph. Nested operands are shorthand; they print as lines
// of their own. Attributes after an operand list without parentheses belong to the line's op.
// Operands without parentheses begin on the line of their op.
//
// Numbers. A number in place of an operand is a scalar constant with the dtype of the first operand
// of the same op that is a value (the condition of a select is excluded, and cannot be a number).
// An op with only numbers takes its dtype from the op that uses it. Scalar constants print inline
// where these rules restore them, otherwise as lines `constant`. A number with a point or an
// exponent, `inf` and `nan` are floats, others are integers; `[.]` is the empty list of floats.
//
// Regions. In a scan, `%x.t in %x` names one step of a stream, `carry` has the carries with their
// initial values, `with` the captures (`%w` is short for `%w = %w`). The body ends with `next`,
// which assigns each carry, and `emit`; the results of a scan are the emits, then the final
// carries. {steps} is written only for a scan without streams. A region used by several nodes is
// one object: it is printed once, before the graph, as `region`, and named at its uses, which bind
// its parameters by name. It ends with `return`; for a scan its first results are the next values
// of the carries, the others the emits.
//
// States. `state` lines are printed only if the graphs do not use the module's states in order.
//
// Types are optional on input, except in parameters, and always printed. Comments run from `#` to
// the end of the line. Blocks and operands nest at most 64 deep, regions 48.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace graphc::core {

struct PrintOptions {
  bool locations = false;  ///< print the user's line after each node, as a comment
};

[[nodiscard]] std::string print(const Graph& graph, const PrintOptions& options = {});
[[nodiscard]] std::string print(const Module& module, const PrintOptions& options = {});
/// One node as a line, without the contents of its regions: for messages.
[[nodiscard]] std::string print(const Node& node);

/// Parses a module. Throws ErrorKind::input with file, line and column, and with a "did you mean"
/// if there is a close name.
Module parse(std::string_view text, std::string_view file_name = "<text>");
/// Parses a text with exactly one graph.
GraphPtr parse_graph(std::string_view text, std::string_view file_name = "<text>");

/// Parses the body of a composite: `graph (%x, ...) { ... }` without types, which are `inputs`.
/// `substitute` is called with each `$...` and returns its text (see ir/composite.h). All nodes get
/// the line `where`.
GraphPtr parse_body(std::string_view text, std::span<const Type> inputs, std::string_view name,
                    const std::function<std::string(std::string_view)>& substitute,
                    Where where = {});

}  // namespace graphc::core
