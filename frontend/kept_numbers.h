// SPDX-License-Identifier: Apache-2.0
// Numbers of a training other than what its graphs compute: the position in a schedule,
// measurements without improvement, the epoch. They are a state of the session, so
// Saving::everything includes them.
#pragma once

#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "frontend/session.h"

namespace graphc::core {

/// A transient state f64[count] of the session's model, under a name. It starts as `initial`, or as
/// the value in a file that was loaded before. The session must outlive the object. Throws
/// ErrorKind::input, at `where`, if another object of this session keeps numbers under the name, or
/// if a state of another kind has it.
class KeptNumbers {
 public:
  KeptNumbers(Session& session, std::string name, const std::vector<double>& initial, Where where);
  KeptNumbers(const KeptNumbers&) = delete;
  KeptNumbers& operator=(const KeptNumbers&) = delete;
  ~KeptNumbers();

  std::vector<double> get() const;
  void set(const std::vector<double>& numbers);
  /// Throws ErrorKind::input once the session is destroyed.
  Session& session() const;

 private:
  Session& session_;
  std::weak_ptr<const void> session_lives_;
  std::string name_;
  std::shared_ptr<std::set<std::string>> claimed_;
};

/// Stands for a measurement before the first one.
inline constexpr double kNoMeasurement = std::numeric_limits<double>::quiet_NaN();

/// The improvement required over the best measurement.
struct Better {
  bool largest = false;  ///< the largest is the best, e.g. for an accuracy; otherwise the smallest
  double threshold = 0;  ///< relative improvement required
};

/// Throws ErrorKind::input if a best measurement taken with one value of `largest` is resumed with
/// the other; `who` keeps it as `name`.
void expect_same_best(std::string_view who, std::string_view name, double best, bool largest_before,
                      bool largest, Where where = {});

/// Whether a measurement is the best so far; `best` is NaN before the first one. A measurement that
/// is not finite never is.
bool is_best(double measured, double best, const Better& better);

}  // namespace graphc::core
