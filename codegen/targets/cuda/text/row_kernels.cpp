// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/row_kernels.h"

#include <algorithm>
#include <array>
#include <limits>

#include "codegen/targets/cuda/text/scalar_text.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

constexpr int kRowThreads = 256;

Grid blocks_of(int64_t count) {
  Grid grid;
  grid.blocks[0] = unsigned(std::min<int64_t>(count, 1 << 20));
  grid.threads[0] = kRowThreads;
  return grid;
}
Grid threads_of(int64_t count) { return blocks_of((count + kRowThreads - 1) / kRowThreads); }

/// A type with the size of an element, for copying it.
std::string_view copied_type(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned";
    default:
      return "unsigned long long";
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// A kernel whose text has {T} for the type of rows, {I} for that of indices and {D} for that of
/// distinct indices.
KernelText kernel_from(std::string_view name, std::string text, const TableCall& call,
                       std::string_view row_type) {
  const std::string sum = "{SUM}";
  if (text.find(sum) != std::string::npos) {
    const std::array<std::string, 2> both{loaded_text(call.dtype, "sum"),
                                          loaded_text(call.dtype, "rows[from + column]")};
    replace_all(text, sum,
                stored_text(call.dtype, scalar_text(ScalarOp::add, call.dtype, call.dtype, both)));
  }
  replace_all(text, "{T}", row_type);
  replace_all(text, "{I}", stored_type_text(call.index_dtype));
  replace_all(text, "{D}", stored_type_text(call.distinct_dtype));
  KernelText kernel{std::string(name), {}};
  kernel.text = helpers_of(text) + text;
  return kernel;
}

constexpr std::string_view kCheck = R"(// Looks at every index before a row is touched.
extern "C" __global__ void __launch_bounds__(256) check_indices(
    const {I}* indices, long long count, long long lowest, long long table_rows, long long record,
    long long* fault) {
  __shared__ long long positions[256];
  long long position = count;
  for (long long i = threadIdx.x; i < count && position == count; i += 256) {
    const long long index = (long long)indices[i];
    if (index < lowest || index >= table_rows) position = i;
  }
  positions[threadIdx.x] = position;
  __syncthreads();
  for (int half = 128; half > 0; half = half / 2) {
    if (threadIdx.x < half && positions[threadIdx.x + half] < positions[threadIdx.x]) {
      positions[threadIdx.x] = positions[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0 && positions[0] < count && fault[0] == 0) {
    fault[0] = record;
    fault[1] = positions[0];
    fault[2] = (long long)indices[positions[0]];
  }
}
)";

constexpr std::string_view kGather =
    R"(// Row i of the result is the table's row of index i; zeros where there is none.
extern "C" __global__ void __launch_bounds__(256) gather_rows(
    const {T}* table, const {I}* indices, {T}* rows, long long count, long long width,
    long long table_rows) {
  for (long long i = blockIdx.x; i < count; i += gridDim.x) {
    const long long index = (long long)indices[i];
    const bool inside = index >= 0 && index < table_rows;
    for (long long column = threadIdx.x; column < width; column += 256) {
      rows[i * width + column] = inside ? table[index * width + column] : ({T})0;
    }
  }
}
)";

constexpr std::string_view kCopyLabels = R"(// The labels, which have been looked at.
extern "C" __global__ void __launch_bounds__(256) copy_labels(
    const {I}* labels, {I}* to, long long count) {
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count;
       i += (long long)gridDim.x * 256) {
    to[i] = labels[i];
  }
}
)";

constexpr std::string_view kScatter = R"(// Of equal indices the last row stays; index -1 is no row.
extern "C" __global__ void __launch_bounds__(256) scatter_rows(
    {T}* table, const {I}* indices, const {T}* rows, long long count, long long width,
    long long table_rows) {
  for (long long i = blockIdx.x; i < count; i += gridDim.x) {
    const long long index = (long long)indices[i];
    int later = index < 0 || index >= table_rows ? 1 : 0;
    for (long long j = i + 1 + threadIdx.x; j < count && later == 0; j += 256) {
      if ((long long)indices[j] == index) later = 1;
    }
    if (__syncthreads_or(later) == 0) {
      for (long long column = threadIdx.x; column < width; column += 256) {
        table[index * width + column] = rows[i * width + column];
      }
    }
  }
}
)";

// Two blocks per multiprocessor: without that limit the compiler spills registers to fit more
// blocks.
constexpr std::string_view kScatterAdd =
    R"(// The block of the first of equal indices adds them all,
