// SPDX-License-Identifier: Apache-2.0
#include "ir/op_attributes.h"

#include <algorithm>

namespace graphc::core {

std::set<std::string> attribute_names(const Op& op) {
  std::set<std::string> names;
  // "{dtype, shape}" names two.
  for (size_t i = op.doc.find('{'); i != op.doc.npos; i = op.doc.find('{', i + 1)) {
    const size_t end = op.doc.find('}', i);
    for (size_t begin = i + 1; begin < end;) {
      const size_t comma = std::min(op.doc.find(", ", begin), end);
      names.emplace(op.doc.substr(begin, comma - begin));
      begin = comma == end ? end : comma + 2;
    }
  }
  if (op.samples == nullptr) return names;
  for (const Sample& sample : op.samples()) {
    for (const auto& [name, value] : sample.attributes) names.insert(name);
  }
  return names;
}

}  // namespace graphc::core
