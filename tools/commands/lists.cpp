// SPDX-License-Identifier: Apache-2.0
// graphc models | ops | targets | passes | version: what there is.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "codegen/target.h"
#include "ir/op.h"
#include "models/registry.h"
#include "passes/passes.h"
#include "tools/commands/commands.h"
#include "tools/commands/op_reference.h"

namespace graphc::commands {
namespace {

using Json = nlohmann::ordered_json;

/// Rows of named fields: as JSON, or as lines "name  text" with the names in one column.
void show(const Json& rows, const char* text_field, bool json) {
  if (json) {
    write_stdout(rows.dump(2) + "\n");
    return;
  }
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
                    {"precisions", target->precisions},
                    {"available", reason.empty()}});
    if (!reason.empty()) rows.back()["reason"] = reason;
    rows.back()["text"] = fmt::format("{} ({})", target->summary,
                                      reason.empty() ? "can run here" : "cannot run: " + reason);
  }
  return rows;
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
      Json list = rows();
      if (*json) {
        for (Json& row : list) row.erase("text");
      }
      show(list, text_field, *json);
      return 0;
    };
  });
}

}  // namespace

void add_lists(CLI::App& app, Action& action) {
  add_list(app, action, "models", "The models there are, and their parameters", models, "text");
  add_list(app, action, "ops", "The operations of the language", ops, "doc", op_reference);
  add_list(app, action, "passes", "The passes", passes, "summary");
  add_list(app, action, "targets", "What graphs can be compiled for", targets, "text");
  CLI::App* version = app.add_subcommand("version", "The version");
  version->footer("graphc version");
  version->callback([&action] {
    action = [] {
      write_stdout("graphc " GRAPHC_VERSION "\n");
      return 0;
    };
  });
}

}  // namespace graphc::commands
