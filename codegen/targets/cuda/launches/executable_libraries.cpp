// SPDX-License-Identifier: Apache-2.0
// Choices made by measurement when an executable is compiled: placements of loops, and products and
// layers by libraries.
#include <algorithm>
#include <cstring>
#include <limits>

#include "codegen/targets/cuda/launches/executable.h"

namespace graphc::core::cuda {

void GpuExecutable::enqueue(const Launch& each, const ChosenProduct& chosen,
                            const Stream& stream) const {
  const LibraryForm& form = *each.by_library;
  products_->enqueue(chosen, address_of(form.left), address_of(form.right), address_of(form.result),
                     stream);
  if (form.rest) launch(*form.rest, stream);
}

void GpuExecutable::prepare_libraries(const CompileOptions& options, const Choices& choices,
                                      CompileReport& report) {
  chosen_products_.resize(launches_.step.size());
  const auto any = [&](const auto& field) {
    return std::ranges::any_of(launches_.step,
                               [&](const Launch& each) { return each.*field != nullptr; });
  };
  if (any(&Launch::layer)) {
    layers_ = std::make_unique<LayerLibrary>(stream_, launches_, options.precision, choices);
    for (const std::string& note : layers_->notes())
      report.remarks.push_back({"cudnn", "", {}, note});
  }
  const auto has_others = [](const Launch& each) { return !each.others.empty(); };
  if (std::ranges::any_of(launches_.step, has_others)) {
    fill_with_zeros();
    choose_placements(choices);
  }
  if (any(&Launch::by_library)) {
    const bool is_wanted = options.cuda.products == Products::cublaslt;
    try {
      products_ = std::make_unique<ProductLibrary>(stream_);
    } catch (const Error& error) {
      // The library was only an alternative.
      if (is_wanted || error.kind() != ErrorKind::resource) throw;
      report.remarks.push_back({"products", "", {}, "by generated kernels: " + error.message()});
      return;
    }
    choose_products(choices, !is_wanted, report);
  }
}

/// The least time of a separate launch; infinity if the device cannot run it.
float GpuExecutable::milliseconds_of(const Launch& each) {
  try {
    return least_milliseconds(*stream_, [&] { launch(each, *stream_); });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::resource) throw;
    return std::numeric_limits<float>::infinity();
  }
}

void GpuExecutable::choose_placements(const Choices& choices) {
  for (Launch& each : launches_.step) {
    if (each.others.empty()) continue;
    const auto describe = [&](const Launch& one) {
      return fmt::format("{} blocks, {} bytes\n{}", one.grid.blocks[0], one.shared_bytes,
                         launches_.kernels[size_t(one.kernel)].text);
    };
    std::string key = fmt::format("placement on {} of {} steps:\n{}", device_->properties().name,
                                  std::get<LoopCall>(each.record->call).steps, describe(each));
    for (const Launch& other : each.others) key += describe(other);
    std::string times;
    const std::string chosen = choices.get(key, [&] {
      float least = milliseconds_of(each);
      const Launch* best = &each;
      times = fmt::format("; tried: {} {:.3f} ms", name_of(each.placement->placement), least);
      for (const Launch& other : each.others) {
        const float time = milliseconds_of(other);
        times += fmt::format(", {} {:.3f} ms", name_of(other.placement->placement), time);
        if (time < least) least = time, best = &other;
      }
      return std::string(name_of(best->placement->placement));
    });
    const auto other = std::ranges::find_if(each.others, [&](const Launch& one) {
      return name_of(one.placement->placement) == chosen;
    });
    if (other != each.others.end()) {
      Launch taken = std::move(*other);
      each = std::move(taken);
    }
    each.note += times.empty() ? "; tried before" : times;
    each.others.clear();
  }
}

void GpuExecutable::choose_products(const Choices& choices, bool measure, CompileReport& report) {
  if (measure) fill_with_zeros();
  for (size_t i = 0; i < launches_.step.size(); ++i) {
    const Launch& each = launches_.step[i];
    if (each.by_library == nullptr) continue;
    const KernelText& text = launches_.kernels[size_t(each.kernel)];
    std::string why_not;
    try {
      chosen_products_[i] = products_->choose(
          *each.by_library, [&](const ChosenProduct& chosen) { enqueue(each, chosen, *stream_); },
          measure ? [&] { launch(each, *stream_); } : std::function<void()>(), text.text, choices);
    } catch (const Error& error) {
      if (!measure || error.kind() != ErrorKind::resource) throw;
      why_not = ": " + error.message();
    }
    report.remarks.push_back(
        {"products",
         text.name,
         {},
         fmt::format("{} by {}{}", each.by_library->shape.text(),
                     chosen_products_[i] ? "cuBLASLt" : "a generated kernel", why_not)});
  }
  for (size_t i = 0; i < chosen_products_.size(); ++i) {
    if (!chosen_products_[i]) continue;
    // All products share one workspace, and one scratch memory between a product and its rest.
    for (const int memory : {kLibraryMemory, kScratchMemory})
      launches_.step[i].accesses.push_back({memory, {0, 1}, true});
  }
  products_->settle(chosen_products_);
}

void GpuExecutable::fill_with_zeros() {
  stream_->fill(arena_.address(), 0, arena_.bytes(), "the arena");
  stream_->fill(scratch_.address(), 0, scratch_.bytes(), "scratch");
  stream_->fill(inputs_.device.address(), 0, inputs_.bytes, "the inputs");
  std::memset(inputs_.host.data(), 0, inputs_.bytes);
  stream_->fill(results_.device.address(), 0, results_.bytes, "the outputs");
  for (const auto& state : states_)
    stream_->fill(state->address(), 0, state->bytes(), state->name());
  for (const DeviceBuffer& form : forms_) stream_->fill(form.address(), 0, form.bytes(), "panels");
}

int64_t GpuExecutable::step_bytes() const {
  size_t bytes = arena_.bytes() + scratch_.bytes() + exchange_.bytes();
  if (layers_) bytes += layers_->bytes();
  if (products_) bytes += products_->bytes();
  return int64_t(bytes);
}

float GpuExecutable::milliseconds_of_step() {
  device_->make_current();
  float time = 0;
  noting_buffers([&] {
    fill_with_zeros();
    time = least_milliseconds(*stream_, [&] { step_.launch(*stream_); });
    stream_->synchronize("a step that is tried");
  });
  return time;
}

}  // namespace graphc::core::cuda
