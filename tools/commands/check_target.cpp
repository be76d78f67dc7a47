// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/check_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "passes/passes.h"
#include "passes/pipeline.h"
#include "runtime/cores.h"
#include "tools/commands/compare.h"
#include "tools/commands/target_runner.h"
#include "tools/commands/wanted_runs.h"

namespace graphc::core::commands {
namespace {

double tolerance_of(const TargetCheck& how) {
  // One rank alone sends nothing, and rounds nothing for it.
  const bool is_sent_in_bf16 = how.ranks.ranks > 1 && how.ranks.gradients == DType::bf16;
  const Precision precision = is_sent_in_bf16 ? Precision::bf16 : how.compile.precision;
  return how.tolerance.value_or(std::max(1e-4, 4 * unit_roundoff(precision)));
}

bool has(const Target& on, std::string_view option) {
  return std::ranges::find(on.options, option) != on.options.end();
}

std::string threads_text(const std::vector<int>& threads) {
  return fmt::format("{} thread{}", fmt::join(threads, " and "), threads.back() > 1 ? "s" : "");
}

/// A verdict and its reason as a sentence; "" if everything agrees.
struct Finding {
  Verdict verdict = Verdict::agrees;
  std::string text;

  /// A difference with this sentence, or agreement if it is empty.
  static Finding differs(std::string text) {
    const Verdict verdict = text.empty() ? Verdict::agrees : Verdict::differs;
    return {verdict, std::move(text)};
  }
  /// Keeps the worse of the two; of equal ones the first.
  void add(Finding other) {
    if (other.verdict > verdict) *this = std::move(other);
  }
  Finding in(std::string_view place) && {
    if (!text.empty()) text = fmt::format("{}: {}", place, text);
    return std::move(*this);
  }
};

/// Checks one variant of a target.
class VariantCheck {
 public:
  VariantCheck(const GraphPtr& graph, const Target& on, const TargetCheck& how, WantedRuns& wanted)
      : graph_(graph), on_(on), how_(how), wanted_(wanted) {}

  /// The first difference; otherwise the first undecided result.
  Finding finding(const CompileOptions& options, const std::vector<int>& threads) {
    largest_ = 0;
    Finding worst;
    std::vector<std::vector<Literal>> first;  // by run: the bits with the first number of threads
    for (int number : threads) {
      CompileOptions with = options;
      with.threads = number;
      TargetRunner runner(graph_, on_, with, wanted_);
      for (int64_t run = 0; run < wanted_.runs(); ++run) {
        Finding found = Finding::differs(runner.run(wanted_.inputs(run)));
        found.add(finding_of_values(runner, run));
        if (number == threads[0]) first.push_back(runner.bits());
        found.add(Finding::differs(difference_of_bits(runner, first[size_t(run)], threads[0])));
        const std::string where = number > 0 ? threads_text({number}) + ", " : "";
        worst.add(std::move(found).in(fmt::format("{}run {}", where, run + 1)));
        if (worst.verdict == Verdict::differs) return worst;
      }
    }
    return worst;
  }

  /// The largest difference since finding() began.
  double largest() const { return largest_; }

 private:
  Finding finding_of_values(const TargetRunner& runner, int64_t run) {
    const AfterRun& wanted = wanted_.wanted(run);
    Finding worst;
    for (size_t i = 0; i < runner.outputs().size(); ++i) {
      worst.add(compare_with(runner.outputs()[i].literal(), wanted.results[i], run,
                             [i](const AfterRun& form) { return form.results[i]; })
                    .in(fmt::format("%{}", runner.signature().outputs[i].name)));
    }
    for (size_t i = 0; i < runner.states().size(); ++i) {
      const std::string& name = runner.signature().states[i].name;
      worst.add(compare_with(runner.states()[i]->home().literal(), wanted.states.at(name), run,
                             [&](const AfterRun& form) { return form.states.at(name); })
                    .in(fmt::format("next %{}", name)));
    }
    return worst;
  }

  /// Computes the evaluator's other forms only if the values differ too much without them.
  Finding compare_with(const Literal& found, const Literal& wanted, int64_t run,
                       const std::function<Literal(const AfterRun&)>& part) {
    const double terms = wanted_.terms();
    Comparison comparison = compare(found, wanted, tolerance_of(how_), {}, terms);
    if (!comparison.difference.empty()) {
      std::vector<Literal> forms;
      for (const AfterRun& form : wanted_.forms(run)) forms.push_back(part(form));
      comparison = compare(found, wanted, tolerance_of(how_), forms, terms);
      const std::string nothing = says_nothing(wanted, forms);
      if (!nothing.empty()) return {Verdict::undecided, nothing};
    }
    largest_ = std::max(largest_, comparison.largest);
    return Finding::differs(comparison.difference);
  }

