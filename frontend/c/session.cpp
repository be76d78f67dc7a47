// SPDX-License-Identifier: Apache-2.0
// The C interface: sessions.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "frontend/c/objects.h"
#include "frontend/c/tensors.h"
#include "ir/spelling.h"
#include "runtime/arena.h"

namespace graphc::core {
namespace {

/// The caller's options; what a shorter struct lacks is 0.
graphc_options given_options(const CCall& call, const graphc_options* options) {
  graphc_options given{};
  if (options == nullptr) return given;
  call.check_size(options->struct_size, offsetof(graphc_options, remat), "options");
  std::memcpy(&given, options, std::min(options->struct_size, sizeof given));
  return given;
}

/// Throws ErrorKind::usage for an option that the target does not have.
void expect_option(const CCall& call, const Target& target, bool given, std::string_view name) {
  if (!given || std::ranges::find(target.options, name) != target.options.end()) return;
  throw call.error(fmt::format("options: target '{}' has no option '{}'", target.name, name));
}

void set_options(const CCall& call, const graphc_options& given, CSession& session) {
  CompileOptions& compile = session.options;
  session.target = given.target == nullptr ? &default_target() : &target(given.target, compile);
  const Target& on = *session.target;
  expect_option(call, on, given.variant != nullptr, "variant");
  expect_option(call, on, given.unroll != nullptr, "unroll");
  expect_option(call, on, given.cpu != nullptr, "cpu");
  expect_option(call, on, given.threads != 0, "threads");
  expect_option(call, on, given.remat != nullptr, "remat");
  expect_option(call, on, given.memory != 0, "memory");
  if (given.memory < 0)
    throw call.error(fmt::format("options: memory: wanted bytes, or 0: found {}", given.memory));
  if (given.precision != nullptr) compile.precision = precision_of(on, given.precision);
  if (given.variant != nullptr) compile.variant = given.variant;
  if (given.unroll != nullptr) compile.unroll = given.unroll;
  if (given.cpu != nullptr) compile.architecture = given.cpu;
  if (given.remat != nullptr) compile.remat = given.remat;
  if (given.device != 0 && &on != &targets::cuda)
    throw call.error(fmt::format("options: target '{}' has no option 'device'", on.name));
  if (given.device < 0)
    throw call.error(
        fmt::format("options: device: wanted a GPU from 0 on: found {}", given.device));
  if (&on == &targets::cuda) compile.cuda.device = given.device;
  compile.memory = given.memory;
  compile.threads = given.threads;
  session.announce = given.announce;
  session.announce_data = given.announce_data;
  compile.disk_cache = given.no_disk_cache == 0;
  compile.cpu.arena = std::make_shared<Arena>();
  check_variant(on, compile.variant);
  threads_of(compile);
  if (on.check_options != nullptr) on.check_options(compile);
}

void write(StoredState& state, const Literal& value) {
  std::ranges::copy(value.converted(state.type().dtype).bytes(), state.change().address());
}

Type type_of(const CSession& session, const Type& declared) {
  return stored_type(declared, session.options.precision);
}

void expect_type(std::string_view state, const Type& wanted, const Type& found) {
  if (found == wanted) return;
  throw input_error({}, "state '{}' is {}: found {}", state, to_string(wanted), to_string(found));
}

std::shared_ptr<CSession> make_session(const CCall& call, const graphc_module& module,
                                       const graphc_options* options) {
  auto session = std::make_shared<CSession>();
  session->file = module.file;
  session->shown = fmt::format("the session of module '{}'", module.file->module.name);
  set_options(call, given_options(call, options), *session);
  for (const auto& [name, type] : module.file->module.states) {
    StoredState& state = session->states.try_emplace(name, type_of(*session, type)).first->second;
    write(state, module.file->states.at(name));
  }
  return session;
}

/// The arrays of a file for all states of the session, or an error.
Safetensors arrays_of(const std::string& path, const CSession& session) {
  Safetensors content = read_safetensors(path);
  std::vector<std::string> names;
  for (const auto& [name, type] : session.file->module.states) {
    names.push_back(name);
    const auto found = content.arrays.find(name);
    if (found == content.arrays.end())
      throw input_error({}, "{}: it lacks the state '{}'", path, name);
    if (found->second.type() != type && found->second.type() != type_of(session, type)) {
      throw input_error({}, "{}: state '{}' is {}: found {}", path, name, to_string(type),
                        to_string(found->second.type()));
    }
  }
  for (const auto& [name, value] : content.arrays) {
    if (session.states.contains(name)) continue;
    throw input_error({}, "{}: the module has no state '{}'{}", path, name,
                      did_you_mean(name, names));
  }
  return content;
}

}  // namespace

StoredState& CSession::state(std::string_view name) {
  const auto found = states.find(name);
  if (found != states.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, state] : states) names.push_back(known);
  throw input_error({}, "the module has no state '{}'{}", name, did_you_mean(name, names));
}

