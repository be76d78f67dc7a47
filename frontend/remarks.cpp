// SPDX-License-Identifier: Apache-2.0
#include "frontend/remarks.h"

#include <algorithm>
#include <iterator>

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

bool is_of_loop_in_pieces(const Remark& remark) {
  return remark.pass == "fuse" && remark.text.starts_with("a loop, not") &&
         !remark.text.ends_with(kNothingCarried);
}

}  // namespace

std::vector<Remark> loops_in_pieces(const CompileReport& report) {
  std::vector<Remark> loops;
  std::ranges::copy_if(report.remarks, std::back_inserter(loops), is_of_loop_in_pieces);
  return loops;
}

std::vector<Remark> notices(const CompileReport& report) {
  std::vector<Remark> all;
  std::ranges::copy_if(report.remarks, std::back_inserter(all), [](const Remark& remark) {
    return remark.is_notice || is_of_loop_in_pieces(remark);
  });
  return all;
}

}  // namespace graphc::core
