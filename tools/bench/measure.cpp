// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/measure.h"

#include <algorithm>
#include <cmath>

#include "runtime/clock.h"

namespace graphc::core::bench {
namespace {

using Batches = std::vector<std::vector<AnyTensor>>;

constexpr int kBatches = 4;            ///< prepared in advance and used in turn
constexpr double kCompileSeconds = 2;  ///< no further compilation after this time

Batches random_batches(const Subject& subject, Call call) {
  Batches batches;
  for (uint64_t seed = 0; seed < kBatches; ++seed) {
    std::vector<AnyTensor>& batch = batches.emplace_back();
    for (const Tensor& input : subject.random_inputs(call, seed)) {
      if (subject.configuration().io == Io::device) {
        batch.emplace_back(copy_to_device(input, 0));
      } else {
        batch.emplace_back(input);
      }
    }
  }
  return batches;
}

/// What rank 0 decides: clocks differ.
bool decided(const Settings& settings, bool mine) {
  if (settings.ranks == nullptr) return mine;
  auto first = std::byte(mine ? 1 : 0);
  settings.ranks->broadcast(std::span(&first, 1), 0);
  return first != std::byte(0);
}

struct Compilation {
  CompileReport report;
  double seconds = 0, first_step_s = 0;
};

/// From scratch to the end of the first call.
Compilation compile_once(Subject& subject, Call call, const std::vector<AnyTensor>& inputs,
                         int64_t& first_step_kernels) {
  subject.forget();
  Compilation result;
  const double begun = steady_seconds();
  result.report = subject.compile(call, inputs);
  result.report.lap(&CompileReport::allocate_s);  // intermediate graphs were freed
  const double compiled = steady_seconds();
  const int64_t made = objects_made();
  const double stepping = steady_seconds();
  subject.run(call, inputs);
  const double ended = steady_seconds();
  first_step_kernels += objects_made() - made;
  result.first_step_s = ended - stepping;
  result.seconds = (compiled - begun) + result.first_step_s;
  return result;
}

void measure_compilation(Subject& subject, Call call, const std::vector<AnyTensor>& inputs,
                         const Settings& settings, Row& row) {
  clear_code_caches();
  std::vector<Compilation> all;
  std::vector<double> seconds;
  // Fills the kernel caches.
  if (settings.caches != Caches::cold) compile_once(subject, call, inputs, row.first_step_kernels);
  const double begun = steady_seconds();
  while (int64_t(all.size()) < settings.compilations &&
         (all.empty() || decided(settings, steady_seconds() - begun < kCompileSeconds))) {
    if (settings.caches != Caches::warm) {
      subject.forget();
      clear_code_caches();
    }
    all.push_back(compile_once(subject, call, inputs, row.first_step_kernels));
    seconds.push_back(all.back().seconds);
  }
  // With an odd number, the median compilation is a real one whose phases add up.
  if (all.size() % 2 == 0) {
    all.erase(all.begin());
    seconds.erase(seconds.begin());
  }
  GRAPHC_CHECK(row.first_step_kernels == 0, "{} kernels were made in the first step",
               row.first_step_kernels);
  row.compile_s = summarize(seconds);
  const auto median = std::ranges::find(seconds, row.compile_s.median);
  const Compilation& chosen = all[size_t(median - seconds.begin())];
  row.compile = chosen.report;
  row.first_step_s = chosen.first_step_s;
}

void check_loss(const Subject& subject, const std::vector<AnyTensor>& results) {
  if (!subject.work() || results.empty() || !is_floating(type_of(results[0]).dtype)) return;
  const auto* const there = std::get_if<DeviceTensor>(&results[0]);
  const Tensor first = there != nullptr ? to_host(*there) : std::get<Tensor>(results[0]);
  const double loss = first.literal().element(0);
  if (std::isfinite(loss)) return;
  throw Error(ErrorKind::check, {},
              fmt::format("{}: the loss is {}", subject.configuration().workload, loss));
}

/// Times individual calls, after one warm-up, until `deadline`; at least one.
Timed measure_steps(Subject& subject, Call call, const Batches& batches, const Settings& settings,
                    double deadline) {
  const auto batch = [&](size_t i) { return &batches[(i + 1) % batches.size()]; };
  subject.run(call, *batch(0), batch(1));
  std::vector<double> seconds, enqueued;
  while (int64_t(seconds.size()) < settings.repeat &&
         (seconds.empty() || decided(settings, steady_seconds() < deadline))) {
    const size_t i = seconds.size() + 1;
    const double begun = steady_seconds();
    const std::vector<AnyTensor> results = subject.run(call, *batch(i), batch(i + 1));
    seconds.push_back(steady_seconds() - begun);
    if (const std::optional<double> enqueue_s = subject.enqueue_s()) enqueued.push_back(*enqueue_s);
    if (call == Call::train) check_loss(subject, results);
  }
  Timed timed{.step_s = summarize(seconds), .steps = int64_t(seconds.size())};
  if (!enqueued.empty()) timed.enqueue_s = summarize(enqueued);
  return timed;
}

}  // namespace

std::string_view name_of(Caches caches) {
  switch (caches) {
    case Caches::cold:
      return "cold";
    case Caches::disk:
      return "disk";
    case Caches::warm:
      return "warm";
  }
  return "";
}

Row measure(Subject& subject, const Settings& settings, const std::function<void()>& stop) {
  Row row{
      .configuration = subject.configuration(), .caches = settings.caches, .work = subject.work()};
  const bool trains = subject.has(Call::train);
  const Call first = trains ? Call::train : Call::forward;
  Batches batches = random_batches(subject, first);
  stop();
  measure_compilation(subject, first, batches[0], settings, row);
  row.peak_bytes = row.compile.peak_bytes;
  stop();
  const double begun = steady_seconds();
  if (trains) {
    // Half of the time is for the forward call, if there is one.
    const double share = subject.has(Call::forward) ? 0.5 : 1;
    row.train = measure_steps(subject, Call::train, batches, settings,
                              begun + settings.row_seconds * share);
    row.train->product_flop = row.compile.product_flop;
  }
  stop();
  if (subject.has(Call::forward)) {
    double product_flop = row.compile.product_flop;
    if (trains) {
      batches = random_batches(subject, Call::forward);
      const CompileReport report = subject.compile(Call::forward, batches[0]);
      row.peak_bytes = std::max(row.peak_bytes, report.peak_bytes);
      product_flop = report.product_flop;
    }
    row.forward =
        measure_steps(subject, Call::forward, batches, settings, begun + settings.row_seconds);
    row.forward->product_flop = product_flop;
  }
  stop();
  subject.forget();
  return row;
}

}  // namespace graphc::core::bench
