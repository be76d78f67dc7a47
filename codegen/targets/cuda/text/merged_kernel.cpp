// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/merged_kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "codegen/targets/cuda/text/scalar_text.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

constexpr unsigned kMergedThreads = 256;
/// Maximum count of the further numbers that a nest takes besides its own parameters.
constexpr size_t kNumbersOfNest = 5;

/// One of these numbers.
struct Number {
  enum class Kind : uint8_t { begin, threads, blocks };
  std::string_view name;
  Kind kind = Kind::begin;
  size_t axis = 0;

  int64_t of(const Grid& grid, int64_t first_block) const {
    if (kind == Kind::begin) return first_block;
    return (kind == Kind::threads ? grid.threads : grid.blocks)[axis];
  }
};

/// Parameters that have the same name in every nest.
bool has_common_name(ParameterKind kind) {
  return kind == ParameterKind::rows || kind == ParameterKind::columns ||
         kind == ParameterKind::extent;
}

class MergedText {
 public:
  MergedText(const Plan& plan, std::span<const MergedNest> nests, int64_t most_blocks)
      : plan_(plan), nests_(nests) {
    int64_t all = 0;
    for (const MergedNest& nest : nests) all += blocks_of(nest.grid);
    for (const MergedNest& nest : nests) grids_.push_back(shrunk(nest.grid, all, most_blocks));
    for (size_t i = 0; i < nests.size(); ++i) {
      const auto [found, is_new] =
          family_of_.emplace(merging_key(*nests[i].call), families_.size());
      if (is_new) families_.emplace_back();
      families_[found->second].push_back(i);
    }
  }

  MergedKernel write(std::string_view name) {
    for (const std::vector<size_t>& family : families_) write_family(family);
    MergedKernel merged;
    merged.kernel.name = name;
    merged.kernel.text =
        helpers_of(text_.text()) +
        "// Nests that do not depend on each other; each block does a part of one.\n" +
        fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 2) {}({}) {{\n",
                    kMergedThreads, name, fmt::join(listed_, ",")) +
        "  const int block = blockIdx.x;\n" + text_.text() + "}\n";
    merged.grid.blocks[0] = unsigned(first_block_);
    merged.grid.threads[0] = kMergedThreads;
    merged.arguments = std::move(arguments_);
    return merged;
  }

 private:
  static int64_t blocks_of(const Grid& grid) {
    return int64_t{grid.blocks[0]} * grid.blocks[1] * grid.blocks[2];
  }

  /// The grid reduced to its share of `most` blocks, along the longest axis.
  static Grid shrunk(Grid grid, int64_t all, int64_t most) {
    if (all <= most) return grid;
    unsigned& longest = *std::ranges::max_element(grid.blocks);
    longest = unsigned(std::max<int64_t>(int64_t{longest} * most / all, 1));
    return grid;
  }

  /// A value of the body that every nest of the family provides: its name, and for each nest the
  /// name of the parameter that holds it.
  struct Given {
    std::string type, name;
    std::vector<std::string> from;
  };

  void write_family(const std::vector<size_t>& family) {
    const NestCall& call = *nests_[family[0]].call;
    const NestProgram& program = plan_.programs[size_t(call.program)];
    const std::vector<Parameter> parameters = parameters_of(plan_, call, names_);
    NestGrid grid(NestGrid::Of::nest);
    const std::string body = internal::nest_body_text(program, parameters, form_of(call), grid);
    std::vector<Given> all;
    for (const Parameter& parameter : parameters)
      all.push_back({parameter.type, parameter.name, {}});
    const std::vector<Number> numbers = numbers_of(grid);
    for (const Number& number : numbers) all.push_back({"int", std::string(number.name), {}});
    for (const size_t i : family) add_nest(i, parameters, numbers, all);
    // The remaining blocks belong to the last family.
    const bool last = &family == &families_.back();
    if (last) text_.open_block();
    if (!last) text_.open("if (block < {})", end_of(family));
    bind(family, all);
    write_grid(numbers, nests_[family[0]].grid.threads[0]);
    text_.lines(body);
    if (!last) text_.line("return;");
    text_.close();
  }

  /// The numbers of a nest besides its own parameters: its first block, its number of blocks along
  /// the axes that the text iterates over, and its threads along x unless they are equal for all
  /// nests of the text.
  static std::vector<Number> numbers_of(const NestGrid& grid) {
    std::vector<Number> numbers{{"block_begin", Number::Kind::begin, 0}};
    if (grid.reads_threads('x')) numbers.push_back({"threads_x", Number::Kind::threads, 0});
    if (grid.reads_blocks('x')) numbers.push_back({"blocks_x", Number::Kind::blocks, 0});
    if (grid.reads_blocks('y')) numbers.push_back({"blocks_y", Number::Kind::blocks, 1});
    if (grid.reads_blocks('z')) numbers.push_back({"blocks_z", Number::Kind::blocks, 2});
    return numbers;
  }

