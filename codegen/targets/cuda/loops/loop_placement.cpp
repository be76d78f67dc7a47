// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>

#include "codegen/targets/cuda/loops/placer.h"
#include "codegen/targets/cuda/text/product_text.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// Cluster sizes: those that every device with clusters supports, and one that many support, as
/// they do those between.
constexpr int64_t kClusters[] = {2, 4, 8};
constexpr int64_t kLargeCluster = 16;
/// Longer bodies are put into clusters only on request: their addresses need more registers than
/// exist (with 39 nests NVRTC spills 920 bytes).
constexpr size_t kNestsOfCluster = 24;

/// All placements of a loop that are worth comparing.
class Candidates {
 public:
  Candidates(const LoopNests& nests, const Gpu& gpu)
      : nests_(nests), gpu_(gpu), placer_(nests, gpu) {
    for (const NestCall* call : nests.nests) {
      rows_ = std::max(rows_, call->rows);
      columns_ = std::max(columns_, call->unit);
      outer_ = std::max(outer_, outer_indices(*call));
    }
    private_rows_ = placer_.rows_are_private();
  }

  std::vector<LoopPlacement> find(std::optional<Placement> wanted) {
    if (!placer_.possible()) return {};
    for (int64_t of_block = 1; private_rows_ && of_block < 2 * rows_ && of_block <= 128;
         of_block *= 2)
      add(Placement::block, (rows_ + of_block - 1) / of_block, 1);
    for (int64_t of_block = 4; of_block < columns_ && of_block <= 256; of_block *= 2)
      add_groups(Placement::grid, (columns_ + of_block - 1) / of_block);
    for (int64_t blocks = outer_; blocks > 1; blocks = (blocks + 1) / 2)
      add_groups(Placement::grid, blocks);
    if (placer_.has_outer_axes()) return std::move(found_);
    const bool is_wanted = wanted == Placement::cluster;
    for (const int64_t blocks : kClusters) {
      if (!is_wanted && nests_.nests.size() > kNestsOfCluster) continue;
      add_clusters(blocks);
      add_fewer_blocks(blocks);
    }
    if (is_wanted) want_cluster();
    if (!wanted) add_large_clusters();
    return std::move(found_);
  }

 private:
  void add(Placement kind, int64_t row_groups, int64_t column_groups) {
    if (auto placement = placer_.place(kind, row_groups, column_groups))
      found_.push_back(std::move(*placement));
  }

  /// Adds candidates with one group of rows or more, as many as run at the same time.
  void add_groups(Placement kind, int64_t column_groups) {
    for (int64_t row_groups = 1; nests_.groups * row_groups * column_groups <= gpu_.multiprocessors;
         row_groups *= 2) {
      add(kind, row_groups, column_groups);
      if (!private_rows_ || row_groups >= rows_) break;
    }
  }

  /// Adds clusters of this size, unless half as many blocks have the same number of columns each.
  void add_clusters(int64_t blocks) {
    const auto share = [&](int64_t of) { return (columns_ + of - 1) / of; };
    const bool has_room = nests_.groups * blocks <= gpu_.multiprocessors;
    if (!gpu_.has_clusters() || !has_room || share(blocks) == share(blocks / 2)) return;
    is_clusterable_ = true;
    add_groups(Placement::cluster, blocks);
    // As many as run at a time, which may be no power of two.
    const int64_t most = std::min(gpu_.clusters_at_a_time(blocks) / nests_.groups, rows_);
    if (private_rows_ && most > 0 && !std::has_single_bit(uint64_t(most)))
      add(Placement::cluster, most, blocks);
  }

  /// Adds clusters that not every device supports, where this one is known to run some: only of
  /// loops that count what they exchange, whose costs are known.
  void add_large_clusters() {
    const bool runs_some = gpu_.clusters[size_t(std::countr_zero(uint64_t{kLargeCluster}))] > 0;
    if (!runs_some || nests_.nests.size() > kNestsOfCluster) return;
    add_clusters(kLargeCluster);
    keep_counted(kLargeCluster);
    add_fewer_blocks(kLargeCluster);
  }

