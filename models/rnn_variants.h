// SPDX-License-Identifier: Apache-2.0
// W5: workloads that other frameworks do not do well: every cell in a layer, a bidirectional stack
// on rows of different lengths (RETURNN's benchmark), and a sequence classifier
// (yjchoe/TFCudnnLSTM).
#pragma once

#include <memory>

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord rnn_variants_model;

/// Classifies the frames of 12AX sequences with bidirectional layers.
std::unique_ptr<Program> make_frame_classifier(const Parameters& parameters);
/// Classifies sequences of two numbers with stacked layers and dropout.
std::unique_ptr<Program> make_sequence_classifier(const Parameters& parameters);

}  // namespace graphc::core
