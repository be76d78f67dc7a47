// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "codegen/step/collectives.h"
#include "codegen/step/visit.h"
#include "codegen/targets/cuda/launches/merge.h"
#include "codegen/targets/cuda/launches/split_product.h"
#include "codegen/targets/cuda/launches/step_launches.h"
#include "codegen/targets/cuda/libraries/library_product.h"
#include "codegen/targets/cuda/loops/loop_kernel.h"
#include "codegen/targets/cuda/rows/row_kernel.h"
#include "codegen/targets/cuda/text/merged_kernel.h"
#include "codegen/targets/cuda/text/pipelined_form.h"
#include "codegen/targets/cuda/text/text_shape.h"
#include "ir/cases.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// Walks the plan as its single worker would, and records the launches.
class Recorder {
 public:
  Recorder(const Plan& plan, const Gpu& gpu, std::optional<Placement> wanted,
           const Alternatives& alternatives)
      : plan_(plan),
        gpu_(gpu),
        wanted_(wanted),
        alternatives_(alternatives),
        position_(size_t(plan.loop_depth)),
        split_(plan, gpu.shared_bytes) {
    if (alternatives.products >= 0) library_forms_.emplace(plan);
  }

  Launches record() {
    for (const PlanForm& form : plan_.forms) {
      for (const Record& each : form.make) add(each);
      launches_.forms.push_back(std::exchange(launches_.step, {}));
    }
    for (record_ = 0; record_ < plan_.records.size(); ++record_) add(plan_.records[record_]);
    return std::move(launches_);
  }

 private:
  void add(const Record& record) {
    const size_t before = launches_.step.size();
    std::visit(Cases{[&](const NestCall& call) { nest(call); },
                     [&](const PanelCall& call) { add(panel_kernel(call)); },
                     [&](const TableCall& call) { table(call); },
                     [&](const ExternCall& call) { external(call); },
                     [&](const LoopCall& call) { loop(call); },
                     [](const BlockCall& call) {
                       GRAPHC_CHECK(false, "%{} goes over rows in blocks", call.name);
                     }},
               record.call);
    // Launches of inner records already have these.
    for (size_t i = before; i < launches_.step.size(); ++i) {
      Launch& launch = launches_.step[i];
      if (launch.record != nullptr) continue;
      launch.record = &record;
      for (LaunchedNest& nest : launch.nests) nest.record = &record;
      launch.accesses = memory_accesses(plan_, record, position_, depth_);
      if (launch.by_library && launch.by_library->instead)
        launch.accesses.push_back(*launch.by_library->instead);
      for (Launch& other : launch.others) {
        other.record = &record;
        other.accesses = launch.accesses;
        access_own_memory(other);
      }
      access_own_memory(launch);
    }
  }

  /// Adds accesses to memory outside the plan.
  static void access_own_memory(Launch& launch) {
    using Kind = KernelArgument::Kind;
    const auto add = [&](OwnMemory memory) { launch.accesses.push_back({memory, {0, 1}, true}); };
    if (launch.layer != nullptr) add(kLibraryMemory);
    if (launch.exchange != nullptr) {
      add(kExchangeMemory);
      // Beside blocks that wait for each other some of both might find no room, and so all wait.
      add(kBarrierMemory);
    }
    for (const LaunchValue& value : launch.arguments) {
      if (value.kind == Kind::fault) add(kFaultMemory);
      if (value.kind == Kind::scratch) add(kScratchMemory);
      if (value.kind == Kind::arrived) add(kBarrierMemory);
      if (value.kind == Kind::exchanged) add(kExchangeMemory);
    }
  }

  /// One launch for all steps, or separate launches for each.
  void loop(const LoopCall& call) {
    // One name, and so one text, in every step of the loops around it.
    std::string& name = loops_[&call];
    if (name.empty()) name = names_.make(call.name + "_loop");
    RowKernelPlan rows = kernel_of_rows(call, name);
    if (rows.kernel) return add_rows(std::move(*rows.kernel), call);
    if (wanted_ == Placement::launches) return steps(call);
    if (auto whole = loop_kernel(plan_, call, position_, depth_, name, gpu_, wanted_)) {
      if (!wanted_ && takes_less_in_launches(call, *whole)) return steps(call);
      if (!rows.reason.empty()) whole->note += fmt::format("; not by rows, since {}", rows.reason);
      Launch launch = launch_of(std::move(*whole), call);
      if (alternatives_.placements >= 0 && multiply_adds_of(call) >= alternatives_.placements)
        launch.others = in_other_placements(call, name, launch.placement->placement);
      launches_.step.push_back(std::move(launch));
      return;
    }
    steps(call);
  }

