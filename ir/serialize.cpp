// SPDX-License-Identifier: Apache-2.0
#include "ir/serialize.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <unordered_map>

#include "ir/graph.pb.h"
#include "ir/op.h"
#include "ir/region_depth.h"
#include "ir/spelling.h"
#include "ir/utf8.h"

namespace graphc::core {
namespace {

constexpr size_t kLongestReason = 1000;

// --- writing ---

void write(const Type& type, proto::Type* to) {
  to->set_dtype(std::string(name_of(type.dtype)));
  for (int64_t extent : type.shape) to->add_shape(extent);
}

void write(const std::string& name, const Type& type, proto::Parameter* to) {
  to->set_name(name);
  write(type, to->mutable_type());
}

void write(const std::string& name, const Attribute& value, proto::Attribute* to) {
  struct Writer {
    proto::Attribute* to;
    void operator()(bool value) const { to->set_boolean(value); }
    void operator()(int64_t value) const { to->set_integer(value); }
    void operator()(double value) const { to->set_floating(value); }
    void operator()(const std::string& value) const { to->set_text(value); }
    void operator()(DType value) const { to->set_dtype(std::string(name_of(value))); }
    void operator()(const std::vector<int64_t>& values) const {
      to->mutable_integers()->mutable_values()->Assign(values.begin(), values.end());
    }
    void operator()(const std::vector<double>& values) const {
      to->mutable_floats()->mutable_values()->Assign(values.begin(), values.end());
    }
  };
  to->set_name(name);
  std::visit(Writer{to}, value);
}

class Writer {
 public:
  proto::Module module(const Module& module) {
    message_.set_version(kProtoVersion);
    message_.set_name(module.name);
    for (const auto& [name, type] : module.states) write(name, type, message_.add_states());
    for (const GraphPtr& graph : module.graphs) {
      regions(*graph);
      this->graph(*graph, message_.add_graphs());
    }
    return std::move(message_);
  }

 private:
  void regions(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      for (const GraphPtr& region : node.regions) {
        if (indices_.contains(region.get())) continue;
        regions(*region);
        this->graph(*region, message_.add_regions());
        indices_.emplace(region.get(), message_.regions_size() - 1);
      }
    }
  }

  void graph(const Graph& graph, proto::Graph* to) {
    to->set_name(graph.name());
    for (Value input : graph.inputs()) write(input.name(), input.type(), to->add_inputs());
    for (Value state : graph.states()) write(state.name(), state.type(), to->add_states());
    for (const Node& node : graph.nodes()) {
      if (!node.is(ops::input) && !node.is(ops::state)) this->node(node, to->add_nodes());
    }
    for (Value result : graph.results()) to->add_results(result.name());
    for (const Next& next : graph.next()) {
      proto::Next* message = to->add_next();
      message->set_state(next.state.name());
      message->set_value(next.value.name());
    }
  }

  void node(const Node& node, proto::Node* to) {
    to->set_op(std::string(node.op.name));
    for (const std::string& name : node.names) to->add_names(name);
    for (Value operand : node.operands) to->add_operands(operand.name());
    for (const auto& [name, value] : node.attributes) write(name, value, to->add_attributes());
    for (const GraphPtr& region : node.regions) to->add_regions(indices_.at(region.get()));
    for (const Type& type : node.types) write(type, to->add_types());
    if (!node.where) return;
    to->mutable_location()->set_file(node.where.file);
    to->mutable_location()->set_line(node.where.line);
  }

  proto::Module message_;
  std::unordered_map<const Graph*, int> indices_;
};

// --- reading ---

class Reader {
 public:
  explicit Reader(std::string_view file) : where_{intern_file_name(file), 0, 0} {}

  Error error(const std::string& message) const {
    return input_error({}, "{}", printable(message, kLongestReason)).at(where_);
  }

  /// Every form of protobuf reads an empty file as an empty module or fails without a reason.
  void check_not_empty(std::string_view content) const {
    if (content.find_first_not_of(" \t\r\n") == content.npos) throw error("the file is empty");
  }

  Module module(const proto::Module& message) {
    if (message.version() < 1 || message.version() > kProtoVersion) {
      throw error(fmt::format("the file has version {}: this program reads 1 to {}",
                              message.version(), kProtoVersion));
    }
    Module module;
    module.name = message.name();
    for (const proto::Parameter& state : message.states())
      module.declare(state.name(), type(state.type()), where_);
    for (const proto::Graph& region : message.regions()) {
      regions_.push_back(graph(region));
      check_depth(*regions_.back());
      if (!regions_.back()->states().empty()) throw error("a region has no states");
    }
    for (const proto::Graph& graph : message.graphs()) {
      for (const proto::Parameter& state : graph.states())
        module.declare(state.name(), type(state.type()), where_);
      for (const GraphPtr& other : module.graphs)
        if (other->name() == graph.name())
          throw error(fmt::format("there are two graphs @{}", graph.name()));
      module.graphs.push_back(this->graph(graph));
      check_depth(*module.graphs.back());
    }
    return module;
  }

