// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/speed_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "codegen/step/access.h"
#include "codegen/step/visit.h"
#include "codegen/targets/cuda/launches/split_product.h"
#include "codegen/targets/cuda/launches/work.h"
#include "ir/cases.h"

namespace graphc::core::cuda {
namespace {

// H200: 4.8 TB/s by specification; 450 and 790 TFLOP/s (TF32, bf16), of which large products reach
// a part; a graph of a dozen kernels is estimated at 12 us. A100 of 80 GB: 2.0 TB/s, 156 and 312
// TFLOP/s, of which the same parts; 1.41 GHz, 64 multiply-adds per cycle. All of it remains to be
// measured (tools/gpu-check).
const std::array<GpuFigures, 2>& all_figures() {
  static const std::array<GpuFigures, 2> all = [] {
    Gpu a100 = gpu_of("sm_80");
    a100.clock_per_us = 1410;
    a100.fma_per_clock = 64;
    return std::array<GpuFigures, 2>{
        {{"sm_80", "A100 80 GB", a100, 0.5, 1.8e6, 1, 114e6, 221e6},
         {"sm_90a", "H200", gpu_of("sm_90a"), 0.5, 4.3e6, 1, 330e6, 560e6}}};
  }();
  return all;
}

/// Where a nest runs.
enum class Inside : uint8_t { launch, loop };

/// Adds a nest that runs `times` times.
void add(LaunchTime& time, const NestWork& work, const GpuFigures& figures, Inside inside,
         double times) {
  const Gpu& gpu = figures.gpu;
  // Blocks run in rounds of one per multiprocessor; the last round may be partial.
  const double rounds = std::ceil(work.blocks / gpu.multiprocessors);
  const double used = work.blocks / rounds;
  const double cycles = gpu.clock_per_us * used;
  const double f32 = figures.f32_per_us() / gpu.multiprocessors * used;
  const double products =
      figures.products_per_us(work.factors, work.is_f64) / gpu.multiprocessors * used;
  const double multiplying = work.product_cycles > 0
                                 ? work.product_cycles / gpu.clock_per_us * rounds
                                 : work.flop / products;
  const double arithmetic = multiplying + 2 * work.operations / f32;
  // A warp reads 32 words of four bytes per cycle.
  const double shared = work.shared_bytes / (128 * cycles);
  const double ingest = work.ingest_bytes / (gpu.bytes_per_clock * cycles);
  const double memory =
      (inside == Inside::loop ? work.moving_bytes : work.bytes) / figures.memory_per_us;
  const double latency = work.waits * gpu.memory_latency_us * rounds;
  const double ahead = work.waits_ahead * gpu.memory_latency_us * rounds;
  // In a separate launch a nest has several blocks per multiprocessor, which work while others
  // wait: as many as fit with the sums of a product, or with the threads of any other nest.
  const double most_beside = work.flop > 0 ? work.blocks_beside : 8.0;
  const double beside = inside == Inside::launch ? std::min(rounds, most_beside) : 1;
  const double longest = std::max({arithmetic, shared, ingest, memory, ahead / beside});
  time.flop += work.flop * times;
  time.bytes += work.bytes * times;
  time.arithmetic_us += arithmetic * times;
  time.shared_us += shared * times;
  time.ingest_us += ingest * times;
  time.memory_us += memory * times;
  time.latency_us += (latency + ahead) / beside * times;
  time.busy_us += std::max(longest, (longest + latency) / beside) * times;
}

/// Adds bytes that are only copied, after one wait.
void add_moved(LaunchTime& time, double bytes, const GpuFigures& figures, double times) {
  const double memory = bytes / figures.memory_per_us, latency = figures.gpu.memory_latency_us;
  time.bytes += bytes * times;
  time.memory_us += memory * times;
  time.latency_us += latency * times;
  time.busy_us += (memory + latency) * times;
}

std::string title(const Record& record) {
  const std::string_view family = record.family ? name_of(*record.family) : "loop";
  const auto named = [](std::string_view kind, const std::string& name) {
    return fmt::format("{} %{}", kind, name);
  };
  return std::visit(Cases{[&](const PanelCall& call) { return named("panels", call.name); },
                          [&](const TableCall& call) { return named(name_of(call.op), call.name); },
                          [&](const ExternCall& call) {
                            return fmt::format("external %{}, of whose speed there is no model",
                                               call.name);
                          },
                          [&](const auto& call) { return named(family, call.name); }},
                    record.call);
}

/// Steps of a loop whose values are in registers: memory is loaded ahead.
void add_rows(LaunchTime& time, const LoopPlacement& placement, const GpuFigures& figures,
              double steps) {
  const double memory = placement.step_bytes / figures.memory_per_us;
  time.bytes += placement.step_bytes * steps;
  time.memory_us += memory * steps;
  time.latency_us += placement.step_us * steps;
  time.busy_us += std::max(memory, placement.step_us) * steps;
}

/// All steps of a loop that is one launch.
void add_loop(LaunchTime& time, const Plan& plan, const LoopCall& loop, int depth,
              const LoopPlacement& placement, const GpuFigures& figures, double times) {
  const Gpu& gpu = figures.gpu;
  // Clusters that do not run at the same time take further rounds.
  const double rounds =
      placement.placement == Placement::cluster ? double(placement.rounds(gpu)) : 1;
  const double all = times * double(loop.steps) * rounds;
  const bool owned = placement.placement != Placement::streamed;
  time.steps = loop.steps;
  if (placement.placement == Placement::rows) return add_rows(time, placement, figures, all);
  size_t nest = 0;
  for (const Record& record : loop.body) {
    const auto& call = std::get<NestCall>(record.call);
    if (is_empty_nest(plan, call)) continue;
    const NestWork work =
        work_of(plan, call, depth, owned ? &placement : nullptr, owned ? nest : 0);
    add(time, work, figures, Inside::loop, all);
    if (placement.barrier_after[nest++]) time.barriers += all;
  }
  time.barriers_us =
      time.barriers *
      (placement.placement == Placement::cluster ? gpu.cluster_barrier_us : gpu.barrier_us);
  if (placement.counted != nullptr) {
    const double us =
        placement.counted->beside_us * all + placement.counted->time_to_fill(gpu) * times * rounds;
    time.latency_us += us;
    time.busy_us += us;
  }
}

class Prediction {
 public:
  Prediction(const Plan& plan, const Launches& launches, const GpuFigures& figures)
      : plan_(plan), launches_(launches), figures_(figures) {
    find_depths(plan.records, 0);
  }

