// SPDX-License-Identifier: Apache-2.0
#include "runtime/crowding.h"

#include <algorithm>

namespace graphc::core {

void Crowding::ran_together(double now, double seconds, double lost) {
  elapsed_ += seconds;
  lost_ += lost;
  if (elapsed_ < kWindow) return;
  alone_ = lost_ > kShare * elapsed_;
  elapsed_ = lost_ = 0;
  until_ = now + rest_;
  rest_ = alone_ ? std::min(2 * rest_, kMostRest) : kLeastRest;
}

void Crowding::ran_alone(double now) {
  if (now >= until_) alone_ = false;
}

}  // namespace graphc::core
