// SPDX-License-Identifier: Apache-2.0
// The results of a run, by index and by name.
#include "frontend/session.h"
#include "ir/spelling.h"

namespace graphc::core {

const Tensor& Outputs::operator[](ResultKey key) const& {
  const int64_t count = int64_t(tensors_.size());
  if (!key.name) {
    const int64_t place = key.place < 0 ? key.place + count : key.place;
    if (place >= 0 && place < count) return tensors_[size_t(place)];
    throw input_error(key.where, "there is no result {}: the graph has {}, counted from 0",
                      key.place, count);
  }
  for (size_t i = 0; i < names_->size(); ++i) {
    if ((*names_)[i] == *key.name) return tensors_[i];
  }
  throw input_error(key.where, "no result is called '{}'{}", *key.name,
                    names_->empty() ? ": the graph names none" : did_you_mean(*key.name, *names_));
}

Outputs::operator Tensor() const {
  if (tensors_.size() == 1) return tensors_[0];
  throw input_error({}, "one result is wanted: the graph has {}", tensors_.size());
}

double Outputs::scalar(Where where) const {
  if (tensors_.size() == 1 && tensors_[0].elements() == 1)
    return tensors_[0].literal().reshaped({}).element(0);
  std::vector<std::string> found;
  for (const Tensor& tensor : tensors_) found.push_back(to_string(tensor.type()));
  throw input_error(where, "scalar() is for one result of one element: found {}",
                    found.empty() ? "no result" : fmt::format("{}", fmt::join(found, ", ")));
}

}  // namespace graphc::core
