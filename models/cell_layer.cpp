// SPDX-License-Identifier: Apache-2.0
#include "models/cell_layer.h"

#include <array>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "models/stream_cells.h"

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 10> kCellLayerParameters{{
    {"cell", "gated-delta",
     "gated-delta, selective-scan, mlstm, slstm, rwkv7, rg-lru, min-gru or attention-decoder"},
    {"size", "small", "small, medium, long or test; the others follow it and the cell"},
    {"steps", "", "time steps"},
    {"batch", "", "sequences"},
    {"heads", "", "heads of a sequence; 1 where the cell has none"},
    {"key", "", "K, elements of a key; this and the next are 0 where the cell has none"},
    {"value", "", "V, elements of a value"},
    {"hidden", "", "units or channels, of all heads"},
    {"state", "", "N, numbers of a channel of selective-scan"},
    {"memory", "", "rows that attention-decoder attends to"},
}};

constexpr std::array<std::string_view, 4> kSizes{"small", "medium", "long", "test"};
constexpr std::array<const char*, 4> kSteps{"128", "512", "4096", "5"};

/// The extent of a cell that has it, by size.
struct ExtentOfSize {
  const char* name;
  int64_t CellExtents::* extent;
  std::array<const char*, 4> values;
  const char* none;  ///< in a cell that does not
};
constexpr ExtentOfSize kExtents[] = {
    {"heads", &CellExtents::heads, {"8", "32", "32", "2"}, "1"},
    {"key", &CellExtents::key, {"64", "128", "128", "5"}, "0"},
    {"value", &CellExtents::value, {"64", "128", "128", "3"}, "0"},
    {"hidden", &CellExtents::hidden, {"512", "512", "512", "6"}, "0"},
    {"state", &CellExtents::state, {"16", "16", "16", "3"}, "0"},
    {"memory", &CellExtents::memory, {"50", "50", "50", "4"}, "0"},
};

bool has(const StreamCellRecord& cell, std::string_view extent) {
  return (" " + std::string(cell.extents) + " ").find(fmt::format(" {} ", extent)) !=
         std::string::npos;
}

/// The value that an extent has if none is given.
const char* default_of(const StreamCellRecord& cell, const ExtentOfSize& extent, size_t size) {
  if (!has(cell, extent.name)) return extent.none;
  if (kSizes[size] == "test") return extent.values[size];
  const std::string_view name = extent.name;
  if (cell.name == "selective-scan" && name == "hidden") return "1024";
  if (cell.name == "slstm" && name == "heads") return "4";
  return extent.values[size];
}

/// One sequence of cells with a matrix a head; 4 of selective-scan; 16 of the others.
const char* default_batch(const StreamCellRecord& cell, size_t size) {
  if (kSizes[size] == "test") return "2";
  if (has(cell, "key")) return "1";
  return cell.name == "selective-scan" ? "4" : "16";
}

const StreamCellRecord& cell_of(const Parameters& parameters) {
  std::vector<std::string_view> names;
  for (const StreamCellRecord& cell : all_stream_cells()) names.push_back(cell.name);
  return all_stream_cells()[parameters.choice("cell", names)];
}

/// Completes the parameters. Throws ErrorKind::usage for an extent that the cell does not have.
CellExtents extents_of(Parameters& parameters) {
  const StreamCellRecord& cell = cell_of(parameters);
  const size_t size = parameters.choice("size", kSizes);
  parameters.set_default("steps", kSteps[size]);
  parameters.set_default("batch", default_batch(cell, size));
  CellExtents extents{.batch = parameters.integer("batch")};
  for (const ExtentOfSize& extent : kExtents) {
    parameters.set_default(extent.name, default_of(cell, extent, size));
    if (!has(cell, extent.name) && parameters.text(extent.name) != extent.none) {
      throw Error(ErrorKind::usage, {},
                  fmt::format("cell-layer cell={}: it has no parameter '{}': found '{}'", cell.name,
                              extent.name, parameters.text(extent.name)));
    }
    extents.*extent.extent =
        has(cell, extent.name) ? parameters.integer(extent.name) : std::stoll(extent.none);
  }
  return extents;
}