  StepTime predict() {
    forms();
    std::vector<Launched> in_order;
    for (const Launch& launch : launches_.step) {
      const bool merged = launch.nests.size() > 1;
      const auto found =
          merged ? in_order.end() : std::ranges::find_if(in_order, [&](const Launched& each) {
            return each.record == launch.record && each.nests.empty();
          });
      Launched& of = found == in_order.end() ? in_order.emplace_back() : *found;
      of.record = launch.record;
      if (merged) of.nests = launch.nests;
      // The second launch of a loop, which adds its blocks' shares of sums, has no placement.
      if (launch.placement != nullptr) of.placement = launch.placement.get();
      of.split = launch.split.get();
      of.loops += int64_t(launch.placement != nullptr);
      of.kernels.insert(launch.kernel);
      ++of.count;
    }
    for (const Launched& each : in_order) step_.launches.push_back(time_of(each));
    return std::move(step_);
  }

 private:
  /// The launches of a record, or one launch of several nests.
  struct Launched {
    const Record* record = nullptr;
    std::vector<LaunchedNest> nests;           ///< for a launch of several nests
    const LoopPlacement* placement = nullptr;  ///< of a loop
    const SplitProduct* split = nullptr;
    int64_t count = 0, loops = 0;
    std::set<int> kernels;
  };

  int64_t shared_bytes() const { return figures_.gpu.shared_bytes; }

  /// The number of loops around each loop.
  void find_depths(const std::vector<Record>& records, int depth) {
    for (const Record& record : records) {
      const auto* loop = std::get_if<LoopCall>(&record.call);
      if (loop == nullptr) continue;
      depths_[&record] = depth;
      find_depths(loop->body, depth + 1);
    }
  }

  /// The forms of states that the step writes.
  void forms() {
    std::set<int> written;
    for (const Record& record : plan_.records) {
      visit_accesses(plan_, record, [&](const Access& access) {
        if (!access.writes()) return;
        const Buffer& buffer = plan_.buffers[size_t(access.address->buffer)];
        if (buffer.place == Place::state) written.insert(buffer.index);
      });
    }
    for (const PlanForm& form : plan_.forms) {
      const auto is_written = [&](int state) { return written.contains(state); };
      if (std::ranges::none_of(form.states, is_written)) continue;
      const Buffer& buffer = plan_.buffers[size_t(form.buffer)];
      LaunchTime time;
      time.name = fmt::format("form %{}", buffer.name);
      time.launches = int64_t(form.make.size());
      time.launch_us = figures_.launch_us * double(time.launches);
      add_moved(time, 2.0 * double(buffer.bytes), figures_, 1);
      step_.launches.push_back(std::move(time));
    }
  }