  /// Computes the grid of the nest, which replaces the launch's.
  void write_grid(const std::vector<Number>& numbers, unsigned threads_x) {
    constexpr std::string_view kBlock[] = {"block_x", "block_y", "block_z"};
    std::string rest = "inner";
    text_.line("const int inner = block - block_begin;");
    for (const Number& number : numbers) {
      if (number.kind != Number::Kind::blocks) continue;
      const bool last = &number == &numbers.back();
      text_.line("const int {} = {}{};", kBlock[number.axis], rest,
                 last ? "" : fmt::format(" % {}", number.name));
      rest += fmt::format(" / {}", number.name);
    }
    const bool given =
        std::ranges::find(numbers, Number::Kind::threads, &Number::kind) != numbers.end();
    if (!given) text_.line("const int threads_x = {};", threads_x);
    text_.line("const int threads_y = {} / threads_x;", kMergedThreads);
    text_.line("const int thread_x = threadIdx.x % threads_x, thread_y = threadIdx.x / threads_x;");
  }

  /// The parameter with the end of the family's blocks.
  std::string end_of(const std::vector<size_t>& family) {
    const std::string name = fmt::format("blocks_until_{}", family.back());
    add_number(name, first_block_);
    return name;
  }

  /// Adds the parameters of a nest to those of the kernel.
  void add_nest(size_t i, const std::vector<Parameter>& parameters,
                const std::vector<Number>& numbers, std::vector<Given>& all) {
    const MergedNest& nest = nests_[i];
    GRAPHC_CHECK(nest.arguments.size() == parameters.size(), "%{}: {} arguments of {} parameters",
                 nest.call->name, nest.arguments.size(), parameters.size());
    // Named after its own buffers.
    Names none;
    const std::vector<Parameter> own = parameters_of(plan_, *nest.call, none);
    for (size_t p = 0; p < parameters.size(); ++p) {
      const std::string name = has_common_name(own[p].kind)
                                   ? fmt::format("{}_of_{}", own[p].name, i)
                                   : names_.make(own[p].name);
      all[p].from.push_back(name);
      listed_.push_back(fmt::format("\n    {} {}", own[p].type, name));
      arguments_.push_back(nest.arguments[p]);
    }
    const Grid& grid = grids_[i];
    for (size_t n = 0; n < numbers.size(); ++n) {
      Given& number = all[parameters.size() + n];
      number.from.push_back(fmt::format("{}_of_{}", number.name, i));
      add_number(number.from.back(), numbers[n].of(grid, first_block_));
    }
    first_block_ += blocks_of(grid);
  }

  /// Brings the values of the nest that the block belongs to into scope.
  void bind(const std::vector<size_t>& family, const std::vector<Given>& all) {
    text_.line("// {}", in_comment(nests_[family[0]].call->name));
    for (const Given& given : all) text_.line("{} {} = {};", given.type, given.name, given.from[0]);
    for (size_t i = 1; i < family.size(); ++i) {
      // After the last nest, other bodies follow.
      const std::string end =
          i + 1 < family.size() ? fmt::format(" && block < block_begin_of_{}", family[i + 1]) : "";
      text_.open("if (block >= block_begin_of_{}{})", family[i], end);
      text_.line("// {}", in_comment(nests_[family[i]].call->name));
      for (const Given& given : all) text_.line("{} = {};", given.name, given.from[i]);
      text_.close();
    }
  }

  void add_number(const std::string& name, int64_t number) {
    listed_.push_back(fmt::format("\n    int {}", name));
    arguments_.push_back({KernelArgument::Kind::number, number, {}});
  }

  const Plan& plan_;
  const std::span<const MergedNest> nests_;
  std::vector<Grid> grids_;
  std::map<std::string, size_t> family_of_;
  std::vector<std::vector<size_t>> families_;  ///< nests with one body, by index
  Names names_;
  TextWriter text_{1};
  std::vector<std::string> listed_;
  std::vector<LaunchValue> arguments_;
  int64_t first_block_ = 0;
};

}  // namespace

bool can_be_merged(const NestProgram& program, const Grid& grid) {
  return program.products.empty() && program.kind != NestKind::tiles &&
         grid.threads[0] * grid.threads[1] == kMergedThreads &&
         int64_t{grid.blocks[0]} * grid.blocks[1] * grid.blocks[2] < (1 << 26);
}

std::string merging_key(const NestCall& call) {
  return fmt::format("{}: {}", call.program, form_of(call).key());
}

size_t merged_parameter_bytes(size_t arguments) {
  return (arguments + kNumbersOfNest + 1) * sizeof(int64_t);
}

int64_t merged_shared_bytes(const NestProgram& program, const NestCall& call) {
  return internal::shared_bytes(program, form_of(call));
}

MergedKernel merged_kernel(const Plan& plan, std::span<const MergedNest> nests,
                           std::string_view name, int64_t most_blocks) {
  return MergedText(plan, nests, most_blocks).write(name);
}

}  // namespace graphc::core::cuda