// in their order.
extern "C" __global__ void __launch_bounds__(256, 2) add_rows(
    {T}* table, const {I}* indices, const {T}* rows, long long count, long long width,
    long long table_rows) {
  __shared__ int found[256];
  for (long long first = blockIdx.x; first < count; first += gridDim.x) {
    const long long index = (long long)indices[first];
    int earlier = index < 0 || index >= table_rows ? 1 : 0;
    for (long long i = threadIdx.x; i < first && earlier == 0; i += 256) {
      if ((long long)indices[i] == index) earlier = 1;
    }
    if (__syncthreads_or(earlier) == 0) {
      for (long long chunk = first; chunk < count; chunk += 256) {
        const long long i = chunk + threadIdx.x;
        const int equal = i < count && (long long)indices[i] == index ? 1 : 0;
        found[threadIdx.x] = equal;
        if (__syncthreads_or(equal) != 0) {
          for (long long column = threadIdx.x; column < width; column += 256) {
            {T} sum = table[index * width + column];
            for (int j = 0; j < 256; ++j) {
              if (found[j] != 0) {
                const long long from = (chunk + j) * width;
                sum = {SUM};
              }
            }
            table[index * width + column] = sum;
          }
        }
        __syncthreads();
      }
    }
  }
}
)";

constexpr std::string_view kMark = R"(// 1 for the first of equal indices, 0 for the others.
extern "C" __global__ void __launch_bounds__(256) mark_first_indices(
    const {I}* indices, unsigned char* is_first, long long count) {
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count;
       i += (long long)gridDim.x * 256) {
    unsigned char first = 1;
    for (long long j = 0; j < i && first != 0; ++j) {
      if (indices[j] == indices[i]) first = 0;
    }
    is_first[i] = first;
  }
}
)";

// Two blocks per multiprocessor, as above.
constexpr std::string_view kMerge =
    R"(// A row for each distinct index, ascending: the sum of the rows
// that have it. Behind them zeros, and index -1.
extern "C" __global__ void __launch_bounds__(256, 2) merge_rows(
    {T}* table, const {I}* indices, const {T}* rows, {D}* distinct, const unsigned char* is_first,
    long long count, long long width) {
  __shared__ int found[256];
  __shared__ long long places[256];
  for (long long first = blockIdx.x; first < count; first += gridDim.x) {
    const long long index = (long long)indices[first];
    const bool leads = is_first[first] != 0;
    // A leading index stands behind the leading ones that are less; another one behind all leading
    // ones and the others before it.
    long long before = 0;
    for (long long i = threadIdx.x; i < count; i += 256) {
      if (is_first[i] != 0) {
        if (!leads || (long long)indices[i] < index) before = before + 1;
      } else if (!leads && i < first) {
        before = before + 1;
      }
    }
    places[threadIdx.x] = before;
    __syncthreads();
    for (int half = 128; half > 0; half = half / 2) {
      if (threadIdx.x < half) {
        places[threadIdx.x] = places[threadIdx.x] + places[threadIdx.x + half];
      }
      __syncthreads();
    }
    const long long to = places[0] * width;
    if (threadIdx.x == 0) distinct[places[0]] = ({D})(leads ? index : -1);
    for (long long column = threadIdx.x; column < width; column += 256) {
      table[to + column] = leads ? rows[first * width + column] : ({T})0;
    }
    if (leads) {
      for (long long chunk = first + 1; chunk < count; chunk += 256) {
        const long long i = chunk + threadIdx.x;
        const int equal = i < count && (long long)indices[i] == index ? 1 : 0;
        found[threadIdx.x] = equal;
        if (__syncthreads_or(equal) != 0) {
          for (long long column = threadIdx.x; column < width; column += 256) {
            {T} sum = table[to + column];
            for (int j = 0; j < 256; ++j) {
              if (found[j] != 0) {
                const long long from = (chunk + j) * width;
                sum = {SUM};
              }
            }
            table[to + column] = sum;
          }
        }
        __syncthreads();
      }
    }
    __syncthreads();
  }
}
)";

constexpr std::string_view kPanels = R"(// Matrices [terms, parts * unit] in panels
// [matrices][blocks][terms][parts][width], zeros where the unit ends.
extern "C" __global__ void __launch_bounds__(256) {NAME}(
    const {F}* from, {T}* to, long long elements, long long of_matrix, long long terms,
    long long unit, long long parts, long long width, long long from_matrix, long long from_k,
    long long from_part, long long from_column) {
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < elements;
       i += (long long)gridDim.x * 256) {
    const long long matrix = i / of_matrix, of = i % of_matrix;
    const long long part = of / width % parts;
    const long long term = of / width / parts % terms;
    const long long column = of / width / parts / terms * width + of % width;
    to[i] = column < unit ? {ROUNDED}(from[matrix * from_matrix + term * from_k +
                                           part * from_part + column * from_column])
                          : ({T})0;
  }
}
)";

KernelArgument fault() { return {KernelArgument::Kind::fault, 0, nullptr}; }

