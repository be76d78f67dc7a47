// SPDX-License-Identifier: Apache-2.0
// cell-layer: a recurrent cell with states of several axes on its own, over random streams.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord cell_layer_model;

}  // namespace graphc::core