 private:
  Type type(const proto::Type& message) const {
    const std::optional<DType> dtype = dtype_named(message.dtype());
    if (!dtype) throw error(fmt::format("unknown element type '{}'", message.dtype()));
    try {
      return {*dtype, Shape(std::span(message.shape().data(), size_t(message.shape_size())))};
    } catch (const Error& fault) {
      throw error(fault.message());
    }
  }

  void check_depth(const Graph& graph) {
    try {
      depth_.check(graph);
    } catch (const Error& fault) {
      throw error(fault.message());
    }
  }

  Attribute attribute(const proto::Attribute& message) const {
    switch (message.value_case()) {
      case proto::Attribute::kBoolean:
        return message.boolean();
      case proto::Attribute::kInteger:
        return int64_t{message.integer()};
      case proto::Attribute::kFloating:
        return message.floating();
      case proto::Attribute::kText:
        return message.text();
      case proto::Attribute::kDtype:
        if (const std::optional<DType> dtype = dtype_named(message.dtype())) return *dtype;
        throw error(fmt::format("unknown element type '{}'", message.dtype()));
      case proto::Attribute::kIntegers: {
        const auto& values = message.integers().values();
        return std::vector<int64_t>(values.begin(), values.end());
      }
      case proto::Attribute::kFloats: {
        const auto& values = message.floats().values();
        return std::vector<double>(values.begin(), values.end());
      }
      case proto::Attribute::VALUE_NOT_SET:
        break;
    }
    throw error(fmt::format("attribute '{}' has no value", message.name()));
  }

  Value value(const Graph& graph, const std::string& name) const {
    if (const Value value = graph.find(name)) return value;
    throw error(fmt::format("graph @{}: unknown value %{}", graph.name(), name));
  }

  void undefined(const Graph& graph, const std::string& name) const {
    if (name.empty()) throw error(fmt::format("graph @{}: a value without a name", graph.name()));
    if (graph.find(name))
      throw error(fmt::format("graph @{}: %{} is defined twice", graph.name(), name));
  }

  GraphPtr graph(const proto::Graph& message) {
    auto graph = std::make_unique<Graph>(message.name());
    for (const proto::Parameter& input : message.inputs()) {
      undefined(*graph, input.name());
      graph->input(type(input.type()), input.name());
    }
    for (const proto::Parameter& state : message.states()) {
      undefined(*graph, state.name());
      graph->state(type(state.type()), state.name());
    }
    for (const proto::Node& node : message.nodes()) this->node(*graph, node);
    Values results;
    for (const std::string& name : message.results()) results.push_back(value(*graph, name));
    graph->set_results(std::move(results));
    for (const proto::Next& next : message.next()) {
      try {
        graph->set_next(value(*graph, next.state()), value(*graph, next.value()));
      } catch (const Error& fault) {
        throw error(fault.message());
      }
    }
    return freeze(std::move(graph));
  }

  void node(Graph& graph, const proto::Node& message) {
    const Op* op = find_op(message.op());
    if (op == nullptr || op == &ops::input || op == &ops::state)
      throw error(fmt::format("graph @{}: unknown op '{}'", graph.name(), message.op()));
    Values operands;
    for (const std::string& name : message.operands()) operands.push_back(value(graph, name));
    Attributes attributes;
    for (const proto::Attribute& each : message.attributes())
      attributes.set(each.name(), attribute(each));
    std::vector<GraphPtr> regions;
    for (int index : message.regions()) {
      if (index < 0 || size_t(index) >= regions_.size())
        throw error(fmt::format("graph @{}: '{}' has region {} of {} before it", graph.name(),
                                op->name, index, regions_.size()));
      regions.push_back(regions_[size_t(index)]);
    }
    if (regions.size() != size_t(op == &ops::scan || op == &ops::kernel))
      throw error(
          fmt::format("graph @{}: '{}' with {} regions", graph.name(), op->name, regions.size()));
    std::vector<std::string> names(message.names().begin(), message.names().end());
    for (size_t i = 0; i < names.size(); ++i) {
      undefined(graph, names[i]);
      for (size_t j = 0; j < i; ++j)
        if (names[i] == names[j])
          throw error(fmt::format("graph @{}: %{} is defined twice", graph.name(), names[i]));
    }
    const proto::Location& location = message.location();
    const Where where = location.file().empty()
                            ? Where{}
                            : Where{intern_file_name(location.file()), location.line(), 0};
    add(graph, message, *op, std::move(operands), std::move(attributes), std::move(regions), where,
        std::move(names));
  }