  /// Launches for each step.
  void steps(const LoopCall& call) {
    const size_t depth = size_t(depth_++);
    for (int64_t i = 0; i < call.steps; ++i) {
      position_[depth] = position_in(call, i);
      for (const Record& inner : call.body) add(inner);
    }
    --depth_;
  }

  /// Whether launches for each step of a loop take clearly less time than its kernel; notes it.
  bool takes_less_in_launches(const LoopCall& call, const LoopKernel& whole) {
    if (depth_ > 0) return false;
    const std::string note = why_in_launches(plan_, call, whole, gpu_);
    if (!note.empty()) launches_.notes.push_back(note);
    return !note.empty();
  }

  /// The kernel of a loop whose blocks take rows through all steps. No reason for a loop that is
  /// placed otherwise, or whose rows are not apart.
  RowKernelPlan kernel_of_rows(const LoopCall& call, std::string_view name) const {
    if (call.rows_apart == 0 || wanted_.value_or(Placement::rows) != Placement::rows) return {};
    LoopNests nests{&plan_, &call, position_, depth_, {}};
    for (const Record& record : call.body) {
      const auto* nest = std::get_if<NestCall>(&record.call);
      if (nest == nullptr) return {{}, "it has loops inside"};
      nests.nests.push_back(nest);
    }
    return row_kernel(nests, phases_of(plan_, call), name, gpu_);
  }

  /// The launch of all steps, and that of the sums of which its blocks have shares.
  void add_rows(RowKernel&& rows, const LoopCall& call) {
    launches_.step.push_back(launch_of(std::move(rows.loop), call));
    launches_.scratch_bytes = std::max(launches_.scratch_bytes, rows.scratch_bytes);
    if (!rows.sums) return;
    Launch sums{.kernel = kernel(std::move(rows.sums->kernel)), .grid = rows.sums->grid};
    sums.arguments = std::move(rows.sums->arguments);
    launches_.step.push_back(std::move(sums));
  }

  /// The other placements that the loop can have on this GPU.
  std::vector<Launch> in_other_placements(const LoopCall& call, const std::string& name,
                                          Placement chosen) {
    std::vector<Launch> others;
    for (const Placement placement :
         {Placement::streamed, Placement::grid, Placement::cluster, Placement::block}) {
      if (placement == chosen || (placement == Placement::cluster && !gpu_.has_clusters()))
        continue;
      try {
        auto whole = loop_kernel(plan_, call, position_, depth_, name, gpu_, placement);
        if (whole && whole->placement.placement == placement)
          others.push_back(launch_of(std::move(*whole), call));
      } catch (const Error& error) {
        // The loop's matrices may not fit.
        if (error.kind() != ErrorKind::resource) throw;
      }
    }
    return others;
  }

  Launch launch_of(LoopKernel&& loop, const LoopCall& call) {
    const LoopPlacement& placement = loop.placement;
    Launch launch;
    launch.kernel = kernel(std::move(loop.kernel));
    launch.grid.blocks[0] = loop.blocks;
    launch.grid.threads[0] = loop.threads;
    launch.arguments = std::move(loop.arguments);
    if (placement.has_memory_barrier()) launches_.loops.push_back(&call);
    for (LaunchValue& value : launch.arguments) {
      if (value.kind == KernelArgument::Kind::loop)
        value = {KernelArgument::Kind::number, int64_t(launches_.loops.size()), {}};
    }
    launch.shared_bytes = size_t(placement.shared_bytes);
    launches_.scratch_bytes = std::max(launches_.scratch_bytes, placement.exchange_bytes());
    launch.any_blocks = placement.placement == Placement::streamed;
    if (placement.has_memory_barrier())
      launch.barrier_groups = unsigned(placement.groups * placement.row_groups);
    launch.cluster = unsigned(placement.cluster());
    launches_.most_barrier_groups = std::max(launches_.most_barrier_groups, launch.barrier_groups);
    launch.note = std::move(loop.note);
    launch.placement = std::make_shared<LoopPlacement>(std::move(loop.placement));
    return launch;
  }

