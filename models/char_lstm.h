// SPDX-License-Identifier: Apache-2.0
// W4: Keras' LSTM on windows of characters, and on random bits (awslabs/keras-apache-mxnet).
#pragma once

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord char_lstm_model;

/// For corpus=synthetic: random bits.
std::unique_ptr<Program> make_char_lstm_of_bits(const Parameters& parameters);
/// For the characters of Nietzsche or of WikiText-2.
std::unique_ptr<Program> make_char_lstm_of_text(const Parameters& parameters);

}  // namespace graphc::core
