// SPDX-License-Identifier: Apache-2.0
// The operands of a nest's products: where they lie in shared memory, and how they come there.
#pragma once

#include <string>
#include <string_view>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/product_text.h"
#include "codegen/targets/cuda/text/staging_text.h"

namespace graphc::core::cuda {

/// What it is made of outlives it. Products are known by their number.
class OperandText {
 public:
  OperandText(const NestProgram& program, const NestForm& form, const ProductTile& tile,
              const ProductText& product, const NestBody& body)
      : program_(program),
        form_(form),
        tile_(tile),
        product_(product),
        body_(body),
        loops_(form.owned) {}

  /// Whether the block has the left, the right operand in shared memory during all steps.
  bool is_exchanged(int p) const { return form_.owned && !form_.exchanged[size_t(p)].empty(); }
  bool is_held(int p) const { return form_.owned && !form_.held[size_t(p)].empty(); }

  /// The shared memory of both operands' pieces, and of the sums that warps hand over.
  void declare_shared(TextWriter& text, int p) const;
  /// How pieces come there, from the term `loaded_term` on.
  internal::StagingText left(int p) const;
  internal::StagingText right(int p, int part, int parts) const;

  /// Words of a row of the left operand where it lies, as text.
  std::string left_words(int p) const;
  /// How many words of the right operand the block has during all steps.
  std::string held_words(int p) const;

  /// hold_text() and exchange_text().
  void write_hold(TextWriter& text, int p) const;
  void write_exchange(TextWriter& text, int p, bool given) const;

 private:
  const NestProduct& form_of(int p) const { return program_.products[size_t(p)]; }
  std::string terms(int p) const { return body_.name_of(ParameterKind::terms, p); }
  std::string held_terms(int p) const;
  int words_of_piece(int p) const { return product_.words(p, tile_.terms); }
  /// How a piece of `words` of the right operand comes to what `put` says.
  internal::StagingText right(int p, int part, int parts, int words, std::string_view column_end,
                              decltype(internal::StagedTexts::put) put) const;
  /// The place of an element for the text of its part and term.
  std::string right_index(int p, const std::string& part, const std::string& term) const;
  /// From a term to the next.
  std::string right_term_stride(int p) const;

  const NestProgram& program_;
  const NestForm& form_;
  const ProductTile tile_;
  const ProductText& product_;
  const NestBody& body_;
  const internal::BlockLoops loops_;
};

/// What a number of terms takes where an operand lies in shared memory as a whole.
std::string rounded_terms(const std::string& terms, const ProductText& text);

}  // namespace graphc::core::cuda
