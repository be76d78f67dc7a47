// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/signals.h"

#include <csignal>

namespace graphc::core::commands {
namespace {

volatile std::sig_atomic_t signal_that_came = 0;

void remember(int signal) {
  signal_that_came = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void stop_on_signals() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
  // Sent when the terminal is closed; `nohup` ignores it, and it stays ignored.
  if (std::signal(SIGHUP, remember) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

int stopped_by() { return signal_that_came; }

}  // namespace graphc::core::commands
