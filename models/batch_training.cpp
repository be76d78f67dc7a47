// SPDX-License-Identifier: Apache-2.0
#include "models/batch_training.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "models/read_ahead.h"
#include "models/training.h"

namespace graphc::core {
namespace {

struct EpochSize {
  int64_t batches = 0, elements = 0;
};

EpochSize size_of(const Batches& batches) {
  const std::vector<int64_t>& elements = batches.elements;
  return {batches.count(), std::accumulate(elements.begin(), elements.end(), int64_t{0})};
}

/// A prefetched batch.
struct ReadBatch {
  std::vector<Tensor> inputs;
  int64_t elements = 0;
  int64_t epoch = 0;
  EpochSize of_epoch;
};

/// The batches of all epochs from a position on.
class BatchReader {
 public:
  BatchReader(const BatchTask& task, int64_t epochs, const TrainPosition& from)
      : task_(task), epochs_(epochs), epoch_(from.epoch), index_(from.window) {}

  std::optional<ReadBatch> operator()() {
    while (epoch_ < epochs_) {
      if (!batches_) {
        batches_ = task_.epoch(epoch_);
        size_ = size_of(*batches_);
      }
      if (index_ < batches_->count()) {
        const int64_t index = index_++;
        return ReadBatch{.inputs = batches_->inputs(index),
                         .elements = batches_->elements[size_t(index)],
                         .epoch = epoch_,
                         .of_epoch = size_};
      }
      batches_.reset();
      ++epoch_;
      index_ = 0;
    }
    return std::nullopt;
  }

 private:
  const BatchTask& task_;
  int64_t epochs_, epoch_, index_;
  std::optional<Batches> batches_;
  EpochSize size_;
};

/// Compiles the graph for inputs of these types unless it is compiled.
void compile_for(Session& session, const std::vector<Tensor>& inputs) {
  std::vector<Type> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  session.compile("train", types);
}

}  // namespace

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
  ReadAhead<ReadBatch> reader(BatchReader(task, training.epochs(), training.position()));
  while (training.goes_on()) {
    const int64_t epoch = training.position().epoch;
    const ReadBatch* first = reader.front();
    // All steps may have been completed before, but not the evaluation after them.
    const bool is_read = first != nullptr && first->epoch == epoch;
    const EpochSize size = is_read ? first->of_epoch : size_of(task.epoch(epoch));
    if (is_read) compile_for(session, first->inputs);
    training.begin_epoch(size.batches);
    while (training.in_epoch()) {
      const auto [batch, made] = reader.next();
      const Outputs results = training.checked([&] { return session.run("train", batch.inputs); });
      training.step({.loss = results["loss"].scalar(),
                     .words = batch.elements,
                     .weight = double(batch.elements),
                     .gradient_norm = results["gradient_norm"].scalar(),
                     .read = made});
    }
    // A partial epoch has no comparable mean.
    if (!training.epoch_is_done()) break;
    const double loss = training.position().total / double(size.elements);
    const std::vector<Metric> validation =
        task.validate ? training.evaluated(task.validate) : std::vector<Metric>{};
    for (const Metric& metric : validation) {
      if (metric.name == "valid_loss") training.validated(metric.value);
    }
    training.end_epoch({{"train_loss", loss}}, validation,
                       [&] { return task.sample ? task.sample(epoch) : std::string(); });
  }
  const bool draws = task.lines && options.lines;
  training.end(training.wants_test() ? task.test : nullptr, draws ? task.lines : nullptr);
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

}  // namespace graphc::core
