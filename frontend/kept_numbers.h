// SPDX-License-Identifier: Apache-2.0
// Numbers that a training goes on from, beside what its graphs compute: where a schedule is, how
// long nothing was better, which epoch it is. They are a state of the session, so that who saves
// everything has them.
#pragma once

#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "frontend/session.h"

namespace graphc::core {

/// So many numbers under a name: a transient state f64[count] of the session's model. They begin as
/// `initial`, or as what a file had that was loaded before. The session must outlive the object.
/// Throws ErrorKind::input, at `where`, when another object of this session keeps numbers under the
/// name, or when a state of another kind has it.
class KeptNumbers {
 public:
  KeptNumbers(Session& session, std::string name, const std::vector<double>& initial, Where where);
  KeptNumbers(const KeptNumbers&) = delete;
  KeptNumbers& operator=(const KeptNumbers&) = delete;
  ~KeptNumbers();

  std::vector<double> get() const;
  void set(const std::vector<double>& numbers);
  /// Throws ErrorKind::input once the session is gone.
  Session& session() const;

 private:
  Session& session_;
  std::weak_ptr<const void> session_lives_;
  std::string name_;
  std::shared_ptr<std::set<std::string>> claimed_;
};

/// What stands for a measurement before there is one.
inline constexpr double kNoMeasurement = std::numeric_limits<double>::quiet_NaN();

/// How much better a measurement must be than the best before.
struct Better {
  bool largest = false;  ///< the largest is the best, as of an accuracy; else the smallest
  double threshold = 0;  ///< the share of the best by which it must be beaten
};

/// Throws ErrorKind::input where a best measurement was taken as the largest and is to be gone on
/// from as the smallest, or the other way; `who` keeps it as `name`.
void expect_same_best(std::string_view who, std::string_view name, double best, bool largest_before,
                      bool largest, Where where = {});

/// Whether a measurement is the best so far; `best` is not a number before there is one. What is
/// not finite is no best.
bool is_best(double measured, double best, const Better& better);

}  // namespace graphc::core
