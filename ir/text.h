// SPDX-License-Identifier: Apache-2.0
// The text of graphs: print and parse. parse(print(g)) equals g; print(parse(t)) is canonical.
//
//   module    = { stateline | graph | region } .
//   stateline = "state" param .                                        states declared but used by
//   no graph graph     = "graph" [ "@" name ] "(" [ params ] ")" [ "state" "(" params ")" ] block .
//   region    = "region" "@" name "(" [ params ] ")" block .           a body used by several nodes
//   block     = "{" { line } [ "next" binds ] [ "return" values | "emit" values ] "}" .
//   line      = names "=" op [ "@" name ] [ operands ] [ attributes ] [ ":" types ]
//             | names "=" "scan" [ attributes ] [ each { "," each } ] [ "carry" binds ] [ "with"
//             values ] body [ ":" types ] | names "=" "kernel" [ attributes ] [ "(" binds ")" ]
//             body [ ":" types ] .
//   body      = block | "@" name .
//   each      = "%" name "in" operand .      bind = "%" name "=" operand .
//   operand   = "%" name | number | op [ "(" operands ")" ] [ attributes ] .     nested on input,
//   printed flat attributes = "{" name "=" attribute { "," name "=" attribute } "}" . type      =
//   dtype "[" [ int { "," int } ] "]" [ "x" int ] .  a repeat count stands for equal types
//
// Scalar constants are printed in place; a number takes the dtype of the first other operand. Types
// are optional on input and always printed. Comments run from `#` to the end of the line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace graphc {

struct PrintOptions {
  bool locations = false;  ///< the user's line behind each node, as a comment
};

std::string print(const Graph& graph, const PrintOptions& options = {});
std::string print(const Module& module, const PrintOptions& options = {});

/// Parses a module. Throws ErrorKind::input with file, line and column, and a "did you mean" where
/// there is one.
Module parse(std::string_view text, std::string_view file_name = "<text>");
/// Parses a text of exactly one graph.
GraphPtr parse_graph(std::string_view text, std::string_view file_name = "<text>");

/// Parses the body of a composite: `graph (%x, ...) { ... }` without types, which are `inputs`.
/// `substitute` gives the text for `$...` (see ir/composite.h).
GraphPtr parse_body(std::string_view text, std::span<const Type> inputs, std::string_view name,
                    const std::function<std::string(std::string_view)>& substitute);

}  // namespace graphc