  void nest(const NestCall& call) {
    const std::shared_ptr<const SplitProduct> split = split_.find(call);
    std::optional<Launch> launch =
        split ? launch_of(*split->plan, split->product) : launch_of(plan_, call);
    if (!launch) return;
    if (split) {
      launch->split = split;
      launch->rest = std::make_shared<Launch>(*launch_of(*split->plan, split->rest));
      launches_.scratch_bytes = std::max(launches_.scratch_bytes, split->scratch_bytes);
    }
    if (library_forms_) launch->by_library = by_library(call);
    if (can_be_merged(plan_.programs[size_t(call.program)], launch->grid))
      launch->nests = {{&call, nullptr}};
    launches_.step.push_back(std::move(*launch));
  }

  /// The launch of a nest by itself; none if there is nothing to do. Buffers that the recorder's
  /// plan does not have are scratch memory.
  std::optional<Launch> launch_of(const Plan& plan, const NestCall& call) {
    const NestProgram& program = plan.programs[size_t(call.program)];
    const NestForm form = launched_form_of(plan, call, gpu_.shared_bytes);
    const Grid grid = nest_grid(program, call, form);
    if (is_empty(grid)) return std::nullopt;
    const Known& known = known_nest(plan, call, form);
    Launch launch{.kernel = known.kernel, .grid = grid};
    if (form.pipelined) launch.shared_bytes = size_t(PipelineLayout(program, form).all());
    for (const Parameter& parameter : known.parameters)
      launch.arguments.push_back(argument_of(parameter, plan, call));
    return launch;
  }

  LaunchValue argument_of(const Parameter& parameter, const Plan& plan,
                          const NestCall& call) const {
    const Address* address = address_for(parameter, plan, call);
    if (address == nullptr) return resolved(KernelArgument::of(number_for(parameter, plan, call)));
    if (size_t(address->buffer) >= plan_.buffers.size())
      return {KernelArgument::Kind::scratch, 0, {}};
    return resolved(KernelArgument::of(*address));
  }

  /// The product of a nest by cuBLASLt, if supported and large enough.
  std::shared_ptr<LibraryForm> by_library(const NestCall& call) {
    const std::optional<LibraryForms::Found> found = library_forms_->find(call, record_);
    if (!found ||
        found->shape.rows * found->shape.columns * found->shape.k < alternatives_.products)
      return nullptr;
    auto form = std::make_shared<LibraryForm>();
    form->shape = found->shape;
    form->left = resolved(KernelArgument::of(found->left));
    form->right = resolved(KernelArgument::of(found->right));
    const int right = found->right.buffer;
    if (right != call.products[0].b.buffer)
      form->instead = {memory_of(plan_, right), {0, plan_.buffers[size_t(right)].bytes}, false};
    if (found->result != nullptr) {
      form->result = resolved(KernelArgument::of(*found->result));
      return form;
    }
    form->result.kind = KernelArgument::Kind::scratch;
    launches_.scratch_bytes =
        std::max(launches_.scratch_bytes, LibraryForms::scratch_bytes(found->shape));
    form->rest = rest_of(found->rest);
    return form;
  }

  Launch rest_of(const NestCall& call) {
    const Plan& plan = library_forms_->rest_plan();
    std::string& name = rest_names_[call.program];
    if (name.empty()) name = names_.make(call.name + "_rest");
    const NestForm form = form_of(call);
    Launch launch{.kernel = kernel(nest_kernel(plan, call, form, name)),
                  .grid = nest_grid(plan.programs[size_t(call.program)], call, form)};
    for (const Parameter& parameter : parameters_of(plan, call))
      launch.arguments.push_back(argument_of(parameter, plan, call));
    return launch;
  }

  void table(const TableCall& call) {
    auto [found, is_new] = tables_.emplace(&call, int64_t(launches_.tables.size()) + 1);
    if (is_new) launches_.tables.push_back(&call);
    launches_.scratch_bytes = std::max(launches_.scratch_bytes, table_scratch_bytes(call));
    for (const KernelUse& use : table_kernels(call, found->second)) add(use);
  }

  void external(const ExternCall& call) {
    // Whoever needs what a collective writes, conflicts with its launches.
    if (is_wait(call)) return;
    is_collective(call) ? collective(call) : layer(call);
  }

