// SPDX-License-Identifier: Apache-2.0
// The cells of cell-layer against NumPy in f64 (tests/golden/generate_cells.py): outputs, last
// states, and derivatives by every argument, for one step and many, closed gates, and decays
// that leave nothing.
#include "models/stream_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "frontend/graphc.h"
#include "tests/testing/golden.h"
#include "tests/testing/golden_numbers.h"

namespace graphc::core {
namespace {

/// The generator's next array, of numbers from `low` on, below `high`.
Literal cell_array(testing::GoldenNumbers& numbers, const Shape& shape, double low, double high) {
  Literal result(Type{DType::f32, shape});
  for (float& x : result.mutable_data<float>())
    x = float(low + (high - low) * (double(numbers.bits()) / 1024));
  return result;
}

struct Range {
  double low, high;
};
constexpr Range kShut{-40, -30}, kOpen{20, 40};

/// Where the generator draws an argument from, if not from [-1, 1) or the stream's own range.
const std::map<std::string, Range>& ranges() {
  static const std::map<std::string, Range> all{
      {"gated-delta closed g", {0, 0}},
      {"gated-delta closed beta", {0, 0}},
      {"gated-delta large g", {20, 100}},
      {"gated-delta large beta", {0.9, 1}},
      {"selective-scan closed delta", kShut},
      {"selective-scan large delta", kOpen},
      {"mlstm plain f", {-1, 1}},
      {"mlstm closed i", kShut},
      {"mlstm closed f", kShut},
      {"mlstm large i", kOpen},
      {"mlstm large f", {-5, 40}},
      {"slstm closed x", kShut},
      {"slstm large x", {-20, 40}},
      {"slstm u", {-0.5, 0.5}},
      {"slstm n0", {0.5, 1.5}},
      {"rwkv7 closed w", {0, 0}},
      {"rwkv7 closed a", {0, 0}},
      {"rwkv7 closed b", {0, 0}},
      {"rwkv7 large w", {-100, -20}},
      {"rg-lru closed r", kShut},
      {"rg-lru closed i", kShut},
      {"rg-lru large r", kOpen},
      {"rg-lru large i", kOpen},
      {"rg-lru l", {-4, 1}},
      {"min-gru closed z", kShut},
      {"min-gru large z", kOpen},
      {"attention-decoder closed x", kShut},
      {"attention-decoder large x", kOpen},
      {"attention-decoder w_h", {-0.5, 0.5}},
      {"attention-decoder w", {-0.5, 0.5}},
      {"attention-decoder u", {-0.5, 0.5}},
      {"attention-decoder b", {-0.5, 0.5}},
  };
  return all;
}

constexpr const char* kRegimes[] = {"plain", "closed", "large"};

/// A cell at small, odd extents, in a model whose graph `f` has the arguments and the arrays r as
/// inputs and returns what the golden file has, in its order.
class GoldenStreamCell {
 public:
  explicit GoldenStreamCell(size_t index)
      : index_(index), record_(all_stream_cells()[index]), model_("m"), cell_(make()) {
    model_.graph("f", [this](Inputs& in) { return graph(in); });
  }

  const Model& model() const { return model_; }

