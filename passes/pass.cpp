// SPDX-License-Identifier: Apache-2.0
#include "passes/pass.h"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "ir/text.h"
#include "ir/unfolded.h"
#include "ir/verify.h"

namespace graphc::core {
namespace {

template <typename... Args>
Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::usage, {}, fmt::format(format, std::forward<Args>(args)...));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void write_graph(const std::filesystem::path& path, const Graph& graph) {
  std::ofstream file(path);
  file << print(graph);
  file.close();
  if (!file) throw resource_error("cannot write {}", path.string());
}

}  // namespace

PassOptions::PassOptions(std::string_view text) {
  while (!trimmed(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = trimmed(text.substr(0, comma));
    const size_t sign = entry.find('=');
    const std::string_view name = trimmed(entry.substr(0, sign));
    const std::string_view value =
        sign == std::string_view::npos ? "true" : trimmed(entry.substr(sign + 1));
    if (name.empty() || value.empty())
      throw usage_error("an option is name=value: found '{}'", entry);
    set(std::string(name), std::string(value));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

void PassOptions::set(std::string name, std::string value) {
  for (auto& [known, old] : entries_) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::move(name), std::move(value));
}

const std::string* PassOptions::find(std::string_view name) const {
  for (const auto& [known, value] : entries_) {
    if (known == name) return &value;
  }
  return nullptr;
}

int64_t PassOptions::get_int(std::string_view name, int64_t otherwise) const {
  const std::string* text = find(name);
  if (text == nullptr) return otherwise;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size())
    throw usage_error("option '{}' is a whole number: found '{}'", name, *text);
  return value;
}

bool PassOptions::get_bool(std::string_view name, bool otherwise) const {
  const std::string* text = find(name);
  if (text == nullptr) return otherwise;
  if (*text != "true" && *text != "false")
    throw usage_error("option '{}' is true or false: found '{}'", name, *text);
  return *text == "true";
}

std::string PassOptions::get_string(std::string_view name, std::string_view otherwise) const {
  const std::string* text = find(name);
  return text == nullptr ? std::string(otherwise) : *text;
}

std::vector<std::string> PassOptions::get_list(std::string_view name) const {
  const std::string* text = find(name);
  std::vector<std::string> parts;
  if (text == nullptr) return parts;
  for (size_t start = 0; start <= text->size();) {
    const size_t end = std::min(text->find('+', start), text->size());
    parts.push_back(text->substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::string PassOptions::to_text() const {
  std::string text;
  for (const auto& [name, value] : entries_)
    text += fmt::format("{}{}={}", text.empty() ? "{" : ",", name, value);
  return text.empty() ? text : text + "}";
}

void Remarks::add(const Node& node, std::string text) {
  const std::string name = node.names.empty() ? "" : node.names[0];
  put({pass_, name, node.where, std::move(text)});
}

void Remarks::notify(const Node& node, std::string text) {
  const std::string name = node.names.empty() ? "" : node.names[0];
  put({pass_, name, node.where, std::move(text), true});
}

void Remarks::add(std::string text) { put({pass_, "", {}, std::move(text)}); }

void Remarks::put(Remark remark) {
  const bool is_new = said_
                          .insert(fmt::format("{}\n{}\n{}:{}\n{}", remark.pass, remark.node,
                                              remark.where.line, remark.where.column, remark.text))
                          .second;
  if (is_new) remarks_.push_back(std::move(remark));
}

PipelineResult run_pipeline(const GraphPtr& graph, const Pipeline& pipeline,
                            const PipelineSettings& settings) {
  check_unfolded(*graph);
  PipelineResult result;
  result.graph = graph;
  for (size_t i = 0; i < pipeline.size(); ++i) {
    const PassUse& use = pipeline[i];
    result.remarks.set_pass(use.pass->name);
    const GraphPtr before = result.graph;
    try {
      const auto start = std::chrono::steady_clock::now();
      result.graph = use.pass->run(before, use.options, result.remarks);
      result.times.push_back({use.pass->name, seconds_since(start)});
      if (settings.verify && result.graph != before) {
        const auto verify_start = std::chrono::steady_clock::now();
        verify(*result.graph);
        result.verify_seconds += seconds_since(verify_start);
      }
    } catch (Error& error) {
      if (error.kind() != ErrorKind::internal) throw;
      throw error.note(fmt::format("pass '{}{}' broke graph '{}'", use.pass->name,
                                   use.options.to_text(), before->name()));
    }
    if (settings.after_pass) settings.after_pass(i, use, before, result.graph);
  }
  return result;
}

std::function<void(size_t, const PassUse&, const GraphPtr&, const GraphPtr&)> dump_to(
    std::string directory) {
  return [directory = std::move(directory)](size_t position, const PassUse& use,
                                            const GraphPtr& before, const GraphPtr& after) {
    const std::filesystem::path folder(directory);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw resource_error("cannot make folder {}: {}", directory, error.message());
    if (position == 0) write_graph(folder / "00-input.graph", *before);
    write_graph(folder / fmt::format("{:02}-{}.graph", position + 1, use.pass->name), *after);
  };
}

}  // namespace graphc::core
