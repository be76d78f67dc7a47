// SPDX-License-Identifier: Apache-2.0
// Schedules: rates as functions of the number of completed steps or epochs, written on values, so
// that a changing rate does not recompile. `step` is a number of any dtype.
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
/// From rate to lowest along half a cosine over `steps` steps, then constant (Loshchilov and Hutter
/// 2017, without restarts).
Value cosine_decay(Value step, Operand rate, double steps, double lowest = 0,
                   Where where = Where::here());

/// Options of a Plateau; the defaults are those of PyTorch's ReduceLROnPlateau.
struct PlateauOptions {
  double factor = 0.1;           ///< multiplies the rate; above 0, below 1
  int patience = 10;             ///< measurements in a row without improvement that are tolerated
  double threshold = 1e-4;       ///< relative improvement required over the best, in [0, 1)
  int cooldown = 0;              ///< measurements after a change that are not counted
  double lowest = 0;             ///< lower bound of the rate; at most the initial rate
  bool largest = false;          ///< the largest measurement is the best, e.g. for an accuracy
  std::string name = "plateau";  ///< name of the state with its numbers
};

/// A rate controlled by a measurement, such as the loss on validation data. It is multiplied by
/// `factor` after more than `patience` consecutive measurements without an improvement by
/// `threshold`, counted like PyTorch's ReduceLROnPlateau. The rate is an input of the graph:
/// `session("train", x, y, plateau.rate())`.
///
/// Its numbers are a state of the session, `name`: after a checkpoint with every state is loaded,
/// it continues with the same rate and patience. The session must outlive it.
class Plateau {
 public:
  /// Throws ErrorKind::input, at `where`, for options out of bounds and for a name that is taken.
  Plateau(Session& session, double rate, const PlateauOptions& options = {},
          Where where = Where::here());

  /// Records a measurement; returns the new rate. A measurement that is not finite is no
  /// improvement. Throws ErrorKind::input if the earlier measurements were taken with the other
  /// `largest`.
  double observe(double measured);
  double rate() const;

 private:
  PlateauOptions options_;
  KeptNumbers numbers_;  ///< rate, best, measurements since the best, remaining cooldown, `largest`
};

}  // namespace graphc::core