  /// For a result that inputs perturbed by one rounding change completely: explains that no
  /// comparison is meaningful, and what to do; otherwise empty. Such a spread would excuse any
  /// difference.
  std::string says_nothing(const Literal& wanted, std::span<const Literal> forms) const {
    if (!is_floating(wanted.dtype())) return "";
    const double most =
        std::max(kLargestExcuse, kConditioning * kConditioning * wanted_.rounding());
    const double moved = distance(forms[0], forms[1]);
    const double size = std::max(magnitude(wanted), magnitude(forms[0]));
    if (kConditioning * moved <= most * size) return "";
    return fmt::format(
        "ill-conditioned: one rounding of the arguments changes it by {:.2g} of its size, so no "
        "comparison is meaningful; try smaller numbers, with --scale=0.1 or --input",
        moved / size);
  }

  /// Bitwise equality, except for the payload of NaN: IEEE 754 leaves open which of two NaN
  /// operands is propagated, and processors decide by register order.
  static bool alike(const Literal& a, const Literal& b) {
    if (a == b) return true;
    if (!is_floating(a.dtype())) return false;
    for (int64_t i = 0; i < a.elements(); ++i) {
      const double x = a.element(i), y = b.element(i);
      const bool same = x == y ? std::signbit(x) == std::signbit(y) : x != x && y != y;
      if (!same) return false;
    }
    return true;
  }

  static std::string difference_of_bits(const TargetRunner& runner,
                                        const std::vector<Literal>& first, int threads) {
    const std::vector<Literal> bits = runner.bits();
    for (size_t i = 0; i < bits.size(); ++i) {
      if (alike(bits[i], first[i])) continue;
      const Signature& signature = runner.signature();
      const size_t results = signature.outputs.size();
      return fmt::format(
          "{}%{}: the bits are not those of {}", i < results ? "" : "next ",
          i < results ? signature.outputs[i].name : signature.states[i - results].name,
          threads_text({threads}));
    }
    return "";
  }

  const GraphPtr& graph_;
  const Target& on_;
  const TargetCheck& how_;
  WantedRuns& wanted_;
  double largest_ = 0;
};

/// "within 2e-7". Larger differences than the tolerance are due to cancellation.
std::string within(double largest, double tolerance) {
  std::string text = fmt::format("within {:.2g}", largest);
  if (largest > tolerance)
    text += fmt::format(" (ill-conditioned: rounding explains what is beyond {:.2g})", tolerance);
  return text;
}

std::vector<std::string> variants_of(const Target& on, const TargetCheck& how) {
  if (!how.compile.variant.empty()) return {how.compile.variant};
  if (!has(on, "variant")) return {CompileOptions{}.variant};
  std::vector<std::string> all;
  for (std::string_view variant : all_variants()) all.emplace_back(variant);
  return all;
}

std::vector<int> threads_of(const Target& on, const TargetCheck& how) {
  if (how.compile.threads > 0 || !has(on, "threads")) return {how.compile.threads};
  return {1, std::max(2, default_thread_count())};
}

/// What was tried, appended to a line that reports agreement.
std::string tried(const Target& on, const std::vector<std::string>& variants,
                  const std::vector<int>& threads, const TargetCheck& how) {
  std::string text;
  if (has(on, "variant")) text += fmt::format("; {}", fmt::join(variants, ", "));
  if (has(on, "threads")) text += "; " + threads_text(threads);
  if (how.ranks.given()) text += fmt::format("; {} ranks", how.ranks.ranks);
  return text + fmt::format("; {} run{}", how.runs, how.runs > 1 ? "s" : "");
}

}  // namespace

int exit_code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::agrees:
      return 0;
    case Verdict::undecided:
      return kUndecided;
    case Verdict::differs:
      break;
  }
  return int(ErrorKind::check);
}

Agreement check_target(const GraphPtr& graph, const Target& on, const TargetCheck& how) {
  const GraphPtr meaning = without_grad(graph);
  WantedRuns wanted(*meaning, drawing_of(*graph, *meaning, how.arguments), how.runs, how.seed,
                    evaluated_precision(how.compile.precision),
                    unit_roundoff(how.compile.precision));
  VariantCheck check(graph, on, how, wanted);
  const std::vector<std::string> variants = variants_of(on, how);
  const std::vector<int> threads = threads_of(on, how);
  Agreement result;
  double largest = 0;
  for (const std::string& variant : variants) {
    CompileOptions options = how.compile;
    options.variant = variant;
    if (how.ranks.given()) options.ranks = ranks_of(how.ranks, *graph);
    const Finding found = check.finding(options, threads);
    result.verdict = std::max(result.verdict, found.verdict);
    largest = std::max(largest, check.largest());
    const std::string called = has(on, "variant") ? fmt::format(", {}", variant) : "";
    result.text += fmt::format("@{}: {}{}: {}\n", graph->name(), on.name, called,
                               found.text.empty() ? "agrees with the evaluator " +
                                                        within(check.largest(), tolerance_of(how))
                                                  : found.text);
  }
  if (result.agrees()) {
    result.text =
        fmt::format("@{}: {} agrees with the evaluator {}{}\n", graph->name(), on.name,
                    within(largest, tolerance_of(how)), tried(on, variants, threads, how));
  }
  return result;
}

}  // namespace graphc::core::commands
