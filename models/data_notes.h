// SPDX-License-Identifier: Apache-2.0
// What a checkpoint records about its training data: the size of each part and a hash. Resuming
// with other data would give figures that describe neither.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/program.h"

namespace graphc::core {

/// A part of the data, as read by the model.
struct PartOfData {
  std::string_view name;        ///< train, valid or test
  int64_t elements = 0;         ///< number of elements, in `unit`
  std::string_view unit;        ///< "words", "rows"
  std::vector<Literal> values;  ///< hashed values
};

/// The note of a part: "8550 characters, XXH3 4f0c...", under the name `data.train`.
std::pair<std::string, std::string> data_note(PartOfData part);

/// The notes of all parts.
Notes data_notes(std::vector<PartOfData> parts);

/// Whether the checkpoint's notes describe its training data.
bool has_data_notes(const Notes& checkpoint);

/// Whether the parts that training depends on, all but `test`, match the checkpoint.
bool is_same_data(const Notes& found, const Notes& checkpoint);

/// Compares the data with those of the checkpoint that is resumed. Throws ErrorKind::input, naming
/// both, if the data for training or validation differ: early stopping, the curve and the best
/// model compare validations. Different test data, and a checkpoint that does not describe its
/// data, give a remark.
void check_same_data(const Notes& found, const Notes& checkpoint, const Reading& reading);

/// The ErrorKind::input error for data that differ from the checkpoint's, with advice as a note.
Error other_data_error(const std::string& what);

}  // namespace graphc::core
