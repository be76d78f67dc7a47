// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/context.h"

#include <algorithm>

#include "codegen/step/view.h"
#include "ir/op.h"

namespace graphc::core {

LowerContext::LowerContext(std::string name, const Machine& machine)
    : machine_(machine), records_(&plan_.records) {
  plan_.name = std::move(name);
}

int LowerContext::add_buffer(const std::string& name, Place place, int index, int64_t bytes) {
  Buffer buffer;
  buffer.name = name;
  buffer.place = place;
  buffer.index = index;
  buffer.bytes = bytes;
  buffer.scope = scope_;
  plan_.buffers.push_back(std::move(buffer));
  return int(plan_.buffers.size()) - 1;
}

Address LowerContext::add_form(const std::string& name, int64_t bytes, const std::vector<int>& from,
                               const std::function<void(const Address&)>& make) {
  PlanForm form;
  for (const int buffer : from) form.states.push_back(plan_.buffers[size_t(buffer)].index);
  in_scope(-1, [&] {
    form.buffer = add_buffer(name, Place::form, int(plan_.forms.size()), bytes);
    std::vector<Record>* const outer = std::exchange(records_, &form.make);
    make({.buffer = form.buffer});
    records_ = outer;
  });
  plan_.forms.push_back(std::move(form));
  return {.buffer = plan_.forms.back().buffer};
}

void LowerContext::note_uses(const Graph& graph, const std::vector<bool>& live) {
  const auto note = [&](Value value) { used_.emplace(value.node, value.index); };
  for (const Node& node : graph.nodes()) {
    if (live[size_t(node.id)]) std::ranges::for_each(node.operands, note);
  }
  std::ranges::for_each(graph.results(), note);
  for (const Next& next : graph.next()) note(next.value);
}

View LowerContext::temporary(const Type& type, const std::string& name) {
  return contiguous_view(add_buffer(name, Place::arena, 0, type.bytes()), type);
}

View LowerContext::constant_data(const Node& node) {
  const Type& type = node.types[0];
  const int index = add_buffer(node.names[0], Place::constant, 0, type.bytes());
  std::string& data = plan_.buffers[size_t(index)].data;
  const auto append = [&](auto number) {
    data.append(stored_bytes(type.dtype, number).data(), size_t(size_of(type.dtype)));
  };
  const Attribute& value = *node.attributes.find("value");
  if (auto list = std::get_if<std::vector<double>>(&value)) {
    for (double number : *list) append(number);
  } else {
    for (int64_t number : std::get<std::vector<int64_t>>(value)) append(number);
  }
  return contiguous_view(index, type);
}

namespace {

/// A view of the type [steps, groups..., rows..., columns] in memory of [steps, rows..., groups...,
/// columns].
View groups_side_by_side(int buffer, const Type& type, int groups) {
  View view = contiguous_view(buffer, type);
  int64_t stride = type.shape[-1];
  const auto place = [&](int first, int limit) {
    for (int axis = limit - 1; axis >= first; --axis) {
      view.strides[size_t(axis)] = stride;
      stride *= type.shape[axis];
    }
  };
  place(1, groups + 1);
  place(groups + 1, type.shape.rank() - 1);
  return view;
}

}  // namespace

View LowerContext::destination(Value value, const ViewMap& wanted, bool spaced, int groups) {
  const View* place = wanted.find(value);
  if (place != nullptr) return *place;
  if (pitched.contains({value.node, value.index})) return with_pitch(value.type(), value.name());
  const auto slot = history_slots.find({value.node, value.index});
  Type type = value.type();
  if (slot != history_slots.end()) type.shape = type.shape.with(0, type.shape[0] + 1);
  View view = spaced ? with_spaced_steps(type, value.name()) : temporary(type, value.name());
  if (groups > 0) view = groups_side_by_side(view.address.buffer, type, groups);
  view.shape = value.shape();
  if (slot != history_slots.end() && slot->second.front)
    view.address = moved(view.address, view.strides[0] * size_of(view.dtype));
  return view;
}

View LowerContext::with_spaced_steps(const Type& type, const std::string& name) {
  constexpr int64_t kPage = 4096, kSpace = 16384 + 320, kLeast = 65536;
  const int64_t steps = type.shape[0], step = steps == 0 ? 0 : type.bytes() / steps;
  if (step < kLeast || step % kPage != 0) return temporary(type, name);
  const int buffer = add_buffer(name, Place::arena, 0, steps * (step + kSpace));
  View view = contiguous_view(buffer, type);
  view.strides[0] = (step + kSpace) / size_of(type.dtype);
  return view;
}

View LowerContext::with_pitch(const Type& type, const std::string& name) {
  const int64_t size = size_of(type.dtype), pitch = machine_.pitch;
  const int64_t row = (type.shape[-1] * size + pitch - 1) / pitch * pitch;
  const int64_t rows = type.shape.with(-1, 1).elements();
  View view = contiguous_view(add_buffer(name, Place::arena, 0, rows * row), type);
  view.strides = type.shape.with(-1, row / size).strides();
  return view;
}

void LowerContext::add(std::optional<Family> family, decltype(Record::call) call) {
  records_->push_back({family, std::move(call)});
}

int LowerContext::program_of(NestProgram program) {
  const auto [found, added] = program_index_.emplace(program.text(), int(plan_.programs.size()));
  if (program.tile.lanes == 0) program.tile = machine_.tile(program);
  if (added) plan_.programs.push_back(std::move(program));
  return found->second;
}

NestCall LowerContext::call_of(Nest nest) {
  nest.call.program = program_of(std::move(nest.program));
  return std::move(nest.call);
}

void LowerContext::read_right_as(DType dtype, NestCall& call, size_t product) {
  NestProgram program = plan_.programs[size_t(call.program)];
  program.products[product].right = dtype;
  call.program = program_of(std::move(program));
}

View LowerContext::by_rows(View view) const {
  const int axes = matrix_rows.rank();
  if (axes == 0) return view;
  while (view.shape.rank() > axes && view.shape[0] == 1 && !view.shape.begins_with(matrix_rows)) {
    std::shift_left(view.strides.begin(), view.strides.end(), 1);
    view.shape = view.shape.without(0);
  }
  if (view.shape == matrix_rows && axes < Shape::kMaxRank) {
    view.strides[size_t(axes)] = 1;
    view.shape = view.shape.insert(axes, 1);
  }
  return view;
}

void LowerContext::copy(const View& from, const View& to, const std::string& name) {
  if (from.shape.elements() == 0) return;
  add(Family::map, copy_nest(by_rows(from), by_rows(to), name, matrix_rows.rank()));
}

void LowerContext::copy_unless_there(const View& from, const View& to, const std::string& name) {
  if (!same_view(from, to)) copy(from, to, name);
}

View LowerContext::straight(const View& view, const std::string& name) {
  if (view.contiguous()) return view;
  const View result = temporary({view.dtype, view.shape}, name);
  copy(view, result, name);
  return result;
}

View LowerContext::laid_out_like(const View& like, const View& view, const std::string& name) {
  View result = view;
  bool same = true;
  int64_t last = 0;
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    if (view.shape[axis] == 1) continue;
    same &= view.strides[size_t(axis)] == like.strides[size_t(axis)];
    last += (view.shape[axis] - 1) * like.strides[size_t(axis)];
  }
  if (same) return view;
  result.strides = like.strides;
  result.address = {.buffer = add_buffer(name, Place::arena, 0, (last + 1) * size_of(view.dtype))};
  copy(view, result, name);
  return result;
}

void LowerContext::open(OpenLoop& loop) {
  loop.outer = std::exchange(records_, &loop.call.body);
  loop.outer_scope = std::exchange(scope_, loop.call.id);
  note_loop();
  loop.depth = depth();
  open_loops_.push_back(&loop);
}

LowerContext::OpenLoop* LowerContext::loop_that_keeps(const Address& address) const {
  const auto moves = [&](const OpenLoop& loop) {
    return address.buffer >= loop.first_buffer || address.first_loop == loop.depth ||
           std::ranges::count(address.terms, loop.depth, &Address::Term::loop) > 0;
  };
  int64_t steps = 1;
  OpenLoop* outermost = nullptr;
  for (size_t i = open_loops_.size(); i-- > 0 && !moves(*open_loops_[i]);) {
    steps *= open_loops_[i]->call.steps;
    outermost = open_loops_[i];
  }
  return steps > 1 ? outermost : nullptr;
}

void LowerContext::close(OpenLoop& loop, std::optional<Family> family) {
  open_loops_.pop_back();
  records_ = loop.outer;
  scope_ = loop.outer_scope;
  add(family, std::move(loop.call));
}

}  // namespace graphc::core