  /// What differs most from the golden file's arrays, relative to the largest element: its name and
  /// by how much.
  std::pair<std::string, double> worst(const SessionOptions& options, size_t regime,
                                       int64_t steps) {
    testing::GoldenNumbers numbers(((index_ * 10) + regime) * 100 + uint64_t(steps));
    std::vector<Literal> inputs, parameters;
    const auto draw = [&](const std::string& name, const Shape& shape, Range own) {
      for (const std::string& key : {fmt::format("{} {} {}", record_.name, kRegimes[regime], name),
                                     fmt::format("{} {}", record_.name, name)}) {
        if (const auto found = ranges().find(key); found != ranges().end()) {
          own = found->second;
          break;
        }
      }
      return cell_array(numbers, shape, own.low, own.high);
    };
    for (const CellInput& input : cell_.streams)
      inputs.push_back(draw(input.name, input.shape.insert(0, steps), {input.low, input.high}));
    for (const CellInput& input : cell_.fixed)
      inputs.push_back(draw(input.name, input.shape, {-1, 1}));
    for (const Param& param : model_.params())
      parameters.push_back(draw(param.name(), param.shape(), {-1, 1}));
    for (const BlockState& state : cell_.states) {
      inputs.push_back(draw(state.name + "0", state.shape, {-1, 1}));
      if (regime > 0 && state.start != 0) {
        for (float& x : inputs.back().mutable_data<float>()) x = float(state.start);
      }
    }
    inputs.push_back(cell_array(numbers, emit_shape().insert(0, steps), -1, 1));
    for (const BlockState& state : cell_.states)
      inputs.push_back(cell_array(numbers, state.shape, -1, 1));

    Session session(model_, options);
    const DType dtype = options.compile.precision == Precision::f64 ? DType::f64 : DType::f32;
    for (size_t i = 0; i < parameters.size(); ++i)
      session.set_state(model_.params()[i].name(), parameters[i].converted(dtype));
    std::vector<Tensor> given;
    for (const Literal& input : inputs) given.push_back(input.converted(dtype));
    return compare(session.run("f", given), regime, steps);
  }

 private:
  StreamCell make() {
    CellExtents extents{
        .batch = 2, .heads = 2, .key = 5, .value = 3, .hidden = 7, .state = 3, .memory = 4};
    if (record_.name == "slstm") extents.hidden = 6;
    return record_.make(model_, extents);
  }

  /// The output of one step.
  Shape emit_shape() const {
    if (record_.name == "slstm") return cell_.states[0].shape;
    const bool headed = cell_.states[0].shape.rank() == 3 && record_.name != "selective-scan";
    return headed ? Shape{4, 3} : Shape{2, 7};
  }

  Results graph(Inputs& in) {
    const auto input = [&](const std::string& name, const Shape& shape, bool stream) {
      std::vector<Dim> dims(shape.begin(), shape.end());
      if (stream) dims.insert(dims.begin(), "steps");
      return in(name, DType::f32, dims);
    };
    Values streams, fixed, leaves;
    std::vector<State> states;
    for (const CellInput& stream : cell_.streams)
      streams.push_back(input(stream.name, stream.shape, true));
    for (const CellInput& one : cell_.fixed) fixed.push_back(input(one.name, one.shape, false));
    leaves = streams;
    leaves.insert(leaves.end(), fixed.begin(), fixed.end());
    Values initial;
    for (const BlockState& state : cell_.states) {
      initial.push_back(input(state.name + "0", state.shape, false));
      states.emplace_back(initial.back(), state.name);
    }
    const Value y = scan(streams, [&](const Values& x) { return cell_.step(x, fixed, states); });
    Value loss = sum(y * input("r.y", emit_shape(), true));
    Values results{y};
    for (const State& state : states) {
      loss = loss + sum(state * input("r." + state.name(), state.shape(), false));
      results.push_back(state);
    }
    for (const Param& param : model_.params()) leaves.push_back(param);
    leaves.insert(leaves.end(), initial.begin(), initial.end());
    for (const Value d : gradients(loss, leaves)) results.push_back(d);
    return results;
  }

  /// The names of the graph's results, as the golden file has them.
  std::vector<std::string> names() const {
    std::vector<std::string> all{"y"};
    for (const BlockState& state : cell_.states) all.push_back(state.name + "_end");
    for (const CellInput& stream : cell_.streams) all.push_back("grad." + stream.name);
    for (const CellInput& one : cell_.fixed) all.push_back("grad." + one.name);
    for (const Param& param : model_.params()) all.push_back("grad." + param.name());
    for (const BlockState& state : cell_.states) all.push_back("grad." + state.name + "0");
    return all;
  }

