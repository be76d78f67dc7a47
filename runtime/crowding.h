// SPDX-License-Identifier: Apache-2.0
// Whether the threads of a team are better off in turns on one CPU.
//
// A thread that waits offers its CPU; when another program takes it, it keeps it for a slice of the
// scheduler, a thousand times as long as a meeting lasts. Steps of small loops then take tens of
// times as long as on one thread. What the yields took tells.
#pragma once

namespace graphc::core {

/// Decides from the steps of a team so far whether the next is to be in turns. Times are in
/// seconds.
class Crowding {
 public:
  /// A yield that takes longer gave the CPU to another program.
  static constexpr double kSlice = 200e-6;
  /// Runs are judged together until they have taken so long, and are crowded when so much of that
  /// time, summed over the threads, was others'.
  static constexpr double kWindow = 5e-3, kShare = 0.25;
  /// How long the threads then take turns before they try again: twice as long each time in a row.
  static constexpr double kLeastRest = 50e-3, kMostRest = 2;

  /// Whether the next run is to be in turns.
  bool alone() const { return alone_; }
  /// A run on all threads ended at `now` and took `seconds`; other programs had `lost` of its
  /// yields.
  void ran_together(double now, double seconds, double lost);
  /// A run in turns ended at `now`.
  void ran_alone(double now);

 private:
  bool alone_ = false;
  double elapsed_ = 0, lost_ = 0;
  double until_ = 0, rest_ = kLeastRest;
};

}  // namespace graphc::core