KernelUse check_kernel(const TableCall& call, int64_t record) {
  const bool merges = call.op == TableOp::merge_rows;
  const int64_t lowest = call.op == TableOp::scatter ? -1 : 0;
  const int64_t rows = merges ? std::numeric_limits<int64_t>::max() : call.table_rows;
  return {
      kernel_from("check_indices", std::string(kCheck), call, ""),
      blocks_of(1),
      {KernelArgument::of(call.indices), KernelArgument::of(call.count), KernelArgument::of(lowest),
       KernelArgument::of(rows), KernelArgument::of(record), fault()}};
}

/// Elements per row.
int64_t width_of(const TableCall& call) { return call.row_bytes / size_of(call.dtype); }

KernelUse moving_kernel(std::string_view name, std::string_view text, const TableCall& call,
                        std::string_view type) {
  return {kernel_from(name, std::string(text), call, type),
          blocks_of(call.count),
          {KernelArgument::of(call.table), KernelArgument::of(call.indices),
           KernelArgument::of(call.rows), KernelArgument::of(call.count),
           KernelArgument::of(width_of(call)), KernelArgument::of(call.table_rows)}};
}

std::vector<KernelUse> merge_kernels(const TableCall& call, std::string_view sum_type) {
  GRAPHC_CHECK(call.table_rows == call.count, "merged rows: {} of {} indices", call.table_rows,
               call.count);
  const KernelArgument is_first{KernelArgument::Kind::scratch, 0, nullptr};
  KernelUse mark{kernel_from("mark_first_indices", std::string(kMark), call, ""),
                 threads_of(call.count),
                 {KernelArgument::of(call.indices), is_first, KernelArgument::of(call.count)}};
  KernelUse merge{kernel_from("merge_rows", std::string(kMerge), call, sum_type),
                  blocks_of(call.count),
                  {KernelArgument::of(call.table), KernelArgument::of(call.indices),
                   KernelArgument::of(call.rows), KernelArgument::of(call.distinct), is_first,
                   KernelArgument::of(call.count), KernelArgument::of(width_of(call))}};
  return {std::move(mark), std::move(merge)};
}

}  // namespace

std::vector<KernelUse> table_kernels(const TableCall& call, int64_t record) {
  if (call.count == 0) return {};
  std::vector<KernelUse> uses{check_kernel(call, record)};
  const std::string_view sum_type = stored_type_text(call.dtype);
  switch (call.op) {
    case TableOp::gather:
      uses.push_back(moving_kernel("gather_rows", kGather, call, copied_type(call.dtype)));
      break;
    case TableOp::scatter:
      uses.push_back(moving_kernel("scatter_rows", kScatter, call, copied_type(call.dtype)));
      break;
    case TableOp::scatter_add:
      uses.push_back(moving_kernel("add_rows", kScatterAdd, call, sum_type));
      break;
    case TableOp::check_labels:
      uses.push_back({kernel_from("copy_labels", std::string(kCopyLabels), call, ""),
                      threads_of(call.count),
                      {KernelArgument::of(call.indices), KernelArgument::of(call.rows),
                       KernelArgument::of(call.count)}});
      break;
    case TableOp::merge_rows:
      for (KernelUse& use : merge_kernels(call, sum_type)) uses.push_back(std::move(use));
      break;
  }
  return uses;
}

int64_t table_scratch_bytes(const TableCall& call) {
  return call.op == TableOp::merge_rows ? call.count : 0;
}

KernelUse panel_kernel(const PanelCall& call) {
  const PanelForm& form = call.panels;
  const int64_t size = size_of(form.dtype), elements = call.bytes() / size;
  const int64_t from_size = size_of(form.from);
  const bool rounds = form.from != form.dtype;
  GRAPHC_CHECK(!rounds || (form.from == DType::f32 && form.dtype == DType::bf16),
               "%{}: panels of {} from {}", call.name, name_of(form.dtype), name_of(form.from));
  std::string text(kPanels);
  replace_all(text, "{NAME}", rounds ? "put_in_bf16_panels" : "put_in_panels");
  replace_all(text, "{F}", rounds ? "float" : copied_type(form.from));
  replace_all(text, "{ROUNDED}", rounds ? "bf16_bits" : "");
  TableCall none;
  none.dtype = form.dtype;
  return {kernel_from(rounds ? "put_in_bf16_panels" : "put_in_panels", std::move(text), none,
                      copied_type(form.dtype)),
          threads_of(elements),
          {KernelArgument::of(call.from), KernelArgument::of(call.to), KernelArgument::of(elements),
           KernelArgument::of(form.bytes() / size), KernelArgument::of(form.k),
           KernelArgument::of(form.unit), KernelArgument::of(form.parts),
           KernelArgument::of(form.width), KernelArgument::of(call.from_matrix / from_size),
           KernelArgument::of(call.from_strides.k / from_size),
           KernelArgument::of(call.from_strides.part / from_size),
           KernelArgument::of(call.from_strides.column / from_size)}};
}

}  // namespace graphc::core::cuda
