// SPDX-License-Identifier: Apache-2.0
// A recurrent layer of a language model: an LSTM, or a block of frontend/blocks.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graphc.h"

namespace graphc::core {

/// The cell of a language model's layers.
struct LanguageCell {
  std::string_view name = "lstm";
  int64_t heads = 1;
};

/// lstm, then the blocks: gated-delta, mlstm, slstm, selective-scan, rwkv7, rg-lru, min-gru.
std::vector<std::string_view> language_cells();
/// Whether the cell has heads.
bool has_heads(std::string_view cell);

/// One layer, [..., hidden] to [..., hidden]. A block is normalised before and has a residual
/// around it: x + dropout(block(layer_norm(x))). An LSTM is as in Zaremba et al. 2014:
/// dropout(lstm(x)).
class LanguageLayer {
 public:
  explicit LanguageLayer(Lstm layer) : lstm_(std::move(layer)) {}
  /// A block with its parameters under `name`. Throws ErrorKind::usage for heads that do not divide
  /// the units.
  LanguageLayer(Model& model, const std::string& name, int64_t hidden, const LanguageCell& cell);

  std::vector<BlockState> states(int64_t batch) const;
  Value step(Value x, std::vector<State>& states) const;
  Value run(Value xs, std::vector<State>& states, double keep) const;
  /// Nominal FLOP of one step of one row: the products with its matrices.
  double flop() const;

 private:
  std::optional<Lstm> lstm_;
  std::optional<LayerNorm> norm_;
  std::shared_ptr<const RecurrentBlock> block_;
};

}  // namespace graphc::core
