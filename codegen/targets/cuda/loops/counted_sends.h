// SPDX-License-Identifier: Apache-2.0
// How the lanes of a counted loop (counted_loop.h) hand on what they compute, as text.
#pragma once

#include <string>
#include <vector>

#include "codegen/targets/cuda/loops/counted_loop.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda::internal {

/// Writes into a text in whose scope are the nest's `row_tile` and `unit_tile`, and the values that
/// its body keeps for its stores. The constructor's arguments must outlive it.
class CountedSendText {
 public:
  CountedSendText(const CountedLoop& loop, size_t nest, const NestBody& body, TextWriter& text)
      : loop_(loop), index_(nest), nest_(loop.nests[nest]), body_(body), text_(text) {}

  /// Sends the strips of this nest's stores to all blocks.
  void send();

 private:
  void send(const CountedProduct& of, const CountedStore& store);
  void write_destination(const CountedProduct& of, std::string_view use);
  void keep(const CountedProduct& of, const CountedStore& store);
  std::vector<std::string> words_of(const CountedProduct& of, const CountedStore& store,
                                    int part) const;
  void send_strip(const CountedProduct& of, const CountedStore& store, int part, bool pair);

  const CountedLoop& loop_;
  const size_t index_;
  const CountedNest& nest_;
  const NestBody& body_;
  TextWriter& text_;
};

}  // namespace graphc::core::cuda::internal