  LaunchTime time_of(const Launched& of) const {
    LaunchTime time;
    time.name = title(*of.record);
    time.launches = of.count;
    time.launch_us = figures_.launch_us * double(of.count);
    const auto times = double(of.count);
    if (!of.nests.empty()) return merged_time(std::move(time), of);
    // Its second launch follows the first.
    if (of.split != nullptr) {
      for (const NestCall* call : {&of.split->product, &of.split->rest})
        add(time, launched_work_of(*of.split->plan, *call, shared_bytes()), figures_,
            Inside::launch, times);
      time.launches *= 2;
      time.launch_us *= 2;
      return time;
    }
    std::visit(Cases{[&](const NestCall& call) {
                       add(time, launched_work_of(plan_, call, shared_bytes()), figures_,
                           Inside::launch, times);
                     },
                     [&](const PanelCall& call) {
                       add_moved(time, 2.0 * double(call.bytes()), figures_, times);
                     },
                     // The record's kernels share the work.
                     [&](const TableCall& call) {
                       add_moved(time, bytes_of(call), figures_, times / double(of.kernels.size()));
                     },
                     [&](const LoopCall& call) {
                       add_loop(time, plan_, call, depths_.at(of.record), *of.placement, figures_,
                                double(of.loops));
                     },
                     [](const ExternCall&) {}, [](const BlockCall&) {}},
               of.record->call);
    return time;
  }

  /// Nests whose blocks run concurrently: together they wait as long as the one that waits longest.
  LaunchTime merged_time(LaunchTime time, const Launched& of) const {
    NestWork all;
    for (const LaunchedNest& nest : of.nests) {
      const NestWork work = launched_work_of(plan_, *nest.call, shared_bytes());
      all.blocks += work.blocks;
      all.operations += work.operations;
      all.bytes += work.bytes;
      all.ingest_bytes += work.ingest_bytes;
      all.waits = std::max(all.waits, work.waits);
    }
    time.name += fmt::format(" and {} more", of.nests.size() - 1);
    add(time, all, figures_, Inside::launch, 1);
    return time;
  }

  const Plan& plan_;
  const Launches& launches_;
  const GpuFigures& figures_;
  std::map<const Record*, int> depths_;
  StepTime step_;
};

}  // namespace

GpuFigures figures_of(const Gpu& gpu) {
  const GpuFigures& known = all_figures()[gpu.has_clusters() ? 1 : 0];
  const double share = double(gpu.multiprocessors) / known.gpu.multiprocessors;
  GpuFigures figures = known;
  figures.gpu = gpu;
  for (double* rate : {&figures.memory_per_us, &figures.tf32_per_us, &figures.half_per_us})
    *rate *= share;
  return figures;
}

double loop_us(const Plan& plan, const LoopCall& loop, int depth, const LoopPlacement& placement,
               const GpuFigures& figures) {
  LaunchTime time;
  add_loop(time, plan, loop, depth, placement, figures, 1);
  return time.total_us();
}

double launch_us(const Plan& plan, const NestCall& call, const GpuFigures& figures) {
  if (is_empty_nest(plan, call)) return 0;
  LaunchTime time;
  add(time, launched_work_of(plan, call, figures.gpu.shared_bytes), figures, Inside::launch, 1);
  return figures.launch_us + time.total_us();
}

double GpuFigures::products_per_us(Factors factors, bool is_f64) const {
  if (const std::optional<TensorCost> cost = tensor_cost(factors))
    return (cost->is_half ? half_per_us : tf32_per_us) / cost->products;
  return is_f64 ? f32_per_us() * f64 : f32_per_us();
}

const GpuFigures* gpu_figures(std::string_view architecture) {
  const auto found = std::ranges::find(all_figures(), architecture, &GpuFigures::architecture);
  return found == all_figures().end() ? nullptr : &*found;
}

std::string known_gpu_figures() {
  std::string text;
  for (const GpuFigures& each : all_figures())
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", each.architecture, each.name);
  return text;
}

std::string_view name_of(Limit limit) {
  constexpr std::string_view kNames[] = {"arithmetic", "shared memory", "cache", "memory",
                                         "latency",    "barriers",      "launch"};
  return kNames[size_t(limit)];
}

Limit LaunchTime::limit() const {
  const std::array all{arithmetic_us, shared_us,   ingest_us, memory_us,
                       latency_us,    barriers_us, launch_us};
  return Limit(std::ranges::max_element(all) - all.begin());
}

double StepTime::total_us() const {
  double sum = 0;
  for (const LaunchTime& each : launches) sum += each.total_us();
  return sum;
}

StepTime predict(const Plan& plan, const Launches& launches, const GpuFigures& figures) {
  return Prediction(plan, launches, figures).predict();
}

std::string print(const StepTime& step, const GpuFigures& figures) {
  std::string text = fmt::format(
      "model, not measured: a step on {} ({}) in microseconds\n"
      "      us  launches  steps    GFLOP        MB  limited by\n",
      figures.architecture, figures.name);
  int64_t launches = 0;
  for (const LaunchTime& each : step.launches) {
    launches += each.launches;
    text += fmt::format("{:8.1f}  {:8}  {:5}  {:7.3f}  {:8.1f}  {}: {}\n", each.total_us(),
                        each.launches, each.steps, each.flop * 1e-9, each.bytes * 1e-6,
                        name_of(each.limit()), each.name);
  }
  return text + fmt::format("{:8.1f}  {:8}  all\n", step.total_us(), launches);
}

}  // namespace graphc::core::cuda