  /// Adds clusters of the fewest blocks that own no more unit tiles each than these do: 14 for 16
  /// of 650 columns. Only where exchanges are counted, since these are of unit tiles.
  void add_fewer_blocks(int64_t blocks) {
    const auto quotient = [](int64_t count, int64_t of) { return (count + of - 1) / of; };
    const int64_t fewest = quotient(columns_, quotient(columns_, blocks * kUnits) * kUnits);
    if (fewest <= blocks / 2 || fewest == blocks) return;
    add_clusters(fewest);
    keep_counted(fewest);
  }

  void keep_counted(int64_t blocks) {
    std::erase_if(found_, [&](const LoopPlacement& each) {
      return each.cluster() == blocks && each.counted == nullptr;
    });
  }

  bool has_cluster() const {
    return std::ranges::find(found_, Placement::cluster, &LoopPlacement::placement) != found_.end();
  }

  void want_cluster() {
    if (!has_cluster()) add_clusters(kLargeCluster);
    if (has_cluster() || !is_clusterable_) return;
    throw Error(
        ErrorKind::resource, nests_.loop->where,
        fmt::format("%{}: --placement=cluster: the matrices of the loop do not fit into "
                    "{} blocks with {} bytes of shared memory each",
                    nests_.loop->name, std::min<int64_t>(kLargeCluster, gpu_.multiprocessors),
                    gpu_.shared_bytes));
  }

  const LoopNests& nests_;
  const Gpu& gpu_;
  const Placer placer_;
  int64_t rows_ = 1, columns_ = 1, outer_ = 1;
  bool private_rows_ = false;
  bool is_clusterable_ = false;  ///< the loop has columns for more than one block
  std::vector<LoopPlacement> found_;
};

std::string_view comment_of(Placement placement) {
  switch (placement) {
    case Placement::streamed:
      return "The blocks share out each nest, with a barrier after it";
    case Placement::grid:
      return "Each block owns columns of a group of rows; barriers are those of a group";
    case Placement::cluster:
      return "Each block owns columns of its cluster's rows; barriers are those of a cluster";
    case Placement::block:
      return "Each block owns rows, and meets no other";
    case Placement::rows:
      return "Each block takes one row through all steps";
    case Placement::launches:  // no kernel
      break;
  }
  return "";
}

}  // namespace

std::string_view LoopPlacement::comment() const {
  if (counted == nullptr) return comment_of(placement);
  if (counted->through_memory)
    return "Each block owns columns of a group of rows; blocks hand fragments on through memory";
  return "Each block owns columns of its cluster's rows; blocks count what they receive of each "
         "other";
}

int64_t outer_indices(const NestCall& call) {
  int64_t indices = 1;
  for (const int64_t extent : call.outer) indices *= extent;
  return indices;
}

int64_t LoopPlacement::turns_of_block(const NestCall& call) const {
  return (outer_indices(call) + column_groups - 1) / column_groups;
}

std::pair<unsigned, unsigned> LoopPlacement::threads_of(size_t nest, const NestProgram& program,
                                                        const Grid& grid, unsigned threads) const {
  const NestShare& share = nests[nest];
  if (program.kind == NestKind::tiles) {
    const ProductTile tile = product_tile(program, share.form);
    return {unsigned(tile.across), unsigned(tile.down)};
  }
  if (share.owner != Owner::element || program.kind == NestKind::column_wise)
    return {grid.threads[0], grid.threads[1]};
  unsigned across = 1;
  while (across < threads && across < share.columns_of_block) across *= 2;
  return {across, threads / across};
}

bool LoopPlacement::stores_after_barriers() const {
  const auto last = std::find(barrier_after.rbegin(), barrier_after.rend(), true);
  const auto after = size_t(barrier_after.rend() - last);  // the first nest after the last barrier
  return std::ranges::any_of(exchanged, [&](const ExchangedOperand& operand) {
    return std::ranges::any_of(operand.exchange.stores,
                               [&](const HandedStore& store) { return store.nest >= after; });
  });
}

int64_t LoopPlacement::rounds(const Gpu& gpu) const {
  const int64_t at_a_time = cluster() * gpu.clusters_at_a_time(cluster());
  return (blocks() + at_a_time - 1) / at_a_time;
}

int64_t LoopPlacement::exchange_bytes() const {
  return counted == nullptr ? 0 : groups * row_groups * counted->exchange_words * 4;
}

