// SPDX-License-Identifier: Apache-2.0
// Forecasts a column of a table from preceding rows.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord forecast_model;

}  // namespace graphc::core
