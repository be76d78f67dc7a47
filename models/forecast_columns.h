// SPDX-License-Identifier: Apache-2.0
// The column parameters of forecast.cpp, and their validation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/data/table_features.h"
#include "models/data_notes.h"
#include "models/parameters.h"

namespace graphc::core {

/// Splits a text at commas.
std::vector<std::string> names_in(const std::string& given);

/// The features described by the parameters `columns`, `missing` and `categories`. Throws
/// ErrorKind::usage for a column without a name or named twice, and for a target that is not a
/// number.
TableFeatures features_of(const Parameters& parameters, const std::vector<std::string>& targets);

/// The error for the parameters `embedding` and `categories` if no column is a category. Only for
/// training: old checkpoints may have such parameters.
std::optional<Error> without_effect(const Parameters& parameters, const TableFeatures& features);

/// Whether the notes of a training describe the same columns, read the same way; then its means,
/// categories and scaling apply here too. Otherwise reports a remark.
bool is_of_these_columns(const Notes& notes, const FeatureOptions& mine, const Reading& reading);

/// The rows of each part, by which a checkpoint identifies a table: features x and targets y, each
/// f32[rows, n].
std::vector<PartOfData> parts_of(const Tensor& x, const Tensor& y);

}  // namespace graphc::core
