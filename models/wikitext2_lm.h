// SPDX-License-Identifier: Apache-2.0
// W3: the WikiText-2 word language models of k-kawakami/rnn_benchmark and of PyTorch's example
// word_language_model.
#pragma once

#include "models/registry.h"

namespace graphc {

extern const ModelRecord wikitext2_lm_model;

}  // namespace graphc
