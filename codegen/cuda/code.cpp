// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/code.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/clock.h"
#include "runtime/cores.h"
#include "runtime/cuda/nvrtc.h"

namespace graphc::cuda {
namespace {

using KernelPtr = std::shared_ptr<const LoadedKernel>;

std::atomic<int64_t> made = 0;

/// Kernels by device and text; of those that nobody uses any more too.
struct Cache {
  std::mutex mutex;
  std::map<std::pair<int, std::string>, KernelPtr> kernels;
};
Cache& cache() {
  static Cache all;
  return all;
}

/// Compiles texts on several threads; the first error is thrown when all have ended.
std::vector<Compiled> compile_all(const std::vector<const KernelText*>& texts,
                                  const std::string& architecture) {
  std::vector<Compiled> images(texts.size());
  std::vector<std::exception_ptr> errors(texts.size());
  const std::vector<std::string> options = compiler_options();
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < texts.size(); i = next++) {
      try {
        images[i] = compile_text(texts[i]->text, texts[i]->name + ".cu", architecture, options);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  const size_t wanted = std::min(texts.size(), size_t(std::max(default_thread_count(), 1)));
  for (size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return images;
}

}  // namespace

std::vector<std::string> compiler_options() { return {"--fmad=false"}; }

LoadedCode load_kernels(const DevicePtr& device, const std::vector<KernelText>& texts) {
  LoadedCode code;
  std::lock_guard lock(cache().mutex);
  auto& known = cache().kernels;
  const auto key_of = [&](const KernelText& text) {
    return std::pair(device->ordinal(), text.text);
  };
  std::vector<const KernelText*> missing;
  for (const KernelText& text : texts) {
    if (!known.contains(key_of(text))) missing.push_back(&text);
  }
  const double begun = steady_seconds();
  const std::vector<Compiled> images = compile_all(missing, device->architecture());
  const double compiled = steady_seconds();
  code.compile_s = compiled - begun;
  device->make_current();
  for (size_t i = 0; i < missing.size(); ++i) {
    Module module(device, images[i].image, missing[i]->name);
    Kernel kernel = module.kernel(missing[i]->name);
    known[key_of(*missing[i])] =
        std::make_shared<LoadedKernel>(LoadedKernel{std::move(module), std::move(kernel)});
    ++made;
  }
  code.load_s = steady_seconds() - compiled;
  code.compiled = int64_t(missing.size());
  code.cached = int64_t(texts.size() - missing.size());
  for (const KernelText& text : texts) code.kernels.push_back(known.at(key_of(text)));
  return code;
}

void clear_code_cache() {
  std::lock_guard lock(cache().mutex);
  cache().kernels.clear();
}

int64_t kernels_made() { return made; }

}  // namespace graphc::cuda
