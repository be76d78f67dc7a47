// SPDX-License-Identifier: Apache-2.0
// What `graphc train` was asked for, shared by the parts of the command.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/program.h"
#include "runtime/ranks/ranks.h"
#include "runtime/streams.h"
#include "tools/commands/compile_options.h"

namespace graphc::core::commands {

struct TrainCommand {
  std::string model, data, init, log, checkpoint, tensorboard, trace, check_nan = "loss", plot,
                                                                      missing;
  std::vector<std::string> parameters;
  SessionOptions session;
  TrainOptions train;
  GivenOptions given;
  std::optional<int64_t> epochs, keep;
  std::optional<uint64_t> seed;
  bool resume = false;
  int64_t max_steps = 0;
  std::string with_ranks = "on";  ///< of --ranks: on or off
  std::shared_ptr<Ranks> ranks;   ///< never null while a training runs

  /// Whether this process writes messages and files.
  bool is_first() const { return ranks->rank() == 0; }
  void say(const std::string& line) const {
    if (is_first()) write_message(line);
  }
};

}  // namespace graphc::core::commands