class CellLayer : public Program {
 public:
  explicit CellLayer(Parameters& parameters)
      : extents_(extents_of(parameters)),
        steps_(parameters.integer("steps")),
        model_("cell_layer"),
        cell_(cell_of(parameters).make(model_, extents_)) {
    // Not Mode::training: it gives no state a value, which would be remarked on.
    model_.graph("train", [this](Inputs& in) {
      const Given given = inputs(in);
      Values leaves = given.streams;
      leaves.insert(leaves.end(), given.fixed.begin(), given.fixed.end());
      for (const Param& param : model_.params()) leaves.push_back(param);
      const Value loss = mean(square(emits(given)));
      Results results(gradients(loss, leaves));
      for (const CellInput* input : all_inputs()) results.names.push_back("d." + input->name);
      for (const Param& param : model_.params()) results.names.push_back("d." + param.name());
      results.values.insert(results.values.begin(), loss);
      results.names.insert(results.names.begin(), "loss");
      return results;
    });
    model_.graph("forward", [this](Inputs& in) { return emits(inputs(in)); });
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view) const override { return {{"steps", steps_}}; }

  std::vector<Tensor> random_inputs(std::string_view, uint64_t seed) const override {
    std::vector<Tensor> drawn;
    for (const CellInput* input : all_inputs()) {
      const bool stream = drawn.size() < cell_.streams.size();
      drawn.push_back(random_uniform(stream ? input->shape.insert(0, steps_) : input->shape,
                                     seed * all_inputs().size() + drawn.size()));
      for (float& x : drawn.back().mutable_data<float>())
        x = float(input->low + (input->high - input->low) * double(x));
    }
    return drawn;
  }

  /// Training counts three times: forward, and two derivatives of each product.
  Work work() const override {
    const double forward = double(steps_) * cell_.flop;
    return {.examples = extents_.batch, .forward_flop = forward, .train_flop = 3 * forward};
  }

  void train(Session&, const TrainOptions&) const override {
    throw Error(ErrorKind::usage, {},
                "cell-layer: it has gradients and no update, so there is nothing to train: wanted "
                "graphc-bench or graphc dump, or graphc train char-lm cell=...");
  }

 private:
  struct Given {
    Values streams, fixed;
  };

  /// The streams, then the fixed inputs.
  std::vector<const CellInput*> all_inputs() const {
    std::vector<const CellInput*> all;
    for (const CellInput& input : cell_.streams) all.push_back(&input);
    for (const CellInput& input : cell_.fixed) all.push_back(&input);
    return all;
  }

  Given inputs(Inputs& in) const {
    Given given;
    for (const CellInput* input : all_inputs()) {
      const bool stream = given.streams.size() < cell_.streams.size();
      std::vector<Dim> dims(input->shape.begin(), input->shape.end());
      if (stream) dims.insert(dims.begin(), "steps");
      (stream ? given.streams : given.fixed).push_back(in(input->name, DType::f32, dims));
    }
    return given;
  }

  /// The output of every step, from the first states.
  Value emits(const Given& given) const {
    std::vector<State> states = first_states(cell_);
    return scan(given.streams, [&](const Values& x) { return cell_.step(x, given.fixed, states); });
  }

  CellExtents extents_;
  int64_t steps_;
  Model model_;
  StreamCell cell_;
};

}  // namespace

constinit const ModelRecord cell_layer_model{
    .name = "cell-layer",
    .summary =
        "a cell with a matrix, heads or a memory on random streams; its gradients, no update",
    .parameters = kCellLayerParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<CellLayer>(parameters);
    },
};

}  // namespace graphc::core