bool LoopPlacement::meets() const {
  return std::ranges::find(barrier_after, true) != barrier_after.end();
}

std::string LoopPlacement::describe(const LoopNests& loop) const {
  if (placement == Placement::streamed)
    return "every step reads its matrices from memory; a barrier follows each nest";
  if (placement == Placement::rows)
    return fmt::format("{} x {} blocks own rows x parts, with {} x {} of a matrix in registers",
                       row_groups, column_groups, matrix.first, matrix.second);
  std::set<std::string> names;
  const std::string for_each =
      groups == 1 ? std::string() : fmt::format("for each of {} groups of rows: ", groups);
  if (counted != nullptr) return for_each + text_of_blocks() + describe_counted(loop);
  for (const ResidentMatrix& resident_matrix : resident) {
    const Address& b = loop.nests[resident_matrix.nest]->products[resident_matrix.product].b;
    names.insert(loop.plan->buffers[size_t(b.buffer)].name);
  }
  std::string text = for_each + text_of_blocks();
  if (!resident.empty())
    text += fmt::format("; {} in shared memory ({} bytes a block)", fmt::join(names, ", "),
                        shared_bytes);
  std::set<std::string> exchanged_names;
  for (const ExchangedOperand& operand : exchanged) {
    const Address& a = loop.nests[operand.exchange.nest]->products[operand.exchange.product].a;
    exchanged_names.insert(loop.plan->buffers[size_t(a.buffer)].name);
  }
  if (!exchanged.empty())
    text += fmt::format("; {} exchanged there", fmt::join(exchanged_names, ", "));
  size_t products = 0;
  for (const NestCall* call : loop.nests) products += call->products.size();
  if (resident.size() < products) text += "; other matrices are read in every step";
  const auto count = std::ranges::count(barrier_after, true);
  text += text_of_barriers();
  if (count > 0 && !not_counted.empty()) text += ", since " + not_counted;
  return text;
}

std::string LoopPlacement::text_of_blocks() const {
  return placement == Placement::cluster
             ? fmt::format("{} clusters of {} blocks own rows x columns", row_groups, column_groups)
             : fmt::format("{} x {} blocks own rows x columns", row_groups, column_groups);
}

std::string LoopPlacement::text_of_barriers() const {
  const int64_t count =
      counted != nullptr ? counted->meetings() : std::ranges::count(barrier_after, true);
  return count == 0   ? "; no barrier"
         : count == 1 ? "; 1 barrier a step"
                      : fmt::format("; {} barriers a step", count);
}

std::string LoopPlacement::describe_counted(const LoopNests& loop) const {
  std::set<std::string> right, left;
  int kept = 0, all = 0;
  for (const CountedProduct& product : counted->products) {
    const CallProduct& call = loop.nests[product.nest]->products[product.product];
    right.insert(loop.plan->buffers[size_t(call.b.buffer)].name);
    const std::string& name = loop.plan->buffers[size_t(call.a.buffer)].name;
    left.insert(product.scatters ? "partial sums of " + name : name + " as fragments");
    kept += product.in_registers * product.words_of_step;
    all += product.steps_of_warp * product.words_of_step;
  }
  if (!counted->rows.exchanges.empty()) left.insert("numbers of rows");
  return fmt::format(
      "; {} in registers ({} of {} words a lane) and shared memory ({} bytes a block); {} handed "
      "on{}{}",
      fmt::join(right, ", "), kept, all, shared_bytes, fmt::join(left, ", "),
      counted->through_memory ? " through memory" : ", counted in by mbarriers",
      text_of_barriers());
}

LoopPlacement place_loop(const LoopNests& nests, const Gpu& gpu, std::optional<Placement> wanted) {
  LoopPlacement best;
  best.barrier_after.assign(nests.nests.size(), true);
  if (wanted == Placement::streamed) return best;
  best.step_us = Placer(nests, gpu).streamed_us();
  bool is_wanted = !wanted;
  for (LoopPlacement& each : Candidates(nests, gpu).find(wanted)) {
    if (wanted && each.placement != *wanted) continue;
    if (is_wanted && each.step_us >= best.step_us) continue;
    is_wanted = true;
    best = std::move(each);
  }
  return best;
}

}  // namespace graphc::core::cuda
