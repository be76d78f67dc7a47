// SPDX-License-Identifier: Apache-2.0
// The names of an op's attributes, from its record.
#pragma once

#include <set>
#include <string>

#include "ir/op.h"

namespace graphc::core {

/// The attributes that the op's doc mentions as {name} or {name, name}, or that its samples set.
std::set<std::string> attribute_names(const Op& op);

}  // namespace graphc::core
