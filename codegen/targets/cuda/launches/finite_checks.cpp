// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/finite_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/step/access.h"
#include "codegen/step/visit.h"

namespace graphc::core::cuda {
namespace {

constexpr int64_t kThreads = 256;
/// Enough blocks to saturate a GPU's memory bandwidth.
constexpr int64_t kMostBlocksOfChecks = 1024;

/// The type of a number's bits in the text, and the mask of its exponent, whose bits are all set
/// for infinity and NaN.
struct Bits {
  const char* type;
  const char* exponent;
};
Bits exponent_bits_of(DType dtype) {
  if (dtype == DType::f64) return {"unsigned long long", "0x7ff0000000000000ull"};
  if (dtype == DType::bf16) return {"unsigned short", "0x7f80u"};
  return {"unsigned", "0x7f800000u"};
}

KernelText check_kernel(DType dtype) {
  const auto [type, exponent] = exponent_bits_of(dtype);
  const std::string name = fmt::format("not_finite_{}", name_of(dtype));
  return {name, fmt::format(R"(// Whether any of so many numbers is infinite or not a number.
extern "C" __global__ void __launch_bounds__({threads}) {name}(
    const {type}* numbers, long long count, unsigned* found) {{
  const long long step = (long long)gridDim.x * {threads};
  for (long long i = (long long)blockIdx.x * {threads} + threadIdx.x; i < count; i += step) {{
    if ((numbers[i] & {exponent}) == {exponent}) *found = 1u;
  }}
}}
)",
                            fmt::arg("threads", kThreads), fmt::arg("name", name),
                            fmt::arg("type", type), fmt::arg("exponent", exponent))};
}

class Checks {
 public:
  explicit Checks(Launches& launches) : launches_(launches) {}

  void add(int buffer, DType dtype, int64_t elements) {
    if (!is_floating(dtype) || elements == 0) return;
    const auto [kernel, is_new] = kernels_.emplace(dtype, int(launches_.kernels.size()));
    if (is_new) launches_.kernels.push_back(check_kernel(dtype));
    Launch launch{.kernel = kernel->second};
    launch.grid.blocks[0] =
        unsigned(std::min((elements + kThreads - 1) / kThreads, kMostBlocksOfChecks));
    launch.grid.threads[0] = unsigned(kThreads);
    LaunchValue numbers{KernelArgument::Kind::address, 0, {}};
    numbers.place.buffer = buffer;
    launch.arguments = {numbers,
                        {KernelArgument::Kind::number, elements, {}},
                        {KernelArgument::Kind::not_finite, 0, {}}};
    all_.push_back(std::move(launch));
  }

  std::vector<Launch> all() { return std::move(all_); }

 private:
  Launches& launches_;
  std::map<DType, int> kernels_;
  std::vector<Launch> all_;
};

}  // namespace

std::vector<Launch> finite_checks(const Plan& plan, const std::vector<DType>& states,
                                  Launches& launches) {
  std::set<int> written;
  for (const Record& record : plan.records) {
    visit_accesses(plan, record, [&](const Access& access) {
      if (access.writes()) written.insert(access.address->buffer);
    });
  }
  Checks checks(launches);
  for (const View& result : plan.results)
    checks.add(result.address.buffer, result.dtype, result.shape.elements());
  for (const int buffer : written) {
    const Buffer& each = plan.buffers[size_t(buffer)];
    if (each.place != Place::state) continue;
    const DType dtype = states[size_t(each.index)];
    checks.add(buffer, dtype, each.bytes / size_of(dtype));
  }
  return checks.all();
}

}  // namespace graphc::core::cuda
