// SPDX-License-Identifier: Apache-2.0
#include "frontend/timeline.h"

#include <array>

#include "frontend/profile.h"

namespace graphc::core {
namespace {

struct Phase {
  const char* name;
  double CompileReport::* seconds;
};
constexpr std::array<Phase, 10> kPhases{{{"trace", &CompileReport::trace_s},
                                         {"driver", &CompileReport::driver_s},
                                         {"library", &CompileReport::library_s},
                                         {"passes", &CompileReport::passes_s},
                                         {"plan", &CompileReport::plan_s},
                                         {"emit", &CompileReport::emit_s},
                                         {"codegen", &CompileReport::codegen_s},
                                         {"link", &CompileReport::link_s},
                                         {"tune", &CompileReport::tune_s},
                                         {"allocate", &CompileReport::allocate_s}}};

std::string name_of(const KernelTime& kernel) {
  return fmt::format("{} %{}{}", kernel.what, kernel.name,
                     kernel.where.backward() ? " backward" : "");
}

TraceFacts facts_of(const KernelTime& kernel, const WorkerSpan& span) {
  TraceFacts facts;
  if (kernel.where) facts.push_back({"line", line_of(kernel)});
  if (span.step >= 0) facts.push_back({"step", span.step});
  if (kernel.flop > 0) facts.push_back({"flop of all workers", kernel.flop / double(kernel.calls)});
  return facts;
}

}  // namespace

void trace_compilation(TraceFile& trace, const std::string& graph, const CompileReport& report) {
  double at = report.accounted - report.total_s();
  trace.span(TraceTrack::compilation, fmt::format("compile {}", graph), at, report.accounted,
             {{"kernels", report.kernels},
              {"kernels found", report.cache_hits},
              {"arena bytes", report.peak_bytes}});
  for (const Phase& phase : kPhases) {
    const double seconds = report.*phase.seconds;
    if (seconds <= 0) continue;
    trace.span(TraceTrack::compilation, phase.name, at, at + seconds);
    if (phase.seconds == &CompileReport::passes_s) {
      double pass = at;
      for (const PassTime& time : report.passes) {
        trace.span(TraceTrack::compilation, time.pass, pass, pass + time.seconds);
        pass += time.seconds;
      }
    }
    at += seconds;
  }
  trace.flush();
}

void trace_run(TraceFile& trace, const RunProfile& profile) {
  for (const WorkerSpan& span : profile.spans) {
    const KernelTime& kernel = profile.kernels[span.kernel];
    if (span.worker == WorkerSpan::kCommunication) {
      trace.span(TraceTrack::exchanges, name_of(kernel), span.begin, span.done,
                 facts_of(kernel, span));
      continue;
    }
    trace.span(TraceTrack::worker, name_of(kernel), span.begin, span.done, facts_of(kernel, span),
               span.worker);
    trace.span(TraceTrack::worker, "wait", span.done, span.met, {}, span.worker);
  }
}

}  // namespace graphc::core
