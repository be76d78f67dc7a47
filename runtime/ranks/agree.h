// SPDX-License-Identifier: Apache-2.0
// What ranks do so that an error of one of them ends all of them, with one message.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "runtime/ranks/ranks.h"

namespace graphc::core {

/// An error that every rank throws: each can end by itself, and one of them reports it. Any other
/// error may be that of one rank alone, for which the others would wait: Ranks::abort().
class AgreedError : public Error {
 public:
  explicit AgreedError(Error error) : Error(std::move(error)) {}
};

/// The texts of all ranks, in their order. Collective.
std::vector<std::string> gather_texts(Ranks& ranks, std::string_view mine);

/// The text of rank `root`, on every rank. Collective.
std::string broadcast_text(Ranks& ranks, std::string_view text, int root = 0);

/// Calls `function` on every rank and waits for all. If it throws on any, every rank throws an
/// AgreedError: the first such rank's, with a note of the rank unless all threw the same.
/// Collective.
void together(Ranks& ranks, const std::function<void()>& function);

/// Calls `function` on rank 0 alone; otherwise like together().
void on_first(Ranks& ranks, const std::function<void()>& function);

/// Whether `mine` is true on any rank. Collective.
bool any_of_ranks(Ranks& ranks, bool mine);

}  // namespace graphc::core
