// SPDX-License-Identifier: Apache-2.0
// char-lm: a language model of the characters of any text.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord char_lm_model;

}  // namespace graphc::core
