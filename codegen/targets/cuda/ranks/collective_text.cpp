// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/ranks/collective_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "codegen/targets/cuda/text/scalar_text.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {
namespace {

constexpr int kElementThreads = 256;

/// The sum of `count` elements from `first` on: the largest power of two below that number on the
/// left, the rest on the right.
std::string tree_text(int first, int count, const std::function<std::string(int)>& element) {
  if (count == 1) return element(first);
  const int half = int(std::bit_floor(unsigned(count - 1)));
  return fmt::format("({} + {})", tree_text(first, half, element),
                     tree_text(first + half, count - half, element));
}

/// A kernel whose threads set to[i] to `value`, i below `end`.
KernelText elements_kernel(const std::string& name, const std::string& comment,
                           const std::string& parameters, std::string_view end,
                           const std::string& value) {
  TextWriter text;
  text.line("// {}", comment);
  text.line("extern \"C\" __global__ void __launch_bounds__({}) {}({})", kElementThreads, name,
            parameters);
  text.open_block();
  text.line("const long long stride = (long long)gridDim.x * {};", kElementThreads);
  text.line("for (long long i = (long long)blockIdx.x * {} + threadIdx.x; i < {}; i += stride) {{",
            kElementThreads, end);
  text.line("  to[i] = {};", value);
  text.line("}}");
  text.close();
  return {name, helpers_of(text.text()) + text.text()};
}

}  // namespace

KernelText terms_kernel(int terms, DType from, DType to) {
  std::string parameters;
  for (int term = 0; term < terms; ++term)
    parameters += fmt::format("const {}* term_{}, ", stored_type_text(from), term);
  parameters += fmt::format("{}* to, long long count, long long padded", stored_type_text(to));
  const std::string sum = tree_text(
      0, terms, [&](int term) { return loaded_text(from, fmt::format("term_{}[i]", term)); });
  return elements_kernel(
      fmt::format("sum_{}_terms_of_{}_as_{}", terms, to_string(from), to_string(to)),
      "What a rank has of a sum.", parameters, "padded",
      fmt::format("i < count ? {} : ({})0", stored_text(to, sum), stored_type_text(to)));
}

KernelText parts_kernel(int parts, DType sent, DType to) {
  std::string sum = tree_text(0, parts, [&](int part) {
    return loaded_text(
        sent, part == 0 ? std::string("parts[i]") : fmt::format("parts[{} * apart + i]", part));
  });
  if (sent != to) sum = loaded_text(sent, stored_text(sent, sum));
  return elements_kernel(
      fmt::format("sum_{}_ranks_of_{}_as_{}", parts, to_string(sent), to_string(to)),
      "The sum of what the ranks have.",
      fmt::format("const {}* parts, {}* to, long long count, long long apart",
                  stored_type_text(sent), stored_type_text(to)),
      "count", stored_text(to, sum));
}

KernelText copied_kernel(DType from, DType to) {
  return elements_kernel(fmt::format("copy_{}_as_{}", to_string(from), to_string(to)),
                         "Sums to their places.",
                         fmt::format("const {}* from, {}* to, long long count",
                                     stored_type_text(from), stored_type_text(to)),
                         "count", stored_text(to, loaded_text(from, "from[i]")));
}

Grid elements_grid(int64_t count) {
  Grid grid;
  // More elements than these blocks have threads are taken in turns.
  grid.blocks[0] =
      unsigned(std::min<int64_t>((count + kElementThreads - 1) / kElementThreads, 1024));
  grid.threads[0] = kElementThreads;
  return grid;
}

}  // namespace graphc::core::cuda
