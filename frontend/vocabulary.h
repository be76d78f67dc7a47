// SPDX-License-Identifier: Apache-2.0
// The names of namespace graphc: what a program needs to write, train and run models, and nothing
// else. Everything is declared in graphc::core, with the compiler's own names (Op, Node, Type,
// Graph, ...); `using namespace graphc` leaves those to the program.
#pragma once

#include "codegen/target.h"
#include "frontend/blocks.h"
#include "frontend/buckets.h"
#include "frontend/cell_steps.h"
#include "frontend/checkpoints.h"
#include "frontend/curve.h"
#include "frontend/data.h"
#include "frontend/files.h"
#include "frontend/fit.h"
#include "frontend/functions.h"
#include "frontend/initializers.h"
#include "frontend/layers.h"
#include "frontend/lengths.h"
#include "frontend/model.h"
#include "frontend/model_file.h"
#include "frontend/optimizer.h"
#include "frontend/param_groups.h"
#include "frontend/params.h"
#include "frontend/plot.h"
#include "frontend/profile.h"
#include "frontend/progress.h"
#include "frontend/pytorch.h"
#include "frontend/round_up.h"
#include "frontend/scan.h"
#include "frontend/schedules.h"
#include "frontend/session.h"
#include "frontend/shared_graph.h"
#include "frontend/state.h"
#include "frontend/summary.h"
#include "frontend/table.h"
#include "frontend/tensorboard.h"
#include "ir/text.h"
#include "runtime/files/safetensors.h"

namespace graphc {

// --- values and their types ---

using core::Condition;
using core::DType;
using core::Elements;
using core::Literal;
using core::Numeral;
using core::Operand;
using core::Shape;
using core::Tensor;
using core::to_device;
using core::to_host;
using core::Value;
using core::Values;
using core::DType::bf16;
using core::DType::f32;
using core::DType::f64;
using core::DType::i32;
using core::DType::i64;

// --- models and how to run them ---

using core::CompileOptions;
using core::CpuOptions;
using core::CudaOptions;
using core::Data;
using core::DeviceOutputs;
using core::DeviceTensor;
using core::Dim;
using core::Extents;
using core::Inputs;
using core::LoadedModel;
using core::Loading;
using core::LoadReport;
using core::Mode;
using core::Model;
using core::NamedData;
using core::npy;
using core::Outputs;
using core::Precision;
using core::precision_named;
using core::Ranks;
using core::Results;
using core::Runner;
using core::save;
using core::Saving;
using core::Session;
using core::SessionOptions;
using core::SharedGraph;
using core::TracedGraph;

// --- states ---

using core::assign;
using core::Initializer;
using core::Param;
using core::Params;
using core::State;
using core::StateOptions;

using core::constant;
using core::glorot_uniform;
using core::orthogonal;
using core::parts;
using core::zeros;

// --- loops ---

using core::mask_steps;
using core::mean_over_steps;
using core::scan;
using core::ScanOptions;
using core::step_index;
using core::Steps;
using core::valid_steps;

// --- layers ---

using core::Bidirectional;
using core::BlockState;
using core::Dropout;
using core::DropoutShare;
using core::Embedding;
using core::GatedDelta;
using core::Gru;
using core::HeadOptions;
using core::LayerNorm;
using core::LayerOptions;
using core::Linear;
using core::Lstm;
using core::MinGru;
using core::Mlstm;
using core::RecurrentBlock;
using core::RgLru;
using core::Rnn;
using core::Rwkv7;
using core::SelectiveScan;
using core::SelectiveScanOptions;
using core::Slstm;
using core::Stacked;

// --- steps of cells ---

using core::gated_delta;
using core::min_gru;
using core::mlstm;
using core::rg_lru;
using core::rwkv7;
using core::selective_scan;
using core::slstm;

// --- training ---

using core::Accumulator;
using core::Adagrad;
using core::Adam;
using core::batches_by_length;
using core::BestCheckpoint;
using core::BestCheckpointOptions;
using core::clip_by_global_norm;
using core::clip_by_norm;
using core::clip_by_value;
using core::cosine_decay;
using core::Curve;
using core::EarlyStopping;
using core::EarlyStoppingOptions;
using core::exponential_decay;
using core::Figures;
using core::fit;
using core::FitEpoch;
using core::FitOptions;
using core::FitReport;
using core::FitStep;
using core::global_norm;
using core::gradients;
using core::in_batches;
using core::KeptCounter;
using core::LastCheckpoint;
using core::mean_loss;
using core::minimize;
using core::Momentum;
using core::ParamGroup;
using core::Plateau;
using core::PlateauOptions;
using core::Progress;
using core::ProgressAt;
using core::Rmsprop;
using core::RoundUp;
using core::SampleBatches;
using core::Sgd;
using core::shuffled;
using core::slot;
using core::step_decay;
using core::TensorBoard;
using core::to_multiple_of;
using core::to_one_of;
using core::to_power_of_two;

// --- functions on values ---

using core::abs;
using core::argmax;
using core::argmin;
using core::at;
using core::bernoulli;
using core::broadcast_to;
using core::cast;
using core::categorical;
using core::ceil;
using core::clip;
using core::concat;
using core::cos;
using core::cross_entropy;
using core::cross_entropy_with_probabilities;
using core::cumsum;
using core::dropout;
using core::einsum;
using core::equal;
using core::exp;
using core::expm1;
using core::filled;
using core::floor;
using core::fold_in;
using core::gather;
using core::gelu;
using core::greater;
using core::greater_equal;
using core::hard_sigmoid;
using core::iota;
using core::is_finite;
using core::is_nan;
using core::layer_norm;
using core::less;
using core::less_equal;
using core::literal;
using core::log;
using core::log1p;
using core::log_softmax;
using core::logical_and;
using core::logical_not;
using core::logical_or;
using core::logical_xor;
using core::matmul;
using core::max;
using core::maximum;
using core::mean;
using core::merge_rows;
using core::min;
using core::minimum;
using core::mse;
using core::neg;
using core::normal;
using core::not_equal;
using core::one_hot;
using core::pad;
using core::pow;
using core::prod;
using core::random_key;
using core::reciprocal;
using core::relu;
using core::remainder;
using core::reshape;
using core::reverse;
using core::round;
using core::rsqrt;
using core::scatter;
using core::scatter_add;
using core::select;
using core::sigmoid;
using core::sigmoid_cross_entropy;
using core::sign;
using core::silu;
using core::sin;
using core::slice;
using core::softmax;
using core::softplus;
using core::split;
using core::sqrt;
using core::square;
using core::stack;
using core::stop_gradient;
using core::sum;
using core::tan;
using core::tanh;
using core::top_k;
using core::transpose;
using core::uniform;
using core::unstack;
using core::variance;
using core::watch;

// --- foreign files, summaries of a model, and errors ---

using core::ColumnKind;
using core::Error;
using core::ErrorKind;
using core::Missing;
using core::parse_graph;
using core::plot;
using core::PlotLine;
using core::PlotNumbers;
using core::PlotPanel;
using core::print;
using core::PytorchState;
using core::read_safetensors;
using core::read_table;
using core::Safetensors;
using core::summarize;
using core::Summary;
using core::Table;
using core::TableColumn;
using core::TableOptions;
using core::TraceFile;
using core::Where;
using core::write_safetensors;

}  // namespace graphc
