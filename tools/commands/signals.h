// SPDX-License-Identifier: Apache-2.0
// Ending what takes long when a signal asks for it: after the step, with everything saved.
#pragma once

namespace graphc::core::commands {

/// From now on SIGINT, SIGTERM and SIGHUP are remembered; a second one ends the process at once. A
/// SIGHUP that is ignored, as by nohup, stays ignored.
void stop_on_signals();
/// The signal that came, or 0.
int stopped_by();

}  // namespace graphc::core::commands
