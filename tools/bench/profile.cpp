// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/profile.h"

#include "frontend/profile.h"
#include "runtime/clock.h"
#include "tools/bench/environment.h"
#include "tools/bench/report.h"

namespace graphc::core::bench {
namespace {

using Json = nlohmann::ordered_json;

Json kernel_json(const KernelFigures& figures) {
  const KernelTime& kernel = figures.kernel;
  Json json{{"name", kernel.name}, {"kind", kernel.what}};
  if (kernel.where) {
    json["file"] = kernel.where.file;
    json["line"] = kernel.where.line;
    json["backward"] = kernel.where.backward();
  }
  json["calls"] = kernel.calls;
  json["seconds"] = figures.seconds.median;
  json["seconds_min"] = figures.seconds.min;
  json["seconds_max"] = figures.seconds.max;
  json["flop"] = kernel.flop;
  json["bytes"] = kernel.bytes;
  return json;
}

std::string_view name_of(Call call) { return call == Call::train ? "train" : "forward"; }

}  // namespace

CallProfile profile_call(Subject& subject, Call call) {
  const std::vector<Tensor> inputs = subject.random_inputs(call, 0);
  subject.compile(call, {inputs.begin(), inputs.end()});
  CallProfile profile{.configuration = subject.configuration(), .call = call};
  std::vector<std::vector<double>> seconds;
  const double begun = steady_seconds();
  while (profile.runs < kProfiledCalls &&
         (profile.runs == 0 || steady_seconds() - begun < kProfileSeconds)) {
    const std::vector<KernelTime> times = subject.profile(call, inputs);
    if (profile.runs++ == 0) {
      for (const KernelTime& time : times) profile.kernels.push_back({.kernel = time});
      seconds.resize(times.size());
    }
    GRAPHC_CHECK(times.size() == seconds.size(), "{} kernels, then {}", seconds.size(),
                 times.size());
    for (size_t i = 0; i < times.size(); ++i) seconds[i].push_back(times[i].seconds);
  }
  for (size_t i = 0; i < seconds.size(); ++i) {
    profile.kernels[i].seconds = summarize(seconds[i]);
    profile.kernels[i].kernel.seconds = profile.kernels[i].seconds.median;
  }
  return profile;
}

std::string text_of(const CallProfile& profile) {
  const Configuration& what = profile.configuration;
  std::vector<KernelTime> times;
  for (const KernelFigures& figures : profile.kernels) times.push_back(figures.kernel);
  return fmt::format("{} {}{}, {}\n{}", way_of(what), what.workload,
                     what.given.empty() ? "" : " " + what.given, name_of(profile.call),
                     graphc::core::text_of(std::move(times)));
}

Json to_json(std::span<const CallProfile> profiles, double peak_gflops) {
  Json all = Json::array();
  for (const CallProfile& profile : profiles) {
    Json json = to_json(profile.configuration);
    json["call"] = name_of(profile.call);
    json["runs"] = profile.runs;
    if (peak_gflops > 0) json["peak_gflops"] = peak_gflops;
    json["kernels"] = Json::array();
    for (const KernelFigures& figures : profile.kernels)
      json["kernels"].push_back(kernel_json(figures));
    all.push_back(std::move(json));
  }
  return {{"environment", environment()}, {"profiles", all}};
}

}  // namespace graphc::core::bench
