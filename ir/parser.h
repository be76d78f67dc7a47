// SPDX-License-Identifier: Apache-2.0
// The parser of ir/text.h: recursive descent over tokens, one method per grammar rule.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/lexer.h"
#include "ir/region_depth.h"

namespace graphc::core {

class Parser {
 public:
  Parser(std::string_view text, std::string_view file_name);

  Module module();
  /// A graph with parameters of these types; its nodes get the line `where`.
  GraphPtr body(std::span<const Type> inputs, std::string_view name, Where where);

 private:
  static constexpr int kMaxDepth = 64;       ///< of nested operands and blocks
  static constexpr int kMaxTypes = 1 << 16;  ///< of one node

  /// A graph under construction, nested in outer ones.
  struct Scope {
    Graph* graph = nullptr;
    const Scope* outer = nullptr;
    /// Numbers written inline: equal ones share a node.
    std::map<std::pair<DType, std::string>, Value> numbers;
    std::unordered_map<std::string, int> suffixes;
  };

  /// An operand as written: a value, or a number or an op of numbers, whose dtype is not known yet.
  struct Term {
    Token token;
    Value value;
    std::optional<Attribute> number;
    const Op* op = nullptr;
    std::vector<Term> operands;
    Attributes attributes;
  };

  /// `%name = operand`; `%name` alone stands for `%name = %name` where the grammar allows it.
  struct Bind {
    Token name;
    Term term;
  };

  /// `next %name = %value, ...` and the results after it, at the end of a block.
  struct BlockEnd {
    std::vector<std::pair<Token, Value>> next;
    Values results;
  };

  enum class Attached : uint8_t { own, outer };  ///< owner of attributes after a nested op

  // ir/parse.cpp: tokens, headers, types and attributes.
  const Token& peek(size_t ahead = 0) const;
  Token take();
  Token expect(TokenKind kind, std::string_view what);
  void expect(char symbol);
  bool accept(char symbol);
  bool accept(std::string_view word);
  bool at_attributes() const;
  Error unexpected(std::string_view wanted) const;
  Where where(const Token& token) const;
  GraphPtr graph();
  void region();
  /// Throws if the regions of a graph just read are nested too deeply.
  void check_depth(const Token& place, const Graph& graph);
  void parameters(Graph& graph, std::span<const Type> types);
  void states(Graph& graph, Module& module);
  std::pair<Token, Type> typed_name();
  Type type();
  std::vector<Type> types();
  Attributes attributes();
  Attribute attribute();
  Attribute list();

  // ir/parse_block.cpp: lines, operands and regions.
  BlockEnd block(Scope& scope, std::string_view last);
  BlockEnd block_end(Scope& scope, std::string_view last);
  void line(Scope& scope);
  const Node& application(Scope& scope, const std::vector<Token>& names);
  const Node& scan(Scope& scope, const Token& token, const std::vector<Token>& names);
  GraphPtr scan_body(Scope& scope, const std::vector<Bind>& binds, size_t streams, size_t carries);
  const Node& kernel(Scope& scope, const Token& token, const std::vector<Token>& names);
  const GraphPtr& named_region(const std::vector<Bind>& binds);
  Values bound(Scope& scope, const std::vector<Bind>& binds);
  std::vector<Bind> binds(Scope& scope, bool short_form);
  const Op& op(const Token& token);
  std::vector<Term> operands(Scope& scope, const Token& op);
  Term operand(Scope& scope, Attached attributes);
  Value find(const Scope& scope, const Token& name);
  Value value(Scope& scope, const Term& term, std::optional<DType> dtype = std::nullopt);
  Value number(Scope& scope, const Term& term, DType dtype);
  const Node& add(Scope& scope, const Token& token, const Op& op, const std::vector<Term>& terms,
                  Attributes attributes, std::vector<std::string> names,
                  std::optional<DType> context);
  const Node& add(Scope& scope, const Token& token, const Op& op, Values operands,
                  Attributes attributes, std::vector<GraphPtr> regions,
                  std::vector<std::string> names);
  std::string fresh_name(Scope& scope, std::string_view hint);

  SourceText source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  std::optional<Where> where_;  ///< for all nodes, instead of their position in the text
  std::unordered_set<std::string_view> names_;  ///< every value name in the text
  std::map<std::string, GraphPtr> regions_;
  RegionDepth region_depth_;
  Module* module_ = nullptr;
};

std::vector<std::string> texts_of(const std::vector<Token>& tokens);

}  // namespace graphc::core
