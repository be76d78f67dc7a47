// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "runtime/cores.h"
#include "runtime/cuda/nvrtc.h"

namespace graphc::core::cuda {
namespace {

std::atomic<int64_t> made = 0;

/// Kernels by device, architecture and text, including those that are no longer in use.
struct Cache {
  std::mutex mutex;
  std::map<std::tuple<int, std::string, std::string>, KernelPtr> kernels;
};
Cache& cache() {
  static Cache all;
  return all;
}

/// What an image depends on besides its text: the compiler and its options. Builds of one version
/// differ, so the file's size and time are included.
std::string key_of_compiler(const std::string& architecture) {
  const FoundLibrary& nvrtc = nvrtc_library();
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(nvrtc.path, unknown);
  const auto time = std::filesystem::last_write_time(nvrtc.path, unknown).time_since_epoch();
  return fmt::format("NVRTC {}, {} bytes, of {}\n{} {}\n", nvrtc.version, bytes, time.count(),
                     architecture, fmt::join(compiler_options(), " "));
}

/// Creates the images of texts, each from its file or by the compiler.
class Compilation {
 public:
  Compilation(const std::vector<const KernelText*>& texts, const CodeOptions& options)
      : texts_(texts),
        options_(options),
        compiler_(key_of_compiler(options.architecture)),
        images_(texts.size()),
        errors_(texts.size()) {}

  /// Runs on several threads; throws the first error after all have ended.
  const std::vector<std::string>& run() {
    std::vector<std::jthread> threads;
    const size_t wanted = std::min(texts_.size(), size_t(std::max(default_thread_count(), 1)));
    try {
      for (size_t i = 1; i < wanted; ++i) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // With fewer threads, this one compiles the rest.
    }
    work();
    threads.clear();
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    return images_;
  }

  int64_t compiled() const { return compiled_; }
  /// Why an image could not be stored; empty if all could.
  const std::string& why_not_kept() const { return why_not_kept_; }

 private:
  void work() {
    for (size_t i = next_++; i < texts_.size(); i = next_++) {
      try {
        images_[i] = image_of(*texts_[i]);
      } catch (...) {
        errors_[i] = std::current_exception();
      }
    }
  }

  std::string image_of(const KernelText& text) {
    const std::string key = compiler_ + text.text;
    if (std::optional<std::string> kept = options_.files.find(key)) return std::move(*kept);
    std::string image =
        compile_text(text.text, text.name + ".cu", options_.architecture, compiler_options()).image;
    ++compiled_;
    if (std::string reason = options_.files.keep(key, image); !reason.empty()) {
      const std::lock_guard lock(mutex_);
      why_not_kept_ = std::move(reason);
    }
    return image;
  }

  const std::vector<const KernelText*>& texts_;
  const CodeOptions& options_;
  const std::string compiler_;
  std::vector<std::string> images_;
  std::vector<std::exception_ptr> errors_;
  std::atomic<size_t> next_ = 0;
  std::atomic<int64_t> compiled_ = 0;
  std::mutex mutex_;
  std::string why_not_kept_;
};

}  // namespace

std::vector<std::string> compiler_options() { return {"--fmad=false"}; }

std::vector<KernelPtr> load_kernels(const DevicePtr& device, const std::vector<KernelText>& texts,
                                    const CodeOptions& options, CompileReport& report) {
  std::lock_guard lock(cache().mutex);
  auto& known = cache().kernels;
  const auto key_of = [&](const KernelText& text) {
    return std::tuple(device->ordinal(), options.architecture, text.text);
  };
  std::vector<const KernelText*> missing;
  for (const KernelText& text : texts) {
    if (!known.contains(key_of(text))) missing.push_back(&text);
  }
  Compilation compilation(missing, options);
  const std::vector<std::string>& images = compilation.run();
  report.kernels += compilation.compiled();
  report.cache_hits += int64_t(texts.size()) - compilation.compiled();
  if (const std::string& reason = compilation.why_not_kept(); !reason.empty())
    report.remarks.push_back({"cuda", "", {}, "kernels are not kept: " + reason});
  report.lap(&CompileReport::codegen_s);
  device->make_current();
  for (size_t i = 0; i < missing.size(); ++i) {
    Module module(device, images[i], missing[i]->name);
    Kernel kernel = module.kernel(missing[i]->name);
    known[key_of(*missing[i])] =
        std::make_shared<LoadedKernel>(LoadedKernel{std::move(module), std::move(kernel)});
    ++made;
  }
  std::vector<KernelPtr> kernels;
  for (const KernelText& text : texts) kernels.push_back(known.at(key_of(text)));
  report.lap(&CompileReport::link_s);
  return kernels;
}

void clear_code_cache() {
  std::lock_guard lock(cache().mutex);
  cache().kernels.clear();
}

int64_t kernels_made() { return made; }

}  // namespace graphc::core::cuda
