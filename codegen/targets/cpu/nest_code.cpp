// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/nest_code.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>

#include "codegen/targets/cpu/emit/emit_nest.h"
#include "codegen/targets/cpu/jit/jit.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/walk/profile.h"
#include "ir/mutant.h"
#include "runtime/clock.h"

namespace graphc::core::cpu {
namespace {

constexpr const char* kSymbol = "nest";

std::string key_of(const NestProgram& program) {
  std::string text = program.text();
  if (mutated(Mutant::kernel_of_another_body)) std::ranges::sort(text);
  return text;
}

/// An object to be compiled.
struct Wanted {
  std::function<void(CodeModule&)> emit;
  bool is_nest = false;
};

/// Obtains several objects in parallel, each from its file or from LLVM.
class Objects {
 public:
  Objects(Jit& jit, const FileCache& files, ThreadTeam& compilers)
      : jit_(jit),
        files_(files),
        compilers_(compilers),
        emit_s_(size_t(compilers.size()), 0),
        codegen_s_(emit_s_) {}

  std::vector<ObjectCode> of(const std::vector<Wanted>& wanted, NestCodeTimes& times) {
    std::vector<ObjectCode> objects(wanted.size());
    std::atomic<size_t> next{0};
    const double begun = steady_seconds();
    compilers_.run([&](int thread) {
      for (size_t i = next++; i < wanted.size(); i = next++)
        objects[i] = object_of(wanted[i], size_t(thread));
    });
    // The threads' intervals overlap: divide the one interval of wall-clock time in proportion to
    // their sums.
    const double wall = steady_seconds() - begun;
    const double emit = std::accumulate(emit_s_.begin(), emit_s_.end(), 0.0);
    const double codegen = std::accumulate(codegen_s_.begin(), codegen_s_.end(), 0.0);
    times.emit_s = wall * emit / (emit + codegen);
    times.codegen_s = wall - times.emit_s;
    times.kernels = compiled_;
    times.why_not_kept = why_not_kept_;
    return objects;
  }

 private:
  ObjectCode object_of(const Wanted& wanted, size_t thread) {
    const double begun = steady_seconds();
    CodeModule module(jit_.cpu(), kSymbol);
    wanted.emit(module);
    const double emitted = steady_seconds();
    ObjectCode object = kept_or_compiled(std::move(module), wanted.is_nest);
    emit_s_[thread] += emitted - begun;
    codegen_s_[thread] += steady_seconds() - emitted;
    return object;
  }

  ObjectCode kept_or_compiled(CodeModule&& module, bool is_nest) {
    std::string key;
    // Tiles in software are functions of this process; their addresses differ in other processes.
    if (!files_.folder().empty() && jit_.cpu().matrix_tiles != MatrixTiles::software) {
      key = jit_.identity() + "\n" + module.bitcode();
      if (std::optional<std::string> kept = files_.find(key)) return {std::move(*kept)};
    }
    ObjectCode object = jit_.compile(std::move(module));
    compiled_ += is_nest ? 1 : 0;
    if (key.empty()) return object;
    if (std::string reason = files_.keep(key, object.bytes); !reason.empty()) {
      const std::lock_guard lock(mutex_);
      why_not_kept_ = std::move(reason);
    }
    return object;
  }

  Jit& jit_;
  const FileCache& files_;
  ThreadTeam& compilers_;
  std::vector<double> emit_s_, codegen_s_;  ///< of each thread
  std::atomic<int64_t> compiled_ = 0;
  std::mutex mutex_;
  std::string why_not_kept_;
};

/// The shared code that the nests call and that no earlier nest called.
std::vector<SharedCode> missing_shared_code(const std::vector<const NestProgram*>& nests,
                                            const Jit& jit) {
  std::vector<SharedCode> missing;
  for (const NestProgram* nest : nests) {
    for (SharedCode& code : shared_code_of(*nest)) {
      if (!jit.shares(code.symbol) &&
          std::ranges::count(missing, code.symbol, &SharedCode::symbol) == 0)
        missing.push_back(std::move(code));
    }
  }
  return missing;
}

}  // namespace

struct NestCode::Impl {
  explicit Impl(const CpuFeatures& cpu) : jit(cpu) {}
  std::mutex mutex;
  Jit jit;
  std::map<std::string, NestFunction> functions;  // by key_of() of their programs
};

NestCode::NestCode(const CpuFeatures& cpu) : impl_(std::make_unique<Impl>(cpu)) {}
NestCode::~NestCode() = default;

std::vector<NestFunction> NestCode::functions_of(const Plan& plan, ThreadTeam& compilers,
                                                 const FileCache& files, NestCodeTimes& times) {
  const double begun = steady_seconds();
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::string> keys;
  std::vector<const NestProgram*> missing;
  for (const NestProgram& program : plan.programs) {
    keys.push_back(key_of(program));
    if (!impl_->functions.contains(keys.back())) missing.push_back(&program);
  }
  if (!missing.empty()) {
    const std::vector<SharedCode> shared = missing_shared_code(missing, impl_->jit);
    std::vector<Wanted> wanted;
    for (const SharedCode& code : shared) wanted.push_back({code.emit});
    for (const NestProgram* program : missing) {
      wanted.push_back(
          {[&, program](CodeModule& module) { emit_nest(module, kSymbol, *program); }, true});
    }
    const std::vector<ObjectCode> objects = Objects(impl_->jit, files, compilers).of(wanted, times);
    for (size_t i = 0; i < shared.size(); ++i) impl_->jit.share(objects[i], shared[i].symbol);
    const std::vector<std::string> callers = callers_of(plan);
    for (size_t i = 0; i < missing.size(); ++i) {
      const size_t index = size_t(missing[i] - plan.programs.data());
      const std::string shown = "graphc " + plan.name + " " + callers[index];
      impl_->functions[keys[index]] = reinterpret_cast<NestFunction>(
          impl_->jit.link(objects[shared.size() + i], kSymbol, shown));
    }
  }
  std::vector<NestFunction> functions;
  for (const std::string& key : keys) functions.push_back(impl_->functions.at(key));
  times.cache_hits = int64_t(plan.programs.size()) - times.kernels;
  times.link_s = steady_seconds() - begun - times.emit_s - times.codegen_s;
  return functions;
}

namespace {

std::mutex codes_mutex;
std::map<std::string, std::shared_ptr<NestCode>>& codes() {
  static std::map<std::string, std::shared_ptr<NestCode>> all;
  return all;
}

}  // namespace

std::shared_ptr<NestCode> nest_code_for(const CpuFeatures& cpu) {
  const std::lock_guard lock(codes_mutex);
  std::shared_ptr<NestCode>& code =
      codes()[fmt::format("{} {} {}", cpu.llvm_name, cpu.features, int(cpu.matrix_tiles))];
  if (!code) code = std::make_shared<NestCode>(cpu);
  return code;
}

void clear_code_cache() {
  const std::lock_guard lock(codes_mutex);
  codes().clear();
}

}  // namespace graphc::core::cpu
