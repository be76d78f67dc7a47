// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/scaling.h"

#include <array>
#include <charconv>

#include "frontend/rank_options.h"
#include "models/registry.h"
#include "tools/bench/environment.h"
#include "tools/bench/sweep.h"

namespace graphc::core::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostRanks = 4096;

Error usage_error(std::string message) { return Error(ErrorKind::usage, {}, std::move(message)); }

/// The batch of a model. Throws for one that has none.
int64_t batch_of(const std::string& model, const std::vector<std::string>& parameters) {
  const Extents extents = make_program(model, parameters)->extents("train");
  const auto batch = extents.find("batch");
  if (batch == extents.end())
    throw usage_error(fmt::format("--ranks: '{}' has no batch to share out", model));
  return batch->second;
}

/// The parameters with another batch.
std::vector<std::string> with_batch(std::vector<std::string> parameters, int64_t batch) {
  std::erase_if(parameters, [](const std::string& word) { return word.starts_with("batch="); });
  parameters.push_back(fmt::format("batch={}", batch));
  return parameters;
}

/// What a rank exchanges in a step with this batch of all ranks.
std::vector<Exchange> exchanges_for(const ScalingRequest& request, int64_t batch, int ranks) {
  if (ranks == 1) return {};
  const auto program = make_program(request.model, with_batch(request.parameters, batch));
  const TracedGraph traced = program->model().trace("train", program->extents("train"));
  CompileOptions compile = request.compile;
  compile.ranks = {.count = ranks,
                   .gradients = compile.ranks.gradients,
                   .axes = batch_axes(traced, SessionOptions{}.batch)};
  CompileReport report;
  const GraphPtr graph = graph_of_rank(traced.graph, compile, report);
  return exchanges_of(*run_passes(graph, passes_for(compile), compile, report));
}

/// The median of a training step, measured in this process.
double step_seconds(const ScalingRequest& request, int64_t batch, const Settings& settings) {
  const auto subject = model_subject(request.model, with_batch(request.parameters, batch),
                                     request.target, request.compile);
  const Row row = measure(*subject, settings, [] {});
  GRAPHC_CHECK(row.train.has_value(), "'{}' has no training step", request.model);
  return row.train->step_s.median;
}

double bytes_of(const std::vector<Exchange>& exchanges) {
  double bytes = 0;
  for (const Exchange& exchange : exchanges) bytes += exchange.bytes;
  return bytes;
}

/// "2.1" or, where overlap makes a difference, "1.7 to 2.1".
std::string range(double least, double most, int digits) {
  const std::string low = fmt::format("{:.{}f}", least, digits),
                    high = fmt::format("{:.{}f}", most, digits);
  return low == high ? low : fmt::format("{} to {}", low, high);
}

}  // namespace

std::vector<int> rank_counts(const std::string& text) {
  std::vector<int> counts;
  for (const std::string& word : split_list(text, "--ranks")) {
    int count = 0;
    const char* end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, count);
    if (error != std::errc() || rest != end || count < 1 || count > kMostRanks) {
      throw usage_error(fmt::format(
          "--ranks is on, off or numbers of ranks from 1 to {}: found '{}'", kMostRanks, word));
    }
    counts.push_back(count);
  }
  std::ranges::sort(counts);
  return counts;
}

std::vector<ScaledRow> model_scaling(const ScalingRequest& request, const Settings& settings) {
  const int64_t batch = batch_of(request.model, request.parameters);
  for (const int ranks : request.ranks) {
    if (batch % ranks != 0)
      throw usage_error(
          fmt::format("--ranks: the batch of {} is not divided by {} ranks", batch, ranks));
  }
  const double whole_s = step_seconds(request, batch, settings);
  std::vector<ScaledRow> rows;
  for (const int ranks : request.ranks) {
    const std::vector<Exchange> strong = exchanges_for(request, batch, ranks),
                                weak = exchanges_for(request, batch * ranks, ranks);
    rows.push_back(
        {.ranks = ranks,
         .exchanges = int64_t(strong.size()),
         .megabytes = bytes_of(strong) * 1e-6,
         .strong = {.batch = batch,
                    .compute_s =
                        ranks == 1 ? whole_s : step_seconds(request, batch / ranks, settings),
                    .exchange_s = seconds_of(strong, request.network, ranks)},
         .weak = {.batch = batch * ranks,
                  .compute_s = whole_s,
                  .exchange_s = seconds_of(weak, request.network, ranks)}});
  }
  return rows;
}

std::string table(const std::vector<ScaledRow>& rows, const ScalingRequest& request,
                  bool markdown) {
  std::vector<std::array<std::string, 7>> lines{{"Ranks", "Step (ms)", "Exchange (ms)", "MB",
                                                 "Speed-up", "Exchange, weak (ms)",
                                                 "Efficiency, weak"}};
  const double one = rows.at(0).weak.compute_s;
  for (const ScaledRow& row : rows) {
    const ScaledStep &strong = row.strong, &weak = row.weak;
    lines.push_back(
        {fmt::to_string(row.ranks), fmt::format("{:.3g}", strong.compute_s * 1e3),
         fmt::format("{:.3g}", strong.exchange_s * 1e3), fmt::format("{:.3g}", row.megabytes),
         range(one / strong.longest_s(), one / strong.shortest_s(), 2),
         fmt::format("{:.3g}", weak.exchange_s * 1e3),
         range(weak.compute_s / weak.longest_s(), weak.compute_s / weak.shortest_s(), 2)});
  }
  std::array<size_t, 7> widths{};
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string cells;
    for (size_t j = 0; j < widths.size(); ++j)
      cells += fmt::format("{}{:>{}}", j == 0 ? "" : " | ", lines[i][j], widths[j]);
    text += markdown ? fmt::format("| {} |\n", cells) : cells + "\n";
    if (markdown && i == 0) text += "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  }
  const Network& network = request.network;
  const bool narrow = request.compile.ranks.gradients == DType::bf16;
  return text + fmt::format(
                    "\nModelled: steps as measured here, each rank a machine like this one; "
                    "exchanges{} over {}\n({:.3g} us, {:.3g} Gbit/s: {}).\nA range is without and "
                    "with as much of the exchange beside the backward pass as fits there.\n",
                    narrow ? ", gradients in bf16," : "", network.name, network.latency_s * 1e6,
                    network.bytes_per_s * 8e-9, network.source);
}

Json to_json(const std::vector<ScaledRow>& rows, const ScalingRequest& request) {
  const auto step = [](const ScaledStep& scaled) {
    return Json{{"batch", scaled.batch},
                {"compute_ms", scaled.compute_s * 1e3},
                {"exchange_ms", scaled.exchange_s * 1e3},
                {"step_ms_without_overlap", scaled.longest_s() * 1e3},
                {"step_ms_with_overlap", scaled.shortest_s() * 1e3}};
  };
  Json all = Json::array();
  for (const ScaledRow& row : rows) {
    all.push_back({{"ranks", row.ranks},
                   {"exchanges", row.exchanges},
                   {"megabytes", row.megabytes},
                   {"strong", step(row.strong)},
                   {"weak", step(row.weak)}});
  }
  return {{"environment", environment()},
          {"workload", request.model},
          {"parameters", request.parameters},
          {"modelled", true},
          {"network",
           {{"name", request.network.name},
            {"latency_us", request.network.latency_s * 1e6},
            {"gbit_per_s", request.network.bytes_per_s * 8e-9},
            {"source", request.network.source}}},
          {"scaling", all}};
}

}  // namespace graphc::core::bench
