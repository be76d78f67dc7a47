// SPDX-License-Identifier: Apache-2.0
// W2: the Penn Treebank word language model of the TensorFlow tutorial `ptb_word_lm`.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord ptb_lm_model;

}  // namespace graphc::core
