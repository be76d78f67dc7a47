// SPDX-License-Identifier: Apache-2.0
#include "tools/cuda/lab.h"

#include "runtime/cuda/nvrtc.h"
#include "tools/cuda/probe_text.h"

namespace graphc::core::probe {

Lab::Lab(bool quick) : device_(cuda::Device::open()), stream_(device_), quick_(quick) {}

cuda::Kernel Lab::kernel(const std::string& text, const std::string& name) {
  const cuda::Compiled compiled = cuda::compile_text(text, name + ".cu", device_->architecture());
  device_->make_current();
  return modules_.emplace_back(device_, compiled.image, name).kernel(name);
}

cuda::DeviceBuffer Lab::zeros(int64_t bytes, std::string_view what) const {
  cuda::DeviceBuffer buffer(device_, size_t(bytes), what);
  stream_.fill(buffer.address(), 0, buffer.bytes(), what);
  return buffer;
}

void Lab::launch(const cuda::Kernel& kernel, unsigned blocks,
                 std::initializer_list<uint64_t> arguments, bool together) const {
  std::vector<uint64_t> values(arguments);
  std::vector<void*> parameters;
  for (uint64_t& value : values) parameters.push_back(&value);
  cuda::LaunchShape shape;
  shape.grid[0] = blocks;
  shape.block[0] = kThreads;
  shape.cooperative = together;
  stream_.launch(kernel, shape, parameters.data());
}

bench::Summary Lab::seconds(const std::function<void()>& work) const {
  device_->make_current();
  const cuda::Event begin(device_), end(device_);
  std::vector<double> readings;
  const int64_t times = size(7, 1);
  for (int64_t i = 0; i <= times; ++i) {
    begin.record(stream_);
    work();
    end.record(stream_);
    end.synchronize();
    if (i > 0) readings.push_back(double(end.milliseconds_since(begin)) * 1e-3);
  }
  return bench::summarize(readings);
}

}  // namespace graphc::core::probe
