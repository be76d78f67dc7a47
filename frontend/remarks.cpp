// SPDX-License-Identifier: Apache-2.0
#include "frontend/remarks.h"

#include "ir/called.h"

namespace graphc::core {

std::string to_string(const Remark& remark) {
  const std::string at = remark.where && !is_of_the_library(remark.where)
                             ? fmt::format("{}:{}: ", remark.where.file, remark.where.line)
                             : "";
  return fmt::format("{}remark: {}: {}{}", at, remark.pass,
                     remark.node.empty() ? "" : "%" + remark.node + ": ", remark.text);
}

namespace {

constexpr std::string_view kNothingCarried = "it carries nothing from step to step";

}  // namespace

std::vector<Remark> loops_in_pieces(const CompileReport& report) {
  std::vector<Remark> loops;
  for (const Remark& remark : report.remarks) {
    const bool loop = remark.pass == "fuse" && remark.text.starts_with("a loop, not");
    if (loop && !remark.text.ends_with(kNothingCarried)) loops.push_back(remark);
  }
  return loops;
}

}  // namespace graphc::core
