// SPDX-License-Identifier: Apache-2.0
#include "ir/scan.h"

namespace graphc::core {

Scan::Scan(const Node& node)
    : node_(&node),
      streams_(size_t(node.attributes.get_int("streams", 0))),
      carries_(size_t(node.attributes.get_int("carries", 0))),
      steps_(node.attributes.get_int("steps", 0)),
      reverse_(node.attributes.get_bool("reverse", false)),
      save_every_(node.attributes.get_int("save_every", 0)) {
  GRAPHC_CHECK(node.is(ops::scan), "'{}' is not a scan", node.op.name);
}

const Node& add_scan(Graph& graph, ScanParts parts, Where where, std::vector<std::string> names) {
  Attributes attributes{{"streams", int64_t(parts.streams.size())},
                        {"carries", int64_t(parts.initial.size())},
                        {"steps", parts.steps}};
  if (parts.reverse) attributes.set("reverse", true);
  if (parts.save_every > 0) attributes.set("save_every", parts.save_every);
  if (names.empty()) {
    const Values& results = parts.body->results();
    for (size_t i = parts.initial.size(); i < results.size(); ++i)
      names.push_back(results[i].name());
    for (size_t i = 0; i < parts.initial.size(); ++i) {
      names.push_back(parts.body->inputs()[parts.streams.size() + i].name() + ".end");
    }
  }
  Values operands = std::move(parts.streams);
  operands.insert(operands.end(), parts.initial.begin(), parts.initial.end());
  operands.insert(operands.end(), parts.captures.begin(), parts.captures.end());
  return graph.add(ops::scan, std::move(operands), std::move(attributes), {std::move(parts.body)},
                   where, std::move(names));
}

}  // namespace graphc::core
