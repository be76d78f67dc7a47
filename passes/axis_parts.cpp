// SPDX-License-Identifier: Apache-2.0
#include "passes/axis_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/axis_cuts.h"

namespace graphc::core {
namespace {

/// More elements along an axis than this are not values of their own: the step would have that many
/// copies of its nodes.
constexpr int64_t kMostUnpacked = 8;
/// The same for all unpacked groups of a value together.
constexpr int64_t kMostCopies = 16;

}  // namespace

/// Numbers the parts of all axes, finds which of them are one group, and which groups are unpacked.
class PartAnalysis {
 public:
  explicit PartAnalysis(const Scan& scan)
      : scan_(scan), body_(scan.body()), cuts_(scan), live_(live_nodes(body_)) {}

  std::optional<AxisParts> run(std::string* why_not) {
    fault_ = cuts_.fault();
    if (fault_.empty()) {
      number_parts();
      join_parts();
      find_unpacked();
      check();
    }
    if (fault_.empty()) return std::move(found_);
    if (why_not != nullptr) *why_not = fault_;
    return std::nullopt;
  }

 private:
  template <typename Visit>
  void each_node(const Visit& visit) {
    for (const Node& node : body_.nodes()) {
      if (fault_.empty() && live_[size_t(node.id)]) visit(node);
    }
  }

  void refuse(const Node& node, std::string_view what) {
    if (fault_.empty()) fault_ = fmt::format("%{} ({}) {}", node.names[0], node.op.name, what);
  }

  // --- groups of parts; until they are all joined, a part has the number of its own group

  void number_parts() {
    size_t first = 0;
    for (const Node& node : body_.nodes()) {
      found_.first_axis_.push_back(first);
      found_.matrix_.push_back(cuts_.is_matrix(node.result()));
      first += size_t(node.types[0].shape.rank());
    }
    found_.parts_.resize(first);
    first_part_.assign(first, -1);
    each_node([&](const Node& node) {
      for (int axis = 0; axis < node.types[0].shape.rank(); ++axis)
        number_axis(node.result(), axis);
    });
  }

  void number_axis(Value value, int axis) {
    const size_t own = cuts_.class_of(value, axis);
    const Cuts& cuts = cuts_.cuts(own);
    std::vector<AxisPart>& parts = found_.parts_[cuts_.number_of(value, axis)];
    int64_t end = value.shape()[axis];
    for (auto each = cuts.rbegin(); each != cuts.rend(); ++each)
      parts.push_back({std::exchange(end, *each) / *each, -1});
    parts.push_back({end, -1});
    if (first_part_[own] < 0) {
      first_part_[own] = int(groups_.size());
      for (const AxisPart& part : parts)
        groups_.push_back({int(groups_.size()), part.extent, cuts_.is_whole(own)});
    }
    for (size_t i = 0; i < parts.size(); ++i) parts[i].group = first_part_[own] + int(i);
    found_.divides_ |= !cuts.empty();
  }

  int find(int part) {
    while (groups_[size_t(part)].parent != part)
      part = groups_[size_t(part)].parent = groups_[size_t(groups_[size_t(part)].parent)].parent;
    return part;
  }
  void join(int a, int b) {
    const int gone = find(a), kept = find(b);
    if (gone == kept) return;
    groups_[size_t(gone)].parent = kept;
    groups_[size_t(kept)].is_packed |= groups_[size_t(gone)].is_packed;
  }

  void join_parts() {
    each_node([&](const Node& node) {
      if (node.is(ops::reshape)) join_reshape(node);
      for (const AxisPiece& piece : pieces_of(node)) join_piece(node, piece);
    });
  }

  void join_reshape(const Node& node) {
    const auto long_parts = [&](Value value) {
      std::vector<AxisPart> parts = found_.of_value(value);
      std::erase_if(parts, [](const AxisPart& part) { return part.extent == 1; });
      return parts;
    };
    const std::vector<AxisPart> from = long_parts(node.operands[0]), to = long_parts(node.result());
    for (size_t i = 0; i < from.size(); ++i) join(from[i].group, to[i].group);
  }

  /// Joins the parts that a piece has whole, and says of which parts it has one element.
  void join_piece(const Node& node, const AxisPiece& piece) {
    const int axis = cut_axis(node);
    const std::vector<AxisPart> all = found_.of_axis(piece.all, axis);
    const std::vector<AxisPart> part = found_.of_axis(piece.part, axis);
    const int64_t extent = piece.part.shape()[axis];
    int64_t distance = 1;
    for (size_t i = 0; i < all.size(); ++i) {
      const AxisPart& each = all[all.size() - 1 - i];
      if (distance >= extent) {
        if (each.extent != 1) picked_.push_back(each.group);
      } else if (distance * each.extent <= extent) {
        join(each.group, part[part.size() - 1 - i].group);
      } else {
        // Some of it: an axis of the whole, and one of the piece.
        keep_packed({each});
        if (i < part.size()) keep_packed({part[part.size() - 1 - i]});
      }
      distance *= each.extent;
    }
  }

