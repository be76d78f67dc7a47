// SPDX-License-Identifier: Apache-2.0
// char-lm: a character-level language model of any text.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord char_lm_model;

}  // namespace graphc::core
