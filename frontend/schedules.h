// SPDX-License-Identifier: Apache-2.0
// Schedules: rates as functions of the number of steps or epochs done, written on values, so that a
// rate changes from step to step and nothing is compiled again. `step` is a number of any dtype.
#pragma once

#include "frontend/state.h"

namespace graphc {

/// rate factor^floor(step / every).
Value step_decay(Value step, Operand rate, double every, double factor,
                 Where where = Where::here());
/// rate factor^(step / every).
Value exponential_decay(Value step, Operand rate, double every, double factor,
                        Where where = Where::here());
/// From rate to lowest along half a cosine over `steps` steps, then lowest (Loshchilov and Hutter
/// 2017, without restarts).
Value cosine_decay(Value step, Operand rate, double steps, double lowest = 0,
                   Where where = Where::here());

/// A rate that follows a measurement, such as the loss on validation data: it is multiplied by
/// `factor` at the first of more than `patience` measurements one after another of which none was
/// the smallest so far by more than `threshold` (a share of it), as PyTorch's ReduceLROnPlateau
/// counts. The rate is an input of the graph.
class Plateau {
 public:
  Plateau(double rate, double factor = 0.1, int patience = 10, double threshold = 1e-4)
      : rate_(rate), factor_(factor), patience_(patience), threshold_(threshold) {}

  /// Takes a measurement in; returns the rate from now on. One that is not finite is no smallest.
  double observe(double measured);
  double rate() const { return rate_; }

 private:
  double rate_, factor_;
  int patience_;
  double threshold_;
  double best_ = 0;
  bool measured_ = false;
  int waited_ = 0;
};

}  // namespace graphc
