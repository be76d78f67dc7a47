// SPDX-License-Identifier: Apache-2.0
// Decides whether a team's threads should take turns on one CPU.
//
// A waiting thread yields its CPU. If another program gets it, that program keeps it for a
// scheduler slice, a thousand times longer than a barrier. Steps of small loops then take tens of
// times longer than on one thread. The duration of yields reveals this.
#pragma once

namespace graphc::core {

/// Decides from past steps of a team whether the next one takes turns. Times are in seconds.
class Crowding {
 public:
  /// A longer yield gave the CPU to another program.
  static constexpr double kSlice = 200e-6;
  /// Parallel runs are judged in windows of this length. A window is crowded if other programs had
  /// this share of its time, summed over the threads.
  static constexpr double kWindow = 5e-3, kShare = 0.25;
  /// How long the threads then take turns before the next attempt: doubled after each failed
  /// attempt.
  static constexpr double kLeastRest = 50e-3, kMostRest = 2;

  /// Whether the next run takes turns.
  bool alone() const { return alone_; }
  /// A parallel run ended at `now` after `seconds`; other programs used `lost` seconds of its
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
