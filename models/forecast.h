// SPDX-License-Identifier: Apache-2.0
// A forecast of a column of a table from the rows before.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord forecast_model;

}  // namespace graphc::core