  // --- which of them are unpacked

  void keep_packed(const std::vector<AxisPart>& parts) {
    for (const AxisPart& part : parts) packed_.push_back(part.group);
  }

  /// Those of which the step takes single elements, if nothing else needs them as an axis.
  void find_unpacked() {
    each_node([&](const Node& node) {
      if (node.is(ops::iota)) keep_packed(found_.of_value(node.result()));
      if (reduces_axes(node)) {
        for (const int64_t axis : node.attributes.get_ints("axes"))
          keep_packed(found_.of_axis(node.operands[0], int(axis)));
      }
      // A product has all of its rows at once.
      for (int axis = 0; node.is(ops::matmul) && axis + 1 < node.types[0].shape.rank(); ++axis)
        keep_packed(found_.of_axis(node.result(), axis));
    });
    for (const int part : packed_) groups_[size_t(find(part))].is_packed = true;
    std::vector<int> number(groups_.size(), -1);
    for (const int part : picked_) {
      const Group& group = groups_[size_t(find(part))];
      if (group.is_packed || group.extent > kMostUnpacked || number[size_t(group.parent)] >= 0)
        continue;
      number[size_t(group.parent)] = int(found_.unpacked_.size());
      found_.unpacked_.push_back(group.extent);
    }
    for (std::vector<AxisPart>& parts : found_.parts_) {
      for (AxisPart& part : parts)
        part.group = part.extent == 1 ? -1 : number[size_t(find(part.group))];
    }
    found_.divides_ |= !found_.unpacked_.empty();
  }

  void check() {
    each_node([&](const Node& node) {
      const std::vector<AxisPart> parts = found_.of_value(node.result());
      if (parts.size() + 1 > size_t(Shape::kMaxRank)) refuse(node, "would have too many axes");
      int64_t copies = 1;
      std::set<int> groups;
      for (const AxisPart& part : parts) {
        if (part.group < 0) continue;
        copies *= part.extent;
        if (!groups.insert(part.group).second) refuse(node, "has two axes of one kind");
      }
      if (copies > kMostCopies) refuse(node, "would be too many values");
      if (node.is(ops::concat)) check_concat(node);
      if (!node.is(ops::matmul)) return;
      const std::vector<AxisPart> columns =
          found_.of_axis(node.result(), node.types[0].shape.rank() - 1);
      if (std::ranges::count(columns, -1, &AxisPart::group) > 1)
        refuse(node, "makes columns that the step divides");
    });
  }

  /// Operands are joined along one axis, or each is one element of what is unpacked.
  void check_concat(const Node& node) {
    for (const AxisPiece& piece : pieces_of(node)) {
      int64_t distance = 1;
      const std::vector<AxisPart> all = found_.of_axis(piece.all, cut_axis(node));
      for (size_t i = all.size(); i-- > 0; distance *= all[i].extent) {
        const bool is_picked = distance >= piece.part.shape()[cut_axis(node)];
        if (all.size() > 1 && all[i].group < 0 && all[i].extent != 1 && is_picked)
          refuse(node, "joins parts of an axis");
      }
    }
  }

  struct Group {
    int parent = 0;
    int64_t extent = 1;
    bool is_packed = false;  ///< must not be unpacked
  };

  const Scan& scan_;
  const Graph& body_;
  const AxisCuts cuts_;
  std::vector<bool> live_;
  std::vector<int> first_part_;       ///< by class of axes
  std::vector<Group> groups_;         ///< by part
  std::vector<int> picked_, packed_;  ///< parts
  std::string fault_;
  AxisParts found_;
};

std::optional<AxisParts> AxisParts::of(const Scan& scan, std::string* why_not) {
  return PartAnalysis(scan).run(why_not);
}

std::vector<AxisPart> AxisParts::of_axis(Value value, int axis) const {
  return parts_[first_axis_[size_t(value.node->id)] + size_t(axis)];
}

std::vector<AxisPart> AxisParts::of_value(Value value) const {
  std::vector<AxisPart> parts;
  for (int axis = 0; axis < value.shape().rank(); ++axis) {
    const std::vector<AxisPart> own = of_axis(value, axis);
    parts.insert(parts.end(), own.begin(), own.end());
  }
  return parts;
}

}  // namespace graphc::core
