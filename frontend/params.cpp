// SPDX-License-Identifier: Apache-2.0
#include "frontend/params.h"

#include <algorithm>

#include "ir/spelling.h"

namespace graphc::core {

bool is_part_of(std::string_view name, std::string_view whole) {
  return name.starts_with(whole) && (name.size() == whole.size() || name[whole.size()] == '.');
}

ParamSelection::ParamSelection(const Params& params, Where line) : where(line) {
  for (const Param& param : params) cells.push_back(param.cell());
}

std::vector<bool> Params::selected(const ParamSelection& selection) const {
  std::vector<bool> chosen(params_.size());
  for (const std::string& name : selection.names) {
    bool any = false;
    for (size_t i = 0; i < params_.size(); ++i) {
      if (!is_part_of(params_[i].name(), name)) continue;
      chosen[i] = any = true;
    }
    if (any) continue;
    std::vector<std::string> names;
    for (const Param& param : params_) names.push_back(param.name());
    throw input_error(selection.where, "no parameter of the list is '{}' or part of it{}", name,
                      did_you_mean(name, names));
  }
  for (const std::shared_ptr<StateCell>& cell : selection.cells) {
    const auto found = std::ranges::find(params_, cell, &Param::cell);
    if (found == params_.end()) {
      throw input_error(selection.where, "parameter '{}' of model '{}' is not in the list",
                        cell->name, cell->model_name);
    }
    chosen[size_t(found - params_.begin())] = true;
  }
  return chosen;
}

const Param& Params::operator[](ListPlace place) const {
  if (place.place >= 0 && size_t(place.place) < params_.size()) return params_[size_t(place.place)];
  throw input_error(place.where, "there is no parameter {}: the list has {}, counted from 0",
                    place.place, params_.size());
}

Params Params::only(const ParamSelection& selection) const {
  const std::vector<bool> chosen = selected(selection);
  return where([&](const Param& param) { return chosen[size_t(&param - params_.data())]; });
}

Params Params::without(const ParamSelection& selection) const {
  const std::vector<bool> chosen = selected(selection);
  Params rest = where([&](const Param& param) { return !chosen[size_t(&param - params_.data())]; });
  rest.taken_ = taken_;
  if (rest.taken_) {
    for (const std::string& name : selection.names) rest.taken_->without.push_back(name);
  }
  return rest;
}

Params operator+(const Params& a, const Params& b) {
  Params both = a;
  if (!both.taken_) both.taken_ = b.taken_;
  for (const Param& param : b) both.push_back(param);
  return both;
}

void assign(const Params& to, const Params& from, Where where) {
  if (to.size() != from.size())
    throw input_error(where, "assign: {} parameters and {} values", to.size(), from.size());
  // Reads all values before assigning any: the lists may share parameters.
  Values values;
  for (const Param& param : from) values.push_back(param);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].type() != from[i].type()) {
      throw input_error(where, "assign: parameter '{}' is {}: '{}' is {}", to[i].name(),
                        to_string(to[i].type()), from[i].name(), to_string(from[i].type()));
    }
    Param param = to[i];
    param = Operand(values[i], where);
  }
}

}  // namespace graphc::core
