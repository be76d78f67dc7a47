// SPDX-License-Identifier: Apache-2.0
// Schedules: rates as functions of the number of steps or epochs done, written on values, so that a
// rate changes from step to step and nothing is compiled again. `step` is a number of any dtype.
#pragma once

#include "frontend/kept_numbers.h"
#include "frontend/state.h"

namespace graphc::core {

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

/// What a Plateau waits for and does; the defaults are those of PyTorch's ReduceLROnPlateau.
struct PlateauOptions {
  double factor = 0.1;      ///< what the rate is multiplied by: above 0, below 1
  int patience = 10;        ///< measurements in a row that bring nothing and change nothing
  double threshold = 1e-4;  ///< the share of the best by which to beat it: from 0, below 1
  int cooldown = 0;         ///< measurements after a change that do not count as bringing nothing
  double lowest = 0;        ///< the rate goes no lower; at most the rate it begins with
  bool largest = false;     ///< the largest measurement is the best, as of an accuracy
  std::string name = "plateau";  ///< of the state that its numbers are
};

/// A rate that follows a measurement, such as the loss on validation data: it is multiplied by
/// `factor` at the first of more than `patience` measurements one after another of which none was
/// the best so far by more than `threshold`, as PyTorch's ReduceLROnPlateau counts. The rate is an
/// input of the graph: `session("train", x, y, plateau.rate())`.
///
/// Where it stands is a state of the session, `name`: a session that is saved with everything and
/// loaded goes on with the rate and the patience it had. The session must outlive it.
class Plateau {
 public:
  /// Throws ErrorKind::input, at `where`, for numbers out of their bounds and for a name that is
  /// taken.
  Plateau(Session& session, double rate, const PlateauOptions& options = {},
          Where where = Where::here());

  /// Takes a measurement in; returns the rate from now on. One that is not finite is no best.
  /// Throws ErrorKind::input where it goes on from one with another `largest`.
  double observe(double measured);
  double rate() const;

 private:
  PlateauOptions options_;
  KeptNumbers numbers_;  ///< the rate, the best measurement, the measurements since the best and
                         ///< to the end of the cooldown, and whether the largest is the best
};

}  // namespace graphc::core
