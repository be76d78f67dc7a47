// SPDX-License-Identifier: Apache-2.0
// W4: Keras' LSTM on windows of characters, and on random bits (awslabs/keras-apache-mxnet).
#pragma once

#include "models/registry.h"

namespace graphc {

extern const ModelRecord char_lstm_model;

}  // namespace graphc
