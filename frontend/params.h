// SPDX-License-Identifier: Apache-2.0
// Params: a list of parameters, for optimizers, derivatives and iteration over a model.
//
//   minimize(loss, model.params().without("encoder"), Adam{});  // the encoder is frozen
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "frontend/state.h"

namespace graphc::core {

class Params;
class Model;

/// An index into a list.
struct ListPlace {
  template <Whole Integer>
  ListPlace(Integer number, Where line = Where::here()) : place(int64_t(number)), where(line) {}

  int64_t place = 0;
  Where where;
};

/// Selects parameters of a list: by name, by the name of the module they belong to ("encoder" for
/// "encoder.w" and "encoder.forward.u"), or as objects.
struct ParamSelection {
  template <std::convertible_to<std::string> Text>
  ParamSelection(const Text& name, Where line = Where::here()) : names{name}, where(line) {}
  ParamSelection(std::initializer_list<std::string> several, Where line = Where::here())
      : names(several), where(line) {}
  ParamSelection(const Param& param, Where line = Where::here())
      : cells{param.cell()}, where(line) {}
  ParamSelection(const Params& params, Where line = Where::here());

  std::vector<std::string> names;
  std::vector<std::shared_ptr<StateCell>> cells;  ///< parameters selected as objects
  Where where;
};

/// A list of parameters. Its elements cannot be assigned through the list: selecting or reordering
/// them makes another list and changes no parameter.
class Params {
 public:
  Params() = default;
  Params(std::initializer_list<Param> params) : params_(params) {}
  Params(std::vector<Param> params) : params_(std::move(params)) {}
  Params(const Params&) = default;
  Params(Params&&) noexcept = default;
  /// Replaces this list with the other one; assigns no parameter.
  Params& operator=(Params other) noexcept {
    params_.swap(other.params_);
    taken_.swap(other.taken_);
    return *this;
  }

  auto begin() const { return params_.cbegin(); }
  auto end() const { return params_.cend(); }
  size_t size() const { return params_.size(); }
  bool empty() const { return params_.empty(); }
  /// Throws ErrorKind::input, at the caller's line, if the index is out of range.
  const Param& operator[](ListPlace place) const;

  /// The selected parameters, in the order of this list. Throws ErrorKind::input, at the caller's
  /// line, for a name that selects none and for a parameter that is not in the list.
  Params only(const ParamSelection& selection) const;
  /// All but the selected parameters; throws as only() does.
  Params without(const ParamSelection& selection) const;
  /// The parameters for which `predicate(param)` is true.
  template <std::predicate<const Param&> Predicate>
  Params where(Predicate&& predicate) const {
    std::vector<Param> found;
    for (const Param& param : params_) {
      if (predicate(param)) found.push_back(param);
    }
    return found;
  }

  void push_back(const Param& param) { params_.push_back(param); }
  /// The parameters of `a`, then those of `b`.
  friend Params operator+(const Params& a, const Params& b);

  /// For a list made by Model::params(): when it was made, and what was removed from it since.
  /// Parameters declared later are not in the list, which users may not expect.
  struct Taken {
    int declared = 0;   ///< number of states that the model had
    int64_t trace = 0;  ///< the trace it was made in; 0: none
    std::vector<std::string> without;
  };
  const std::optional<Taken>& taken() const { return taken_; }

 private:
  friend class Model;
  std::vector<bool> selected(const ParamSelection& selection) const;

  std::vector<Param> params_;
  std::optional<Taken> taken_;
};

/// Whether the parameter with this name is `whole` or part of it: "encoder.w" of "encoder".
bool is_part_of(std::string_view name, std::string_view whole);

/// Assigns each parameter of `to` the value of the parameter at the same position in `from`, at
/// this point of the traced graph, for example to update a target network. Throws ErrorKind::input
/// if the lists differ in length or types.
void assign(const Params& to, const Params& from, Where where = Where::here());

}  // namespace graphc::core