  void add(Graph& graph, const proto::Node& message, const Op& op, Values operands,
           Attributes attributes, std::vector<GraphPtr> regions, Where where,
           std::vector<std::string> names) const {
    const size_t count = names.size();
    const Node* node = nullptr;
    try {
      node = &graph.add(op, std::move(operands), std::move(attributes), std::move(regions), where,
                        std::move(names));
    } catch (const Error& fault) {
      throw error(fault.message());
    }
    if (node->types.size() != count)
      throw error(fmt::format("graph @{}: {} gives {} results: found {} names", graph.name(),
                              op.name, node->types.size(), count));
    if (message.types_size() == 0) return;
    bool same = size_t(message.types_size()) == count;
    for (size_t i = 0; same && i < count; ++i) same = type(message.types(int(i))) == node->types[i];
    if (!same)
      throw error(fmt::format("graph @{}: the types of '{}' are not those of its operands",
                              graph.name(), op.name));
  }

  Where where_;
  std::vector<GraphPtr> regions_;
  RegionDepth depth_;
};

/// Records the first error of protobuf's text parser.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& text) override {
    if (!message.empty()) return;
    message = text;
    where.line = line + 1;
    where.column = int(column) + 1;
  }

  std::string message;
  Where where;
};

/// protobuf writes -0 but reads it as the integer 0; it reads -0.0 correctly. A number ends its
/// line, and a text ends with a quotation mark.
std::string with_signed_zeros(std::string_view json) {
  std::string text;
  for (size_t at = 0; at < json.size();) {
    const size_t newline = std::min(json.find('\n', at), json.size() - 1);
    const std::string_view line = json.substr(at, newline + 1 - at);
    const size_t end = line.find_last_not_of(",\n") + 1;
    text += line.substr(0, end);
    if (line.substr(0, end).ends_with(" -0")) text += ".0";
    text += line.substr(end);
    at = newline + 1;
  }
  return text;
}

}  // namespace

std::string to_proto(const Module& module) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  GRAPHC_CHECK(Writer().module(module).SerializeToCodedStream(&coded), "a module is not written");
  coded.Trim();
  return bytes;
}

std::string to_pbtxt(const Module& module) {
  std::string text;
  GRAPHC_CHECK(google::protobuf::TextFormat::PrintToString(Writer().module(module), &text),
               "a module is not written");
  return "# proto-message: graphc.proto.Module\n" + text;
}

std::string to_json(const Module& module) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string text;
  const auto status =
      google::protobuf::util::MessageToJsonString(Writer().module(module), &text, options);
  GRAPHC_CHECK(status.ok(), "a module is not written: {}", status.ToString());
  return with_signed_zeros(text);
}

Module from_proto(std::string_view bytes, std::string_view file) {
  proto::Module message;
  Reader reader(file);
  reader.check_not_empty(bytes);
  const google::protobuf::LogSilencer silencer;  // the exception reports the fault
  if (bytes.size() > size_t(INT32_MAX) || !message.ParseFromArray(bytes.data(), int(bytes.size())))
    throw reader.error("it is not a module in protobuf's binary form");
  return reader.module(message);
}

Module from_pbtxt(std::string_view text, std::string_view file) {
  text = without_byte_order_mark(text);
  proto::Module message;
  Reader reader(file);
  reader.check_not_empty(text);
  FirstError first;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  if (!parser.ParseFromString(std::string(text), &message)) {
    first.where.file = intern_file_name(file);
    throw input_error(first.where, "{}", printable(first.message, kLongestReason));
  }
  return reader.module(message);
}

Module from_json(std::string_view text, std::string_view file) {
  text = without_byte_order_mark(text);
  proto::Module message;
  Reader reader(file);
  reader.check_not_empty(text);
  const google::protobuf::LogSilencer silencer;
  const google::protobuf::StringPiece piece(text.data(), text.size());
  const auto status = google::protobuf::util::JsonStringToMessage(piece, &message);
  if (!status.ok()) {
    const google::protobuf::StringPiece reason = status.message();
    // The rest is a multi-line excerpt of the input, which may not even be text.
    const std::string_view what(reason.data(), reason.size());
    throw reader.error(fmt::format("it is not a module in protobuf's JSON form: {}",
                                   printable(what.substr(0, what.find('\n')), kLongestReason)));
  }
  return reader.module(message);
}

}  // namespace graphc::core
