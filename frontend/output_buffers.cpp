// SPDX-License-Identifier: Apache-2.0
#include "frontend/output_buffers.h"

#include <algorithm>
#include <utility>

namespace graphc::core {

OutputBuffers::OutputBuffers(const std::vector<Argument>& outputs) : others_(outputs.size()) {
  for (const Argument& output : outputs) last_.emplace_back(output.type);
}

std::vector<Tensor>& OutputBuffers::next() {
  for (size_t i = 0; i < last_.size(); ++i) {
    if (last_[i].is_unique()) continue;
    std::vector<Tensor>& others = others_[i];
    const auto free = std::ranges::find_if(others, &Tensor::is_unique);
    if (free != others.end()) {
      std::swap(last_[i], *free);
      continue;
    }
    Tensor fresh(last_[i].type());
    others.push_back(std::exchange(last_[i], std::move(fresh)));
    if (others.size() == kMost) others.erase(others.begin());
  }
  return last_;
}

}  // namespace graphc::core
