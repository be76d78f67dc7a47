// SPDX-License-Identifier: Apache-2.0
#include "models/language_layer.h"

#include <algorithm>

namespace graphc::core {
namespace {

using BlockPointer = std::shared_ptr<const RecurrentBlock>;

struct BlockKind {
  std::string_view name;
  bool heads;
  BlockPointer (*make)(Model& model, const std::string& name, int64_t hidden, int64_t heads);
};

template <typename Block>
BlockPointer with_heads(Model& model, const std::string& name, int64_t hidden, int64_t heads) {
  return std::make_shared<Block>(model, name, hidden, hidden, HeadOptions{.heads = heads});
}
template <typename Block>
BlockPointer without_heads(Model& model, const std::string& name, int64_t hidden, int64_t) {
  return std::make_shared<Block>(model, name, hidden, hidden);
}

constexpr BlockKind kBlocks[] = {
    {"gated-delta", true, with_heads<GatedDelta>},
    {"mlstm", true, with_heads<Mlstm>},
    {"slstm", true, with_heads<Slstm>},
    {"selective-scan", false, without_heads<SelectiveScan>},
    {"rwkv7", true, with_heads<Rwkv7>},
    {"rg-lru", false, without_heads<RgLru>},
    {"min-gru", false, without_heads<MinGru>},
};

const BlockKind& kind_of(std::string_view name) {
  const auto found = std::ranges::find(kBlocks, name, &BlockKind::name);
  GRAPHC_CHECK(found != std::end(kBlocks), "no block '{}'", name);
  return *found;
}

}  // namespace

std::vector<std::string_view> language_cells() {
  std::vector<std::string_view> names{"lstm"};
  for (const BlockKind& block : kBlocks) names.push_back(block.name);
  return names;
}

bool has_heads(std::string_view cell) { return cell != "lstm" && kind_of(cell).heads; }

LanguageLayer::LanguageLayer(Model& model, const std::string& name, int64_t hidden,
                             const LanguageCell& cell) {
  if (hidden % cell.heads != 0) {
    throw Error(ErrorKind::usage, {},
                fmt::format("cell={}: wanted heads that divide the {} units: found {}", cell.name,
                            hidden, cell.heads));
  }
  norm_.emplace(model, name + ".norm", hidden);
  block_ = kind_of(cell.name).make(model, name, hidden, cell.heads);
}

std::vector<BlockState> LanguageLayer::states(int64_t batch) const {
  if (block_) return block_->states(batch);
  const Shape shape{batch, lstm_->u.shape()[0]};
  return {{"h", shape}, {"c", shape}};
}

Value LanguageLayer::step(Value x, std::vector<State>& states) const {
  if (block_) return x + block_->step((*norm_)(x), states);
  lstm_->step(x, states[0], states[1]);
  return states[0];
}

Value LanguageLayer::run(Value xs, std::vector<State>& states, double keep) const {
  if (block_) return xs + dropout(block_->run((*norm_)(xs), states), {.keep = keep});
  return dropout(lstm_->run(xs, states[0], states[1]), {.keep = keep});
}

double LanguageLayer::flop() const {
  double flop = 0;
  for (const Param& param : block_ ? block_->params() : lstm_->params()) {
    if (param.shape().rank() > 1) flop += 2 * double(param.shape().elements());
  }
  return flop;
}

}  // namespace graphc::core
