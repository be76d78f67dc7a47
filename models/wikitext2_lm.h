// SPDX-License-Identifier: Apache-2.0
// W3: the WikiText-2 word language models of k-kawakami/rnn_benchmark and of PyTorch's example
// word_language_model. That example tests the parameters of its best epoch; here those of the last
// epoch are tested, with windows of training's extents, as in validation.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord wikitext2_lm_model;

}  // namespace graphc::core
