// SPDX-License-Identifier: Apache-2.0
// W1: one recurrent layer on random data, the benchmark of svetlov/rnn-benchmarks.
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord lstm_layer_model;

}  // namespace graphc::core
