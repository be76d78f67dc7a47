// SPDX-License-Identifier: Apache-2.0
#include "models/batch_training.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "models/training.h"

namespace graphc {

Batches batches_of(std::vector<int64_t> order, int64_t batch,
                   std::function<std::vector<Tensor>(std::span<const int64_t> samples)> inputs) {
  Batches batches;
  const int64_t count = int64_t(order.size());
  for (int64_t first = 0; first < count; first += batch)
    batches.elements.push_back(std::min(batch, count - first));
  const auto shared = std::make_shared<const std::vector<int64_t>>(std::move(order));
  batches.inputs = [shared, batch, inputs = std::move(inputs)](int64_t index) {
    const std::span<const int64_t> rest = std::span(*shared).subspan(size_t(index * batch));
    return inputs(rest.first(std::min(rest.size(), size_t(batch))));
  };
  return batches;
}

void train_on_batches(Session& session, const TrainOptions& options, const BatchTask& task) {
  Training training(options, task.epochs, task.notes, task.unit);
  bool ended_epoch = false;
  while (training.goes_on()) {
    const int64_t epoch = training.position().epoch;
    const Batches batches = task.epoch(epoch);
    std::vector<Type> types;
    for (const Tensor& input : batches.inputs(0)) types.push_back(input.type());
    session.compile("train", types);
    training.begin_epoch(batches.count());
    while (training.in_epoch()) {
      const int64_t index = training.position().window;
      const int64_t elements = batches.elements[size_t(index)];
      const std::vector<Tensor> inputs = batches.inputs(index);
      const Outputs results = training.checked([&] { return session.run("train", inputs); });
      training.step({.loss = results["loss"].scalar(),
                     .words = elements,
                     .weight = double(elements),
                     .gradient_norm = results["gradient_norm"].scalar()});
    }
    // An epoch cut short has no mean: it would compare with nothing.
    if (!training.epoch_is_done()) break;
    const auto all = std::accumulate(batches.elements.begin(), batches.elements.end(), int64_t{0});
    const double loss = training.position().total / double(all);
    ended_epoch = true;
    const std::vector<Metric> validation = task.validate ? task.validate() : std::vector<Metric>{};
    for (const Metric& metric : validation) {
      if (metric.name == "valid_loss") training.validated(metric.value);
    }
    training.end_epoch({{"train_loss", loss}}, validation,
                       [&] { return task.sample ? task.sample(epoch) : std::string(); });
  }
  const bool tests = task.test && ended_epoch && training.is_done();
  training.end(tests ? task.test() : std::vector<Metric>{});
}

std::vector<Metric> mean_results(Session& session, const std::string& graph, const Batches& batches,
                                 const std::vector<std::string>& results) {
  std::vector<Metric> means;
  for (const std::string& name : results) means.push_back({name, 0});
  double all = 0;
  for (int64_t i = 0; i < batches.count(); ++i) {
    const Outputs outputs = session.run(graph, batches.inputs(i));
    const double elements = double(batches.elements[size_t(i)]);
    for (Metric& mean : means) mean.value += elements * outputs[mean.name].scalar();
    all += elements;
  }
  for (Metric& mean : means) mean.value /= all;
  return means;
}

std::vector<Metric> prefixed(const std::string& prefix, std::vector<Metric> metrics) {
  for (Metric& metric : metrics) metric.name = prefix + metric.name;
  return metrics;
}

void refuse_data(const char* who, const std::optional<std::filesystem::path>& data) {
  if (!data) return;
  throw Error(ErrorKind::usage, {},
              fmt::format("{}: it trains on data it draws: there is no use for --data {}", who,
                          data->string()));
}

}  // namespace graphc
