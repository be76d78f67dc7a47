// SPDX-License-Identifier: Apache-2.0
// word-lm: a language model of the words of any text.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord word_lm_model;

}  // namespace graphc::core
