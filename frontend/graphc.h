// SPDX-License-Identifier: Apache-2.0
// graphc: the one header users include. A model is written as equations on values, traced to a
// graph, compiled for a target and run by a session.
//
//   Model m("regression");
//   const Param w = m.param("w", {3, 1}, glorot_uniform()), b = m.param("b", {1}, zeros());
//   m.graph("train", Mode::training, [&](Inputs& in) {
//     Value x = in("x", f32, {"batch", 3}), y = in("y", f32, {"batch", 1});
//     Value loss = mse(matmul(x, w) + b, y);
//     minimize(loss, m.params(), Sgd{.rate = 0.1});
//     return loss;
//   });
//   Session session(m);
//   double loss = session("train", x, y).scalar();
#pragma once

#include "codegen/target.h"
#include "frontend/buckets.h"
#include "frontend/curve.h"
#include "frontend/data.h"
#include "frontend/files.h"
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
#include "frontend/pytorch.h"
#include "frontend/scan.h"
#include "frontend/schedules.h"
#include "frontend/session.h"
#include "frontend/shared_graph.h"
#include "frontend/state.h"
#include "frontend/summary.h"
#include "frontend/table.h"
#include "frontend/vocabulary.h"
#include "ir/text.h"
