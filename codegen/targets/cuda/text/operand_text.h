// SPDX-License-Identifier: Apache-2.0
// The operands of a nest's products: their layout in shared memory, and how they are copied there.
#pragma once

#include <array>
#include <cctype>
#include <functional>
#include <string>
#include <string_view>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/product_text.h"
#include "codegen/targets/cuda/text/staging_text.h"

namespace graphc::core::cuda {

/// The constructor's arguments must outlive it. Products are identified by their index.
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

  /// Whether the block keeps the left, or right, operand in shared memory during all steps.
  bool is_exchanged(int p) const { return form_.owned && form_.exchanged[size_t(p)]; }
  bool is_resident(int p) const { return form_.owned && form_.resident[size_t(p)]; }

  /// Declares the shared memory of both operands' pieces, and of the sums that warps hand over.
  void declare_shared(TextWriter& text, int p) const;
  /// How pieces are copied there, from the term `loaded_term` on.
  internal::StagingText left(int p) const;
  internal::StagingText right(int p, int part, int parts) const;

  /// Words of a row of the left operand in shared memory, as text.
  std::string left_words(int p) const;
  /// The number of words of the right operand that the block keeps during all steps.
  std::string resident_words(int p) const;

  /// resident_text() and exchange_text().
  void write_resident(TextWriter& text, int p) const;
  void write_exchange(TextWriter& text, int p, bool given) const;

 private:
  const NestProduct& form_of(int p) const { return program_.products[size_t(p)]; }
  std::string terms(int p) const { return body_.name_of(ParameterKind::k, p); }
  std::string resident_terms(int p) const;
  int words_of_piece(int p) const { return product_.words(p, tile_.k); }
  /// Writes the statement that stores a word of a piece, given its line and its position in it.
  using PutWord = std::function<std::string(const std::string& line, const std::string& at,
                                            const std::string& word)>;
  /// How a piece of `words` of the right operand is copied to the destination that `put` writes.
  internal::StagingText right(int p, int part, int parts, int words, std::string_view column_end,
                              const PutWord& put) const;
  /// A piece of the right operand of a product, on its way to shared memory.
  struct RightPiece {
    int p = 0, part = 0, parts = 1, words = 0;
    std::string column_end;
    internal::StagedPiece piece;
    std::string further;  ///< terms_between()
    std::string term;     ///< the first term of a thread's word, where `further` is empty
  };
  /// StagedTexts::place and number of it, and the condition under which the term `more` behind the
  /// first one of a word is there.
  void place(TextWriter& text, const RightPiece& right, const std::string& in,
             const std::string& at) const;
  std::string number(const RightPiece& right, int number) const;
  std::string is_there(const RightPiece& right, int more) const;
  /// Declares `word` and the first of its terms, `term`.
  void declare_term(TextWriter& text, int p, const std::string& word) const;
  /// The word of one or two loaded numbers, zero where they are not there.
  std::string word(int p, DType dtype, const std::array<std::string, 2>& loaded,
                   const std::array<std::string, 2>& there) const;
  /// Terms from a thread's first word of a piece of the right operand to its word `at`; empty if
  /// they depend on the thread.
  static std::string terms_between(const internal::StagedPiece& piece, std::string_view at);
  /// Offsets within a piece: `int`, unless a stride is too long for that (NestForm::far).
  std::string_view offset_type() const { return form_.far ? "long long" : "int"; }
  std::string offset(const std::string& stride) const {
    const bool is_number = std::isdigit(static_cast<unsigned char>(stride[0])) != 0;
    return form_.far || is_number ? stride : "(int)" + stride;
  }

  const NestProgram& program_;
  const NestForm& form_;
  const ProductTile tile_;
  const ProductText& product_;
  const NestBody& body_;
  const internal::BlockLoops loops_;
};

/// The index of an element of the right operand of product `p`, given the texts of its part and
/// term; `column` is in scope.
std::string right_index(const NestProgram& program, const NestForm& form, const NestBody& body,
                        int p, const std::string& part, const std::string& term);
/// How far its next term is.
std::string right_term_stride(const NestProgram& program, const NestForm& form,
                              const NestBody& body, int p);

/// A number of terms, rounded up as required where a whole operand is kept in shared memory.
std::string rounded_terms(const std::string& terms, const ProductText& text);

}  // namespace graphc::core::cuda