  void collective(const ExternCall& call) {
    launches_.ranks = call.parameter("ranks");
    launches_.exchange_bytes = std::max(launches_.exchange_bytes, exchange_bytes(call));
    for (const CollectivePart& part : collective_parts(call)) {
      if (!part.exchange) {
        add(part.use);
        continue;
      }
      Launch launch{.kernel = -1};
      launch.exchange = std::make_shared<DeviceExchange>(*part.exchange);
      for (const KernelArgument& argument : part.use.arguments)
        launch.arguments.push_back(resolved(argument));
      launches_.step.push_back(std::move(launch));
    }
  }

  void layer(const ExternCall& call) {
    Launch launch{.kernel = -1, .layer = std::make_shared<LayerCall>(layer_of(call))};
    for (const Address* address : layer_addresses(call))
      launch.arguments.push_back(
          resolved(address != nullptr ? KernelArgument::of(*address) : KernelArgument::of(0)));
    launches_.step.push_back(std::move(launch));
  }

  /// A nest's kernel, shared by calls of one program and form.
  struct Known {
    int kernel = 0;
    std::vector<Parameter> parameters;
  };

  static bool is_empty(const Grid& grid) {
    return std::ranges::find(grid.blocks, 0u) != grid.blocks.end();
  }

  const Known& known_nest(const Plan& plan, const NestCall& call, const NestForm& form) {
    const auto key = std::pair(call.program, form.key());
    const auto found = nests_.find(key);
    if (found != nests_.end()) return found->second;
    const std::vector<Parameter> parameters = parameters_of(plan, call, form);
    if (parameters.size() * sizeof(int64_t) > kMostParameterBytes)
      throw input_error({}, "%{}: the CUDA target has kernels of at most {} parameters: found {}",
                        call.name, kMostParameterBytes / sizeof(int64_t), parameters.size());
    const std::string name = names_.make(call.name + "_kernel");
    return nests_.emplace(key, Known{kernel(nest_kernel(plan, call, form, name)), parameters})
        .first->second;
  }

  int kernel(KernelText text) {
    const auto [found, is_new] = kernels_.emplace(shape_of(text), int(launches_.kernels.size()));
    if (is_new) launches_.kernels.push_back(std::move(text));
    return found->second;
  }

  Launch made(const KernelUse& use) {
    Launch launch{.kernel = kernel(use.kernel), .grid = use.grid};
    for (const KernelArgument& argument : use.arguments)
      launch.arguments.push_back(resolved(argument));
    return launch;
  }
  void add(const KernelUse& use) {
    if (!is_empty(use.grid)) launches_.step.push_back(made(use));
  }

  LaunchValue resolved(const KernelArgument& argument) const {
    LaunchValue value{argument.kind, argument.number, {}};
    if (argument.kind == KernelArgument::Kind::address)
      value.place = resolve(*argument.address, position_);
    return value;
  }

  const Plan& plan_;
  const Gpu& gpu_;
  const std::optional<Placement> wanted_;
  const Alternatives alternatives_;
  Position position_;
  int depth_ = 0;
  /// The current record of the plan; while forms are built, a value after all writes.
  size_t record_ = std::numeric_limits<size_t>::max();
  Names names_;
  std::map<std::pair<int, std::string>, Known> nests_;
  std::map<std::string, int> kernels_;  ///< by shape
  std::map<const LoopCall*, std::string> loops_;
  std::map<const TableCall*, int64_t> tables_;
  SplitProducts split_;
  std::optional<LibraryForms> library_forms_;  ///< where cuBLASLt may compute products
  std::map<int, std::string> rest_names_;      ///< by program
  Launches launches_;
};

}  // namespace

Launches make_launches(const Plan& plan, const Gpu& gpu, std::optional<Placement> wanted,
                       Merging merging, const Alternatives& alternatives) {
  if (wanted == Placement::cluster && !gpu.has_clusters())
    throw resource_error(
        "--placement=cluster needs clusters of blocks, sm_90 or newer: found sm_{}",
        gpu.capability);
  Launches launches = Recorder(plan, gpu, wanted, alternatives).record();
  if (merging == Merging::together) merge_launches(plan, gpu, launches);
  return launches;
}

}  // namespace graphc::core::cuda
