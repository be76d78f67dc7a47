// SPDX-License-Identifier: Apache-2.0
// Every number of an option, of an optimizer, a schedule, an initialiser, with numbers that are
// absurd: each is an error at the user's line that names the option and what was found, or it is
// one that the option may be. The structs of the headers are read, so that an option that comes to
// them without its bounds here fails.
#include <gmock/gmock.h>

#include <cmath>
#include <regex>
#include <set>

#include "frontend/graphc.h"
#include "tests/testing/counts.h"
#include "tests/testing/source_tree.h"

namespace graphc::core {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = HUGE_VAL;

/// A model and a session for what wants one.
struct Small {
  Model model{"small"};
  Param w = model.param("w", {2}, constant(1));
  Session session{model, {.target = "reference", .announce = [](const std::string&) {}}};

  /// Traces a graph that minimises with the optimizer.
  template <typename Optimizer>
  void train(const Optimizer& optimizer, const GroupOptions& group = {}) {
    model.graph("train", Mode::training, [&](Inputs&) {
      const Value loss = sum(square(w));
      minimize(loss, {{{w}, optimizer}}, group);
      return loss;
    });
    model.trace("train", Extents{});
  }
  void compute(const std::function<Value(Value)>& body) {
    model.graph("compute", Mode::training, [&](Inputs& in) { return body(in("x", f32, {4})); });
    model.trace("compute", Extents{});
  }
  void fit_with(const std::function<void(FitOptions&)>& change) {
    model.graph("train", Mode::training,
                [&](Inputs& in) { return sum(in("x", f32, {"n"}) * at(w, 0)); });
    FitOptions options{.epochs = 1, .samples = 2};
    options.inputs = [](std::span<const int64_t> samples) {
      return std::vector<Data>{Data(std::vector<float>(samples.size(), 1))};
    };
    options.validate = [] { return 1.0; };
    options.progress = false;
    change(options);
    fit(session, options);
  }
};

/// A number that users give: what it is called, which of the numbers tried it may be.
struct Given {
  std::string owner, option;
  std::function<bool(double)> may_be;
  std::function<void(double)> give;
  bool is_whole = false;
};

bool from_zero(double x) { return x >= 0 && x < kInf; }
bool above_zero(double x) { return x > 0 && x < kInf; }
bool share(double x) { return x >= 0 && x < 1; }
bool finite(double x) { return std::isfinite(x); }

template <typename Optimizer>
void add_optimizer(std::vector<Given>& all, const char* owner) {
  const auto add = [&](const char* option, auto may_be, auto set) {
    all.push_back({owner, option, may_be, [set](double x) {
                     Optimizer optimizer;
                     set(optimizer, x);
                     Small().train(optimizer);
                   }});
  };
  add("rate", from_zero, [](Optimizer& o, double x) { o.rate = x; });
  add("clip_norm", above_zero, [](Optimizer& o, double x) { o.clip_norm = x; });
  add("clip_value", above_zero, [](Optimizer& o, double x) { o.clip_value = x; });
  add("weight_decay", from_zero, [](Optimizer& o, double x) { o.weight_decay = x; });
  if constexpr (requires(Optimizer o) { o.momentum; })
    add("momentum", share, [](Optimizer& o, double x) { o.momentum = x; });
  if constexpr (requires(Optimizer o) { o.decay; })
    add("decay", share, [](Optimizer& o, double x) { o.decay = x; });
  if constexpr (requires(Optimizer o) { o.epsilon; })
    add("epsilon", from_zero, [](Optimizer& o, double x) { o.epsilon = x; });
  if constexpr (requires(Optimizer o) { o.beta1; }) {
    add("beta1", share, [](Optimizer& o, double x) { o.beta1 = x; });
    add("beta2", share, [](Optimizer& o, double x) { o.beta2 = x; });
  }
}

void add_optimizers(std::vector<Given>& all) {
  add_optimizer<Sgd>(all, "Sgd");
  add_optimizer<Momentum>(all, "Momentum");
  add_optimizer<Rmsprop>(all, "Rmsprop");
  add_optimizer<Adagrad>(all, "Adagrad");
  add_optimizer<Adam>(all, "Adam");
  all.push_back({"GroupOptions", "clip_norm", above_zero,
                 [](double x) { Small().train(Sgd{}, {.clip_norm = x}); }});
  all.push_back({"GroupOptions", "clip_value", above_zero,
                 [](double x) { Small().train(Sgd{}, {.clip_value = x}); }});
}

void add_schedules(std::vector<Given>& all) {
  const auto plateau = [&](const char* option, auto may_be, auto set, bool whole = false) {
    all.push_back({"PlateauOptions", option, may_be,
                   [set](double x) {
                     Small small;
                     PlateauOptions options;
                     set(options, x);
                     const Plateau made(small.session, 1e300, options);
                   },
                   whole});
  };
  plateau(
      "factor", [](double x) { return x > 0 && x < 1; },
      [](PlateauOptions& o, double x) { o.factor = x; });
  plateau("threshold", share, [](PlateauOptions& o, double x) { o.threshold = x; });
  plateau("lowest", from_zero, [](PlateauOptions& o, double x) { o.lowest = x; });
  plateau("patience", from_zero, [](PlateauOptions& o, double x) { o.patience = int(x); }, true);
  plateau("cooldown", from_zero, [](PlateauOptions& o, double x) { o.cooldown = int(x); }, true);
  const auto add = [&](const char* owner, const char* option, auto may_be, auto give) {
    all.push_back({owner, option, may_be, give});
  };
  add("Plateau", "rate", above_zero, [](double x) {
    Small small;
    const Plateau made(small.session, x);
  });
  const auto in_graph = [](auto body) {
    return [body](double x) { Small().compute([&](Value v) { return body(v, x); }); };
  };
  add("step_decay", "rate", from_zero,
      in_graph([](Value v, double x) { return step_decay(v, x, 1, 1); }));
  add("step_decay", "every", above_zero,
      in_graph([](Value v, double x) { return step_decay(v, 1, x, 1); }));
  add("step_decay", "factor", above_zero,
      in_graph([](Value v, double x) { return step_decay(v, 1, 1, x); }));
  add("exponential_decay", "every", above_zero,
      in_graph([](Value v, double x) { return exponential_decay(v, 1, x, 1); }));
  add("exponential_decay", "factor", above_zero,
      in_graph([](Value v, double x) { return exponential_decay(v, 1, 1, x); }));
  add("cosine_decay", "steps", above_zero,
      in_graph([](Value v, double x) { return cosine_decay(v, 1, x); }));
  add("cosine_decay", "lowest", from_zero,
      in_graph([](Value v, double x) { return cosine_decay(v, 1, 1, x); }));
  add("layer_norm", "epsilon", from_zero,
      in_graph([](Value v, double x) { return layer_norm(v, x); }));
  add("clip_by_global_norm", "limit", above_zero,
      in_graph([](Value v, double x) { return clip_by_global_norm({v}, x)[0]; }));
  add("clip_by_norm", "limit", above_zero,
      in_graph([](Value v, double x) { return clip_by_norm({v}, x)[0]; }));
  add("clip_by_value", "limit", above_zero,
      in_graph([](Value v, double x) { return clip_by_value({v}, x)[0]; }));
  add("DropoutShare", "rate", share,
      in_graph([](Value v, double x) { return dropout(v, {.rate = x}); }));
  add(
      "DropoutShare", "keep", [](double x) { return x > 0 && x <= 1; },
      in_graph([](Value v, double x) { return dropout(v, {.keep = x}); }));
}

void add_initializers(std::vector<Given>& all) {
  all.push_back({"uniform", "limit", from_zero, [](double x) { uniform(x); }});
  all.push_back({"normal", "deviation", from_zero, [](double x) { normal(x); }});
  all.push_back({"orthogonal", "gain", finite, [](double x) { orthogonal(x); }});
  all.push_back({"Lstm", "forget_bias", finite, [](double x) {
                   Small small;
                   const Lstm made(small.model, "lstm", 2, 2, glorot_uniform(), x);
                 }});
}

void add_fit(std::vector<Given>& all) {
  const auto fitted = [&](const char* option, auto may_be, auto set, bool whole = false) {
    all.push_back({"FitOptions", option, may_be,
                   [set](double x) { Small().fit_with([&](FitOptions& o) { set(o, x); }); },
                   whole});
  };
  const auto at_least_one = [](double x) { return x >= 1; };
  fitted("threshold", share, [](FitOptions& o, double x) { o.threshold = x; });
  fitted("epochs", from_zero, [](FitOptions& o, double x) { o.epochs = int64_t(x); }, true);
  fitted("samples", at_least_one, [](FitOptions& o, double x) { o.samples = int64_t(x); }, true);
  fitted("batch", at_least_one, [](FitOptions& o, double x) { o.batch = int64_t(x); }, true);
  fitted("patience", from_zero, [](FitOptions& o, double x) { o.patience = int64_t(x); }, true);
  fitted(
      "checkpoint_every", [](double x) { return x == 0; },
      [](FitOptions& o, double x) { o.checkpoint_every = int64_t(x); }, true);
  all.push_back({"EarlyStoppingOptions", "threshold", share, [](double x) {
                   Small small;
                   const EarlyStopping made(small.session, {.threshold = x});
                 }});
  all.push_back({"EarlyStoppingOptions", "patience", at_least_one,
                 [](double x) {
                   Small small;
                   const EarlyStopping made(small.session, {.patience = int64_t(x)});
                 },
                 true});
  all.push_back({"BestCheckpointOptions", "threshold", share, [](double x) {
                   Small small;
                   const BestCheckpoint made(small.session, "best", {.threshold = x});
                 }});
}

std::vector<Given> all_given() {
  std::vector<Given> all;
  add_optimizers(all);
  add_schedules(all);
  add_initializers(all);
  add_fit(all);
  return all;
}

/// The error of a number, whose line is in this file; nothing where there is none.
std::optional<std::string> refusal(const Given& given, double number, const std::string& what) {
  try {
    given.give(number);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << what << ": " << error.what();
    EXPECT_THAT(error.where().file == nullptr ? "" : error.where().file,
                HasSubstr("bounds_test.cpp"))
        << what << ": " << error.what();
    return error.message();
  }
}

TEST(Bounds, AnAbsurdNumberIsAnErrorThatNamesItAtTheUsersLine) {
  for (const Given& given : all_given()) {
    for (const double number : {std::nan(""), kInf, -kInf, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 2.0}) {
      if (given.is_whole && (!std::isfinite(number) || number != std::floor(number))) continue;
      const std::string what = fmt::format("{} {} = {}", given.owner, given.option, number);
      const std::optional<std::string> found = refusal(given, number, what);
      EXPECT_EQ(found.has_value(), !given.may_be(number)) << what << ": " << found.value_or("");
      if (found) {
        EXPECT_THAT(*found, HasSubstr(given.option)) << what;
      }
      testing::count("bad inputs", found ? 1 : 0);
    }
  }
}

/// The members of a struct of a header that are numbers.
std::set<std::string> numbers_of(const std::string& header, const std::string& name) {
  static const std::regex number(
      R"(^  (std::optional<)?(double|float|int|int64_t|size_t|Operand)>? [a-z].*[;=])");
  static const std::regex member(R"(([a-z][a-z0-9_]*)( = [^,;]*)?(, |;|$| =$))");
  std::set<std::string> found;
  bool inside = false;
  for (const std::string& line : testing::read_source_file(header).lines) {
    if (line == "struct " + name + " {") inside = true;
    if (line == "};") inside = false;
    if (!inside || line.find('(') != line.npos || !std::regex_search(line, number)) continue;
    std::string rest = line.substr(0, line.find("//"));
    rest = rest.substr(rest.find(' ', 2) + 1);
    for (std::sregex_iterator at(rest.begin(), rest.end(), member), end; at != end; ++at)
      found.insert((*at)[1]);
  }
  return found;
}

TEST(Bounds, AreKnownOfEveryNumberOfTheOptions) {
  std::set<std::string> known;
  for (const Given& given : all_given()) known.insert(given.owner + "." + given.option);
  const std::vector<std::pair<std::string, std::vector<std::string>>> headers{
      {"frontend/optimizer.h", {"Sgd", "Momentum", "Rmsprop", "Adagrad", "Adam"}},
      {"frontend/param_groups.h", {"GroupOptions"}},
      {"frontend/schedules.h", {"PlateauOptions"}},
      {"frontend/checkpoints.h", {"EarlyStoppingOptions", "BestCheckpointOptions"}},
      {"frontend/functions.h", {"DropoutShare"}},
      {"frontend/fit.h", {"FitOptions"}}};
  for (const auto& [header, structs] : headers) {
    for (const std::string& name : structs) {
      const std::set<std::string> numbers = numbers_of(header, name);
      EXPECT_FALSE(numbers.empty()) << name;
      for (const std::string& number : numbers)
        EXPECT_TRUE(known.contains(name + "." + number)) << name << " has " << number;
    }
  }
}

TEST(Bounds, SessionsAndTablesToo) {
  Model m("m");
  const auto refused = [&](SessionOptions options) {
    options.target = "reference";
    try {
      const Session session(m, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused({.kept = 0}), HasSubstr("kept is at least 1: found 0"));
  EXPECT_THAT(refused({.traced_runs = -1}), HasSubstr("traced_runs is at least 0: found -1"));
  EXPECT_THROW(read_table("none.csv", {}, {.piece = 0}), Error);
}

}  // namespace
}  // namespace graphc::core
