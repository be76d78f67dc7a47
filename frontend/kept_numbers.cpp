// SPDX-License-Identifier: Apache-2.0
#include "frontend/kept_numbers.h"

#include <cmath>

namespace graphc::core {
namespace {

/// StateCell::owner of kept numbers.
constexpr const char* kOwner = "kept numbers";

/// Declares the state of the model for these numbers, or finds the one declared by another session
/// or an earlier object.
void declare_numbers(Model& model, const std::string& name, int64_t count, Where where) {
  const Type type{DType::f64, {count}};
  for (const std::shared_ptr<StateCell>& cell : model.states()) {
    if (cell->name != name) continue;
    if (cell->owner == kOwner && cell->type == type) return;
    throw input_error(where,
                      "model '{}' has a state '{}', {}: what keeps its numbers in a session needs "
                      "another .name",
                      model.name(), name, to_string(cell->type))
        .note(fmt::format("'{}' was declared at {}:{}", name, cell->where.file, cell->where.line));
  }
  model.state(name, type, zeros(), {.transient = true}, where).cell()->owner = kOwner;
}

}  // namespace

KeptNumbers::KeptNumbers(Session& session, std::string name, const std::vector<double>& initial,
                         Where where)
    : session_(session),
      session_lives_(session.alive()),
      name_(std::move(name)),
      claimed_(session.claimed_names()) {
  declare_numbers(session.model(), name_, int64_t(initial.size()), where);
  if (!claimed_->insert(name_).second) {
    throw input_error(where,
                      "two objects keep their numbers as '{}' in one session, and each would go on "
                      "from the other's: give one another .name",
                      name_);
  }
  try {
    // Sessions of one model may start with different numbers, so they are not the state's initial
    // value.
    if (!session.has_state(name_)) set(initial);
  } catch (...) {
    claimed_->erase(name_);
    throw;
  }
}

KeptNumbers::~KeptNumbers() { claimed_->erase(name_); }

Session& KeptNumbers::session() const {
  if (!session_lives_.expired()) return session_;
  throw input_error({}, "the session that keeps the numbers of '{}' is gone: it must live longer",
                    name_);
}

std::vector<double> KeptNumbers::get() const { return session().state(name_).to_vector<double>(); }

void KeptNumbers::set(const std::vector<double>& numbers) { session().set_state(name_, numbers); }

void expect_same_best(std::string_view who, std::string_view name, double best, bool largest_before,
                      bool largest, Where where) {
  if (std::isnan(best) || largest_before == largest) return;
  throw input_error(where,
                    "{}: .largest is {}, and '{}' goes on from a training with {}, whose best is "
                    "{}: another .name begins anew",
                    who, largest, name, largest_before, best);
}

bool is_best(double measured, double best, const Better& better) {
  if (!std::isfinite(measured)) return false;
  if (std::isnan(best)) return true;
  const double needed = better.threshold * std::abs(best);
  return better.largest ? measured > best + needed : measured < best - needed;
}

}  // namespace graphc::core
