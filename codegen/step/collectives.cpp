// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/collectives.h"

#include <algorithm>

namespace graphc::core {

const ExternCall* collective_of(const Record& record) {
  const auto* call = std::get_if<ExternCall>(&record.call);
  return call != nullptr && is_collective(*call) ? call : nullptr;
}

ExternCall wait_for(const ExternCall& call) {
  return {.name = call.name,
          .function = std::string(kWait),
          .parameters = {{"call", call.parameter("call")}},
          .operands = call.operands};
}

size_t reads_of(const ExternCall& collective) {
  return size_t(std::ranges::count(collective.operands, false, &ExternOperand::written));
}

}  // namespace graphc::core
