// SPDX-License-Identifier: Apache-2.0
// What a checkpoint keeps of the data of its training: how much there was of each part, and a hash
// of it. Going on with other data would give figures of neither.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/program.h"

namespace graphc::core {

/// A part of the data, as the model reads it.
struct PartOfData {
  std::string_view name;        ///< train, valid or test
  int64_t elements = 0;         ///< how many of `unit` it has
  std::string_view unit;        ///< "words", "rows"
  std::vector<Literal> values;  ///< what is hashed
};

/// The note of a part: "8550 characters, XXH3 4f0c...", under the name `data.train`.
std::pair<std::string, std::string> data_note(PartOfData part);

/// The notes of all parts.
Notes data_notes(std::vector<PartOfData> parts);

/// Whether the checkpoint's notes say what it was trained on.
bool has_data_notes(const Notes& checkpoint);

/// Whether the parts that training depends on, all but `test`, are those of the checkpoint.
bool is_same_data(const Notes& found, const Notes& checkpoint);

/// Compares the data that were found with those of the checkpoint that training goes on from.
/// Throws ErrorKind::input, naming both, where the data for training or validation are others:
/// early stopping, the curve and the best model compare validations. Other data for the test, and a
/// checkpoint that does not say what it was trained on, are a remark.
void check_same_data(const Notes& found, const Notes& checkpoint, const Reading& reading);

/// The error of ErrorKind::input that the data are not the checkpoint's, with a note of what to do.
Error other_data_error(const std::string& what);

}  // namespace graphc::core
