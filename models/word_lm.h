// SPDX-License-Identifier: Apache-2.0
// word-lm: a word-level language model of any text.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord word_lm_model;

}  // namespace graphc::core
