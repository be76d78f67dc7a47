// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/report.h"

#include <algorithm>
#include <charconv>

#include "runtime/cores.h"
#include "tools/bench/environment.h"

namespace graphc::core::bench {
namespace {

using Json = nlohmann::ordered_json;

const std::optional<Timed>& timed(const Row& row, Call call) {
  return call == Call::train ? row.train : row.forward;
}

double examples_of(const Row& row) { return row.work ? double(row.work->examples) : 1; }

/// Milliseconds per example of a call.
std::optional<Summary> example_ms(const Row& row, Call call) {
  const std::optional<Timed>& steps = timed(row, call);
  if (!steps) return std::nullopt;
  return steps->step_s * (1e3 / examples_of(row));
}

void add(Json& json, const std::string& name, const Summary& summary) {
  json[name] = summary.median;
  json[name + "_min"] = summary.min;
  json[name + "_max"] = summary.max;
}

/// The value of a parameter as JSON of the matching type.
Json value_of(const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  int64_t integer = 0;
  if (const auto [stop, error] = std::from_chars(begin, end, integer);
      error == std::errc() && stop == end)
    return integer;
  double number = 0;
  if (const auto [stop, error] = std::from_chars(begin, end, number);
      error == std::errc() && stop == end && number - number == 0)
    return number;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

Json phases(const Row& row) {
  const CompileReport& report = row.compile;
  return {{"trace_s", report.trace_s},        {"driver_s", report.driver_s},
          {"library_s", report.library_s},    {"passes_s", report.passes_s},
          {"plan_s", report.plan_s},          {"emit_s", report.emit_s},
          {"codegen_s", report.codegen_s},    {"link_s", report.link_s},
          {"tune_s", report.tune_s},          {"allocate_s", report.allocate_s},
          {"first_step_s", row.first_step_s}, {"cache_hits", report.cache_hits},
          {"kernels", report.kernels}};
}

Json result(const Row& row, double peak_gflops) {
  Json json = to_json(row.configuration);
  json["cache"] = name_of(row.caches);
  if (row.work) json["examples_per_step"] = row.work->examples;
  json["repeat"] = row.train ? row.train->steps : row.forward->steps;
  add(json, "compile_s", row.compile_s);
  json["compile"] = phases(row);
  for (const Call call : {Call::train, Call::forward}) {
    const std::string name = call == Call::train ? "train" : "forward";
    const std::optional<Timed>& steps = timed(row, call);
    if (!steps) continue;
    add(json, name + "_ms", *example_ms(row, call));
    add(json, name + "_step_ms", steps->step_s * 1e3);
    if (steps->product_flop > 0) json[name + "_product_flop"] = steps->product_flop;
    if (steps->enqueue_s) add(json, name + "_enqueue_only_step_ms", *steps->enqueue_s * 1e3);
    if (const std::optional<Speed> speed = speed_of(row, call, peak_gflops)) {
      add(json, name + "_gflops", speed->gflops);
      if (peak_gflops > 0) add(json, name + "_fraction_of_peak", speed->fraction);
    }
  }
  if (peak_gflops > 0) json["peak_gflops"] = peak_gflops;
  if (row.train && row.work && row.work->words > 0)
    add(json, fmt::format("{}_per_s", row.work->unit),
        row.train->step_s.divide(double(row.work->words)));
  if (row.peak_bytes > 0) json["peak_bytes"] = row.peak_bytes;
  return json;
}

std::string label(const Row& row) {
  const Configuration& configuration = row.configuration;
  return fmt::format("graphc {}{}{}", way_of(configuration), configuration.given.empty() ? "" : " ",
                     configuration.given);
}

/// The nominal FLOP of a model's products; for a graph in a file, those in its plan.
double counted_flop(const Row& row, Call call) {
  if (!row.work) return timed(row, call)->product_flop;
  return call == Call::train ? row.work->train_flop : row.work->forward_flop;
}

/// The share of the counted work that the step executes: less than all if products with zeros at
/// the ends of a short loop, or unused products, are left out.
double done_of_counted(const Row& row, Call call) {
  const double planned = timed(row, call)->product_flop;
  return planned > 0 ? std::min(1.0, planned / counted_flop(row, call)) : 1;
}

std::string number(const std::optional<Summary>& summary) {
  return summary ? fmt::format("{:.4g}", summary->median) : "-";
}

}  // namespace

std::optional<Speed> speed_of(const Row& row, Call call, double peak_gflops) {
  const std::optional<Timed>& steps = timed(row, call);
  if (!steps || counted_flop(row, call) <= 0) return std::nullopt;
  const Summary gflops = steps->step_s.divide(counted_flop(row, call) * 1e-9);
  return Speed{gflops, peak_gflops > 0 ? gflops * (1 / peak_gflops) : Summary{}};
}

void check_fractions(std::span<const Row> rows, double peak_gflops) {
  for (const Row& row : rows) {
    for (const Call call : {Call::train, Call::forward}) {
      const std::optional<Speed> speed = speed_of(row, call, peak_gflops);
      if (!speed || speed->fraction.median * done_of_counted(row, call) <= 1) continue;
      throw Error(
          ErrorKind::check, {},
          fmt::format("{}: {:.1f} GFLOP/s is more than the measured peak of {:.1f}", label(row),
                      speed->gflops.median * done_of_counted(row, call), peak_gflops));
    }
  }
}

std::string table(std::span<const Row> rows, bool markdown) {
  // A file does not define examples: its calls are steps.
  const bool steps = !rows.empty() && !rows[0].work;
  const std::string unit = steps ? "(ms/step)" : "(ms/example)";
  std::vector<std::array<std::string, 4>> lines{
      {"Library", "Compile (s)", "Train " + unit, "Forward only " + unit}};
  for (const Row& row : rows) {
    lines.push_back({label(row), number(row.compile_s), number(example_ms(row, Call::train)),
                     number(example_ms(row, Call::forward))});
  }
  std::array<size_t, 4> widths{};
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& [library, compile, train, forward] = lines[i];
    text += fmt::format("{0}{1:<{2}} | {3:>{4}} | {5:>{6}} | {7:>{8}}{9}\n", markdown ? "| " : "",
                        library, widths[0], compile, widths[1], train, widths[2], forward,
                        widths[3], markdown ? " |" : "");
    if (markdown && i == 0) text += "| --- | ---: | ---: | ---: |\n";
  }
  return text;
}

std::string way_of(const Configuration& configuration) {
  const CompileOptions& compile = configuration.compile;
  std::string ranks;
  if (configuration.ranks) ranks = fmt::format(" ranks={}", configuration.ranks->count());
  if (configuration.ranks && compile.ranks.gradients == DType::bf16) ranks += " gradients=bf16";
  return compile.variant + (compile.unroll == "auto" ? "" : " unroll=" + compile.unroll) +
         (compile.remat == "auto" ? "" : " remat=" + compile.remat) +
         (compile.recurrence == "auto" ? "" : " recurrence=" + compile.recurrence) +
         (configuration.io == Io::host ? "" : fmt::format(" io={}", name_of(configuration.io))) +
         ranks;
}

Json to_json(const Configuration& configuration) {
  const CompileOptions& compile = configuration.compile;
  Json parameters = Json::object();
  for (const auto& [name, value] : configuration.parameters) parameters[name] = value_of(value);
  Json json{{"workload", configuration.workload},
            {"parameters", parameters},
            {"variant", compile.variant},
            {"unroll", compile.unroll},
            {"remat", compile.remat},
            {"recurrence", compile.recurrence},
            {"target", configuration.target},
            {"precision", name_of(compile.precision)},
            {"threads", compile.threads},
            {"io", name_of(configuration.io)}};
  if (configuration.ranks) json["ranks"] = configuration.ranks->count();
  if (configuration.ranks) json["gradients"] = to_string(compile.ranks.gradients);
  return json;
}

Json to_json(std::span<const Row> rows, double peak_gflops) {
  Json results = Json::array();
  for (const Row& row : rows) results.push_back(result(row, peak_gflops));
  return {{"environment", environment()}, {"results", results}};
}

}  // namespace graphc::core::bench