  std::pair<std::string, double> compare(const Outputs& outputs, size_t regime, int64_t steps) {
    const uint64_t seed = ((index_ * 10) + regime) * 100 + uint64_t(steps);
    const auto& arrays = golden();
    std::pair<std::string, double> worst{"", 0};
    size_t stored = 0, compared = 0;
    const std::vector<std::string> all = names();
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string name = fmt::format("{}.{}.{}", kRegimes[regime], steps, all[i]);
      const auto wanted = arrays.find(name);
      // By a state that starts at -infinity there is no derivative.
      if (wanted == arrays.end()) continue;
      ++compared;
      // By a gate that is wide open a derivative is the rounding of 1 - sigmoid.
      const double least = std::string_view(kRegimes[regime]) == "large" ? 1 : 1e-12;
      const double error =
          difference(outputs[i].literal(), wanted->second, seed * 100 + stored++, least);
      if (!(error <= worst.second)) worst = {name, error};
    }
    EXPECT_GE(compared + 1, all.size()) << record_.name;
    return worst;
  }

  /// The largest difference relative to the largest element, of products with directions to the
  /// root of the elements times it.
  static double difference(const Literal& found, const Literal& wanted, uint64_t seed,
                           double least) {
    double scale = least, largest = 0;
    for (int64_t k = 0; k < found.elements(); ++k)
      scale = std::max(scale, std::abs(found.element(k)));
    const auto differ = [&](double a, double b) {
      const double error = std::abs(a - b);
      if (!(error <= largest)) largest = error;
    };
    if (found.elements() <= testing::kGoldenWhole) {
      EXPECT_EQ(found.shape(), wanted.shape());
      if (found.shape() != wanted.shape()) return HUGE_VAL;
      for (int64_t k = 0; k < found.elements(); ++k) {
        scale = std::max(scale, std::abs(wanted.element(k)));
        differ(found.element(k), wanted.element(k));
      }
      return largest / scale;
    }
    const std::vector<double> products = testing::golden_products(found, seed);
    for (size_t k = 0; k < products.size(); ++k) differ(products[k], wanted.element(int64_t(k)));
    return largest / (scale * std::sqrt(double(found.elements())));
  }

  const std::map<std::string, Literal>& golden() {
    if (arrays_.empty()) {
      std::string file = fmt::format("cell_{}", record_.name);
      std::ranges::replace(file, '-', '_');
      arrays_ = testing::golden_arrays(file);
    }
    return arrays_;
  }

  size_t index_;
  const StreamCellRecord& record_;
  Model model_;
  StreamCell cell_;
  std::map<std::string, Literal> arrays_;
};

class StreamCells : public ::testing::TestWithParam<size_t> {
 protected:
  /// Every regime and number of steps: an error of `tolerance` at most, or of a few times the
  /// evaluator's in the same precision where a cell is ill conditioned.
  void expect_golden(const char* target, Precision precision, double tolerance) {
    GoldenStreamCell golden(GetParam());
    const auto options = [&](const char* name) {
      SessionOptions chosen{.target = name};
      chosen.compile.precision = precision;
      chosen.compile.threads = 2;
      return chosen;
    };
    for (size_t regime = 0; regime < std::size(kRegimes); ++regime) {
      for (int64_t steps : {1, 7, 64}) {
        const auto [name, error] = golden.worst(options(target), regime, steps);
        if (error <= tolerance) continue;
        const double rounded = golden.worst(options("reference"), regime, steps).second;
        EXPECT_LE(error, 4 * rounded) << name << " on " << target;
        EXPECT_NE(std::string_view(target), "reference") << name;
      }
    }
  }
};

TEST_P(StreamCells, AreNumPys) { expect_golden("reference", Precision::f64, 1e-11); }

class StreamCellsCpu : public StreamCells {};

TEST_P(StreamCellsCpu, AreNumPys) { expect_golden("cpu", Precision::f32, 2e-5); }

std::string cell_name(const ::testing::TestParamInfo<size_t>& info) {
  std::string name(all_stream_cells()[info.param].name);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Golden, StreamCellsCpu,
                         ::testing::Range<size_t>(0, all_stream_cells().size()), cell_name);
INSTANTIATE_TEST_SUITE_P(Golden, StreamCells,
                         ::testing::Range<size_t>(0, all_stream_cells().size()), cell_name);

}  // namespace
}  // namespace graphc::core
