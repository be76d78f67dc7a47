// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "codegen/targets/cuda/text/text_shape.h"
#include "runtime/cores.h"
#include "runtime/cuda/nvrtc.h"

namespace graphc::core::cuda {
namespace {

std::atomic<int64_t> made = 0;

/// Kernels by device, architecture and shape, including those that are no longer in use.
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

/// A text and what it is without its names.
struct Shaped {
  const KernelText* text = nullptr;
  std::string shape;
};

/// A compiled kernel and the name that it has there, which may be that of another text.
struct Image {
  std::string name, code;
};

/// Creates the images of texts, each from its file or by the compiler.
class Compilation {
 public:
  Compilation(const std::vector<Shaped>& texts, const CodeOptions& options)
      : texts_(texts),
        options_(options),
        compiler_(key_of_compiler(options.architecture)),
        images_(texts.size()),
        errors_(texts.size()) {}

  /// Runs on several threads; throws the first error after all have ended.
  const std::vector<Image>& run() {
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
        images_[i] = image_of(texts_[i]);
      } catch (...) {
        errors_[i] = std::current_exception();
      }
    }
  }

  Image image_of(const Shaped& shaped) {
    const std::string key = compiler_ + shaped.shape;
    // Before the code its name, which ends with the line.
    if (const std::optional<std::string> kept = options_.files.find(key)) {
      const size_t end = kept->find('\n');
      if (end != std::string::npos) return {kept->substr(0, end), kept->substr(end + 1)};
    }
    const auto& [name, text] = *shaped.text;
    Image image{name,
                compile_text(text, name + ".cu", options_.architecture, compiler_options()).image};
    ++compiled_;
    if (std::string reason = options_.files.keep(key, image.name + '\n' + image.code);
        !reason.empty()) {
      const std::lock_guard lock(mutex_);
      why_not_kept_ = std::move(reason);
    }
    return image;
  }

  const std::vector<Shaped>& texts_;
  const CodeOptions& options_;
  const std::string compiler_;
  std::vector<Image> images_;
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
  const auto key_of = [&](const std::string& shape) {
    return std::tuple(device->ordinal(), options.architecture, shape);
  };
  std::vector<std::string> shapes;
  std::vector<Shaped> missing;
  for (const KernelText& text : texts) {
    shapes.push_back(shape_of(text));
    if (!known.contains(key_of(shapes.back()))) missing.push_back({&text, shapes.back()});
  }
  // The longest first: it decides when the last thread has ended.
  std::ranges::stable_sort(missing, std::greater{},
                           [](const Shaped& each) { return each.text->text.size(); });
  Compilation compilation(missing, options);
  const std::vector<Image>& images = compilation.run();
  report.kernels += compilation.compiled();
  report.cache_hits += int64_t(texts.size()) - compilation.compiled();
  if (const std::string& reason = compilation.why_not_kept(); !reason.empty())
    report.remarks.push_back({"cuda", "", {}, "kernels are not kept: " + reason});
  report.lap(&CompileReport::codegen_s);
  device->make_current();
  for (size_t i = 0; i < missing.size(); ++i) {
    Module module(device, images[i].code, images[i].name);
    Kernel kernel = module.kernel(images[i].name);
    known[key_of(missing[i].shape)] =
        std::make_shared<LoadedKernel>(LoadedKernel{std::move(module), std::move(kernel)});
    ++made;
  }
  std::vector<KernelPtr> kernels;
  for (const std::string& shape : shapes) kernels.push_back(known.at(key_of(shape)));
  report.lap(&CompileReport::link_s);
  return kernels;
}

void clear_code_cache() {
  std::lock_guard lock(cache().mutex);
  cache().kernels.clear();
}

int64_t kernels_made() { return made; }

}  // namespace graphc::core::cuda
