// SPDX-License-Identifier: Apache-2.0
// graphc models | ops | targets | passes | version: lists what is available.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "codegen/target.h"
#include "ir/op.h"
#include "ir/utf8.h"
#include "models/registry.h"
#include "passes/passes.h"
#include "runtime/cuda/libraries.h"
#include "runtime/ranks/launch.h"
#include "tools/commands/commands.h"
#include "tools/commands/op_reference.h"

namespace graphc::core::commands {
namespace {

using Json = nlohmann::ordered_json;

void show_json(const Json& json) { write_stdout(json.dump(2) + "\n"); }

/// Prints rows of named fields as lines "name  text" with aligned names.
void show(const Json& rows, const char* text_field) {
  size_t width = 0;
  for (const Json& row : rows) width = std::max(width, row["name"].get<std::string>().size());
  for (const Json& row : rows) {
    write_stdout(fmt::format("{:<{}}  {}\n", row["name"].get<std::string>(), width,
                             row[text_field].get<std::string>()));
  }
}

Json models() {
  Json rows = Json::array();
  for (const ModelRecord* model : all_models()) {
    Json parameters = Json::array();
    std::string text(model->summary);
    for (const ParameterRecord& parameter : model->parameters) {
      parameters.push_back(
          {{"name", parameter.name}, {"default", parameter.otherwise}, {"doc", parameter.doc}});
      text += fmt::format("\n    {}={}  {}", parameter.name, parameter.otherwise, parameter.doc);
    }
    rows.push_back({{"name", model->name},
                    {"summary", model->summary},
                    {"parameters", parameters},
                    {"text", text}});
  }
  return rows;
}

Json ops() {
  Json rows = Json::array();
  for (const Op* op : all_ops()) {
    const char* kind = is_elementwise(*op) ? "elementwise"
                       : is_composite(*op) ? "composite"
                                           : "primitive";
    rows.push_back({{"name", op->name}, {"kind", kind}, {"doc", op->doc}});
  }
  return rows;
}

Json targets() {
  Json rows = Json::array();
  for (const Target* target : all_targets()) {
    const std::string reason = target->unavailable();
    rows.push_back({{"name", target->name},
                    {"summary", target->summary},
                    {"precisions", names_of(target->precisions)},
                    {"available", reason.empty()}});
    if (!reason.empty()) rows.back()["reason"] = reason;
    rows.back()["text"] = fmt::format("{}; in {} ({})", target->summary,
                                      fmt::join(names_of(target->precisions), ", "),
                                      reason.empty() ? "can run here" : "cannot run: " + reason);
  }
  return rows;
}

Json row_of(cuda::FoundLibrary library) {
  // Paths may contain any bytes.
  library.path = printable(library.path, 4096);
  library.why_not = printable(library.why_not, 4096);
  Json row{{"name", library.name}, {"available", library.why_not.empty()}};
  if (!library.version.empty()) row["version"] = library.version;
  if (!library.path.empty()) row["path"] = library.path;
  if (!library.why_not.empty()) row["reason"] = library.why_not;
  row["text"] = library.why_not.empty() ? fmt::format("{}, {}", library.version, library.path)
                                        : "not usable: " + library.why_not;
  return row;
}

/// The libraries that targets load on demand, found or not.
Json libraries() {
  Json rows = Json::array();
  for (const cuda::FoundLibrary& library : cuda::found_libraries()) rows.push_back(row_of(library));
  return rows;
}

/// What connects several processes or GPUs, found or not.
Json libraries_of_ranks() {
  const FoundMpi& mpi = find_mpi();
  return {row_of({"mpi", mpi.path, mpi.version, mpi.why_not}), row_of(cuda::nccl_library())};
}

Json without_text(Json rows) {
  for (Json& row : rows) row.erase("text");
  return rows;
}

void show_targets(bool json) {
  if (json) {
    show_json({{"targets", without_text(targets())},
               {"libraries", without_text(libraries())},
               {"ranks", without_text(libraries_of_ranks())}});
    return;
  }
  show(targets(), "text");
  write_stdout("\nlibraries of CUDA:\n");
  show(libraries(), "text");
  write_stdout("\nlibraries of ranks:\n");
  show(libraries_of_ranks(), "text");
}

Json passes() {
  Json rows = Json::array();
  for (const Pass* pass : all_passes()) {
    rows.push_back({{"name", pass->name}, {"summary", pass->summary}, {"options", pass->options}});
  }
  return rows;
}

void add_list(CLI::App& app, Action& action, const std::string& name, const std::string& doc,
              Json (*rows)(), const char* text_field, std::string (*markdown)() = nullptr) {
  CLI::App* verb = app.add_subcommand(name, doc);
  auto json = std::make_shared<bool>(false), as_markdown = std::make_shared<bool>(false);
  CLI::Option* flag = verb->add_flag("--json", *json, "as JSON");
  if (markdown != nullptr)
    verb->add_flag("--markdown", *as_markdown, "the whole reference, as Markdown")->excludes(flag);
  verb->footer(fmt::format("graphc {} --json", name));
  verb->callback([=, &action] {
    action = [=] {
      if (*as_markdown) {
        write_stdout(markdown());
        return 0;
      }
      if (*json) {
        show_json(without_text(rows()));
      } else {
        show(rows(), text_field);
      }
      return 0;
    };
  });
}

}  // namespace

void add_lists(CLI::App& app, Action& action) {
  add_list(app, action, "models", "The models there are, and their parameters", models, "text");
  add_list(app, action, "ops", "The operations of the language", ops, "doc", op_reference);
  add_list(app, action, "passes", "The passes", passes, "summary");
  CLI::App* verb = app.add_subcommand("targets", "What graphs can be compiled for");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "as JSON");
  verb->footer("graphc targets --json");
  verb->callback([=, &action] {
    action = [=] {
      show_targets(*json);
      return 0;
    };
  });
  CLI::App* version = app.add_subcommand("version", "The version");
  version->footer("graphc version");
  version->callback([&action] {
    action = [] {
      write_stdout("graphc " GRAPHC_VERSION "\n");
      return 0;
    };
  });
}

}  // namespace graphc::core::commands
