// SPDX-License-Identifier: Apache-2.0
#include "models/lstm_layer.h"

#include <array>

#include "frontend/graphc.h"
#include "models/cells.h"
#include "models/random_inputs.h"
#include "models/read_ahead.h"
#include "models/training.h"

namespace graphc::core {
namespace {

constexpr std::array<ParameterRecord, 4> kLstmLayerParameters{{
    {"hidden", "512", "units, and features of the input"},
    {"steps", "30", "time steps"},
    {"batch", "128", "sequences"},
    {"cell", "lstm",
     "lstm, layer-norm-lstm, peephole-lstm, projected-lstm, gru, gru-reset-before or rnn"},
}};

const CellRecord& layer_cell_of(const Parameters& parameters) {
  std::vector<std::string_view> names;
  for (const CellRecord& cell : all_cells()) names.push_back(cell.name);
  return all_cells()[parameters.choice("cell", names)];
}

class LstmLayer : public Program {
 public:
  explicit LstmLayer(const Parameters& parameters)
      : record_(layer_cell_of(parameters)),
        hidden_(parameters.integer("hidden")),
        steps_(parameters.integer("steps")),
        batch_(parameters.integer("batch")),
        model_("lstm_layer"),
        cell_(record_.make(model_, hidden_, hidden_)) {
    model_.graph("train", Mode::training, [this](Inputs& in) {
      Value x = in("x", f32, {"steps", "batch", hidden_});
      Value y = in("y", f32, {"batch", cell_.widths[0]});
      Value loss = mse(last_output(x), y);
      minimize(loss, model_.params(), Sgd{.rate = 0.01});
      // Without the norm of the gradients, which other frameworks' benchmarks do not compute.
      return Results{{"loss", loss}};
    });
    model_.graph("forward", [this](Inputs& in) {
      return last_output(in("x", f32, {"steps", "batch", hidden_}));
    });
  }

  Model& model() override { return model_; }

  Extents extents(std::string_view) const override {
    return {{"steps", steps_}, {"batch", batch_}};
  }

  std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const override {
    std::vector<Tensor> inputs{random_uniform({steps_, batch_, hidden_}, 2 * seed)};
    if (graph == "train") inputs.push_back(random_uniform({batch_, cell_.widths[0]}, 2 * seed + 1));
    return inputs;
  }

  Work work() const override {
    const double calls = double(steps_ * batch_), h = double(hidden_);
    const double input = calls * record_.input_flop(h, h),
                 recurrent = calls * record_.recurrent_flop(h);
    // The input needs no gradient, so its product counts twice, the others three times.
    return {.examples = batch_,
            .forward_flop = input + recurrent,
            .train_flop = 2 * input + 3 * recurrent};
  }

  /// An epoch is a hundred batches: the benchmark defines none.
  void train(Session& session, const TrainOptions& options) const override {
    constexpr int64_t kBatches = 100;
    if (options.data) {
      throw Error(ErrorKind::usage, {},
                  fmt::format("lstm-layer: it trains on random data: there is no use for --data {}",
                              options.data->string()));
    }
    if (options.sample > 0) generate(session, {});  // throws: this model has no text
    Training training(options, 1);
    const uint64_t seed = session.options().seed << 32;
    ReadAhead<std::vector<Tensor>> reader(
        [&, draw = seed + uint64_t(training.position().step)]() mutable {
          return std::optional(random_inputs("train", ++draw));
        });
    while (training.goes_on()) {
      training.begin_epoch(kBatches);
      while (training.in_epoch()) {
        const auto [inputs, made] = reader.next();
        const Outputs results = training.checked([&] { return session.run("train", inputs); });
        training.step({.loss = results["loss"].scalar(), .read = made});
      }
      if (!training.epoch_is_done()) break;
      training.end_epoch({}, {});
    }
    training.end();
  }

 private:
  /// The cell's output after the last step of x [steps, batch, hidden], from zero states.
  Value last_output(Value xs) const {
    std::vector<State> states = zero_states(cell_, xs.shape()[1]);
    scan(xs, [&](Value x) { cell_.step(x, states); });
    return states[0];
  }

  const CellRecord& record_;
  int64_t hidden_, steps_, batch_;
  Model model_;
  Cell cell_;
};

}  // namespace

constinit const ModelRecord lstm_layer_model{
    .name = "lstm-layer",
    .summary = "one recurrent layer on random data, mean squared error of the last output",
    .parameters = kLstmLayerParameters,
    .make = [](Parameters& parameters) -> std::unique_ptr<Program> {
      return std::make_unique<LstmLayer>(parameters);
    },
};

}  // namespace graphc::core
