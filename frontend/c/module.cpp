// SPDX-License-Identifier: Apache-2.0
// The C interface: modules.
#include <algorithm>

#include "frontend/c/objects.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "runtime/files/files.h"

namespace graphc::core {
namespace {

/// A safetensors file begins with the length of its header, of at most 100 MB, in eight bytes: a
/// text has no zero bytes.
bool is_model_file(std::string_view bytes) {
  return bytes.substr(0, 8).find('\0') != std::string_view::npos;
}

ModelFile file_of_text(std::string_view text, std::string_view name) {
  ModelFile file;
  file.module = parse(text, name);
  verify(file.module);
  if (file.module.graphs.empty()) throw input_error({}, "{}: the text has no graph", name);
  for (const auto& [state, type] : file.module.states)
    file.states.emplace(state, Literal::zeros(type));
  return file;
}

std::unique_ptr<graphc_module> module_of(ModelFile file) {
  auto module = std::make_unique<graphc_module>();
  module->text = print(file.module);
  module->file = std::make_shared<const ModelFile>(std::move(file));
  return module;
}

}  // namespace

bool is_parameter(const ModelFile& file, const std::string& state) {
  return std::ranges::find(file.parameters, state) != file.parameters.end();
}

}  // namespace graphc::core

using namespace graphc::core;

extern "C" {

graphc_status graphc_module_parse(const char* text, size_t length, const char* name,
                                  graphc_module** module, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(module, "module") = nullptr;
    call.given(text, "text");
    const std::string called = call.text(name, "name");
    hand_over(*module, module_of(file_of_text({text, length}, called)));
  });
}

graphc_status graphc_module_load(const char* path, graphc_module** module, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(module, "module") = nullptr;
    const std::string file = call.text(path, "path");
    const std::string bytes = read_file(file);
    hand_over(*module, module_of(is_model_file(bytes) ? parse_model_file(bytes, file)
                                                      : file_of_text(bytes, file)));
  });
}

graphc_status graphc_module_graph_count(const graphc_module* module, size_t* count,
                                        graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(count, "count") = 0;
    *count = call.live(module, "module").file->module.graphs.size();
  });
}

graphc_status graphc_module_graph_name(const graphc_module* module, size_t index, const char** name,
                                       graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(name, "name") = nullptr;
    const std::vector<GraphPtr>& graphs = call.live(module, "module").file->module.graphs;
    if (index >= graphs.size()) {
      throw call.error(fmt::format("there is no graph {}: the module has {}, counted from 0", index,
                                   graphs.size()));
    }
    *name = graphs[index]->name().c_str();
  });
}

graphc_status graphc_module_text(const graphc_module* module, const char** text,
                                 graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) {
    call.given(text, "text") = nullptr;
    *text = call.live(module, "module").text.c_str();
  });
}

graphc_status graphc_module_free(graphc_module* module, graphc_error** error) {
  return guarded(__func__, error, [&](const CCall& call) { call.free(module, "module"); });
}

}  // extern "C"
