// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/step_launches.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/targets/cuda/launches/speed_model.h"
#include "codegen/targets/cuda/text/pipelined_form.h"

namespace graphc::core::cuda {
namespace {

/// A graph of so many launches takes some 10 ms to make.
constexpr int64_t kMostStepLaunches = 4096;
/// What the model does not see of launches that wait for each other: the last blocks of one leave
/// the GPU idle, and the first of the next load their first operands.
constexpr double kBetweenUs = 1.5;
/// The most that launches may take of the kernel's time.
constexpr double kMostShare = 0.75;

}  // namespace

int64_t multiply_adds_of(const LoopCall& loop) {
  int64_t work = 0;
  for (const Record& record : loop.body) {
    const auto& nest = std::get<NestCall>(record.call);
    for (const CallProduct& product : nest.products)
      work += nest.rows * nest.unit * product.panels.parts * product.panels.k;
  }
  return work * loop.steps;
}

std::string why_in_launches(const Plan& plan, const LoopCall& loop, const LoopKernel& whole,
                            const Gpu& gpu) {
  const int64_t launches = loop.steps * int64_t(loop.body.size());
  if (launches > kMostStepLaunches) return {};
  // Of other nests the model says what they take in launches, but not of barriers between them.
  if (std::ranges::none_of(loop.body, [&](const Record& record) {
        const auto& nest = std::get<NestCall>(record.call);
        return launched_form_of(plan, nest, gpu.shared_bytes).pipelined.has_value();
      }))
    return {};
  const GpuFigures figures = figures_of(gpu);
  double step_us = 0;
  for (const Record& record : loop.body)
    step_us += kBetweenUs + launch_us(plan, std::get<NestCall>(record.call), figures);
  const double us = double(loop.steps) * step_us;
  const double kernel_us = loop_us(plan, loop, 0, whole.placement, figures);
  if (us > kMostShare * kernel_us) return {};
  return fmt::format(
      "loop {}: {} launches, which take {:.0f} us by the model; one kernel takes {:.0f} ({})",
      loop.name, launches, us, kernel_us, whole.note);
}

}  // namespace graphc::core::cuda
