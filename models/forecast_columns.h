// SPDX-License-Identifier: Apache-2.0
// The columns that forecast.cpp is asked for: which ones, and what of them cannot be meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/data/table_features.h"
#include "models/data_notes.h"
#include "models/parameters.h"

namespace graphc::core {

/// Texts with commas between.
std::vector<std::string> names_in(const std::string& given);

/// What the parameters `columns`, `missing` and `categories` make of rows. Throws ErrorKind::usage
/// for a column without a name or named twice, and for a target that is no number.
TableFeatures features_of(const Parameters& parameters, const std::vector<std::string>& targets);

/// What there is to say against the parameters `embedding` and `categories` where no column is a
/// category. It is for those who train: checkpoints of before may have such parameters.
std::optional<Error> without_effect(const Parameters& parameters, const TableFeatures& features);

/// Whether the notes of a training are of columns like these, read in the same way: what they say
/// of means and categories holds here too, as does the scaling that was learned with. A remark
/// where they are of others.
bool is_of_these_columns(const Notes& notes, const FeatureOptions& mine, const Reading& reading);

/// The rows of each part, by which a checkpoint knows a table: features x and targets y, each
/// f32[rows, n].
std::vector<PartOfData> parts_of(const Tensor& x, const Tensor& y);

}  // namespace graphc::core