void describe(const CCall& call, graphc_info* info, const std::string& name, const Type& type,
              bool written, bool parameter) {
  call.check_size(call.given(info, "info").struct_size, sizeof *info, "info");
  info->name = name.c_str();
  info->dtype = c_dtype_of(type.dtype);
  info->rank = type.shape.rank();
  static_assert(GRAPHC_MAX_RANK == Shape::kMaxRank);
  std::fill(std::begin(info->shape), std::end(info->shape), 0);
  std::ranges::copy(type.shape, info->shape);
  info->is_written = written ? 1 : 0;
  info->is_parameter = parameter ? 1 : 0;
}

}  // namespace graphc::core

using namespace graphc::core;

extern "C" {

graphc_status graphc_session_create(const graphc_module* module, const graphc_options* options,
                                    graphc_session** session, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(session, "session") = nullptr;
    auto made = std::make_unique<graphc_session>();
    made->session = make_session(call, call.live(module, "module"), options);
    hand_over(*session, std::move(made));
  });
}

graphc_status graphc_session_state_count(const graphc_session* session, size_t* count,
                                         graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(count, "count") = 0;
    *count = call.live(session, "session").session->file->module.states.size();
  });
}

graphc_status graphc_session_state(const graphc_session* session, size_t index, graphc_info* info,
                                   graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    const CSession& on = *call.live(session, "session").session;
    const auto& states = on.file->module.states;
    if (index >= states.size()) {
      throw call.error(fmt::format("there is no state {}: the module has {}, counted from 0", index,
                                   states.size()));
    }
    const auto& [name, type] = states[index];
    describe(call, info, name, type_of(on, type), false, is_parameter(*on.file, name));
  });
}

graphc_status graphc_session_read(graphc_session* session, const char* state,
                                  const graphc_tensor* to, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    CSession& on = *call.live(session, "session").session;
    const std::string name = call.text(state, "state");
    const graphc_tensor& given = call.given(to, "to");
    const OneThread::Inside here = on.inside();
    const Tensor& home = on.state(name).home();
    const CallersTensor callers(given, fmt::format("state '{}'", name));
    expect_type(name, home.type(), callers.type());
    std::memcpy(callers.to_write().address(), home.address(), size_t(home.type().bytes()));
  });
}

graphc_status graphc_session_write(graphc_session* session, const char* state,
                                   const graphc_tensor* from, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    CSession& on = *call.live(session, "session").session;
    const std::string name = call.text(state, "state");
    const graphc_tensor& given = call.given(from, "from");
    const OneThread::Inside here = on.inside();
    StoredState& stored = on.state(name);
    const CallersTensor callers(given, fmt::format("state '{}'", name));
    expect_type(name, stored.type(), callers.type());
    const Tensor value = callers.to_read();
    std::memcpy(stored.change().address(), value.address(), size_t(value.type().bytes()));
  });
}

graphc_status graphc_session_load(graphc_session* session, const char* path, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    CSession& on = *call.live(session, "session").session;
    const std::string file = call.text(path, "path");
    const OneThread::Inside here = on.inside();
    for (const auto& [name, value] : arrays_of(file, on).arrays) write(on.state(name), value);
  });
}

graphc_status graphc_session_save(graphc_session* session, const char* path, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    CSession& on = *call.live(session, "session").session;
    const std::string file = call.text(path, "path");
    const OneThread::Inside here = on.inside();
    ModelFile model = *on.file;
    for (const auto& [name, type] : model.module.states)
      model.states.at(name) = on.state(name).home().copy().converted(type.dtype);
    write_model_file(model, file);
  });
}

graphc_status graphc_session_free(graphc_session* session, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    if (session == nullptr) return;
    const std::shared_ptr<CSession> on = call.live(session, "session").session;
    const OneThread::Inside here = on->inside();
    call.free(session, "session");
  });
}

}  // extern "C"
