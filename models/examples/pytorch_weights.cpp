// SPDX-License-Identifier: Apache-2.0
// PyTorch's weights: reads the output of `safetensors.torch.save_file(module.state_dict(), ...)`
// and compares results with the module's. `example-pytorch-weights STATE RUN`; RUN has tokens and
// y.
#include <cmath>

#include "example.h"
#include "runtime/files/safetensors.h"

using namespace graphc;

int main(int argc, char** argv) try {
  if (argc < 3) return usage("example-pytorch-weights STATE RUN");
  Model m("tagger");
  const Embedding encoder(m, "words", 7, 5);
  const Stacked<Bidirectional<Lstm>> lstm(m, "lstm", 2, 5, 4);
  const Gru gru(m, "gru", 8, 3);
  const Rnn rnn(m, "rnn", 3, 6);
  const LayerNorm norm(m, "norm", 6);
  const Linear decoder(m, "out", 6, 2);
  m.graph("tag", [&](Inputs& in) {
    return decoder(norm(rnn(gru(lstm(encoder(in("tokens", i32, {"steps", "batch"})))))));
  });
  Session session(m);

  PytorchState names;
  names.add(encoder, "encoder");  // encoder.weight
  names.add(lstm, "lstm");        // lstm.weight_ih_l0, lstm.bias_hh_l1_reverse, ...
  names.add(gru, "gru");
  names.add(rnn, "rnn");
  names.add(norm, "norm");
  names.add(decoder, "decoder");
  const LoadReport report = names.load(session, argv[1]);

  const Safetensors run = read_safetensors(argv[2]);
  if (!run.arrays.contains("tokens") || !run.arrays.contains("y")) {
    fmt::print(stderr, "{}: wanted arrays tokens and y\n", argv[2]);
    return 3;
  }
  const Literal tokens = run.arrays.at("tokens"), wanted = run.arrays.at("y");
  if (timed(argc, argv, [&] { session("tag", tokens); })) return 0;
  const Literal found = Tensor(session("tag", tokens)).literal();
  double largest = 0;
  for (int64_t i = 0; i < wanted.elements(); ++i)
    largest = std::max(largest, std::abs(found.element(i) - wanted.element(i)));
  fmt::print("{} arrays read\n", report.loaded.size());
  fmt::print("{}\n", largest < 1e-5 ? "PyTorch's numbers" : "other numbers");
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.exit_code();
}
