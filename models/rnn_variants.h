// SPDX-License-Identifier: Apache-2.0
// W5: what others could not do well: every cell in a layer, a bidirectional stack on rows of
// different lengths (RETURNN's benchmark), and a classifier of sequences (yjchoe/TFCudnnLSTM).
#pragma once

#include <memory>

#include "models/registry.h"

namespace graphc::core {

extern const ModelRecord rnn_variants_model;

/// Frames of 12AX sequences to two classes, by bidirectional layers.
std::unique_ptr<Program> make_frame_classifier(const Parameters& parameters);
/// Sequences of two numbers to two classes, by layers with dropout between them.
std::unique_ptr<Program> make_sequence_classifier(const Parameters& parameters);

}  // namespace graphc::core
