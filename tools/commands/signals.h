// SPDX-License-Identifier: Apache-2.0
// Graceful termination on signals: after the current step, with everything saved.
#pragma once

namespace graphc::core::commands {

/// From now on SIGINT, SIGTERM and SIGHUP are recorded; a second one ends the process at once. An
/// ignored SIGHUP, as set by nohup, stays ignored.
void stop_on_signals();
/// The recorded signal, or 0.
int stopped_by();

}  // namespace graphc::core::commands
