// SPDX-License-Identifier: Apache-2.0
// Parameters under PyTorch's names and in PyTorch's forms: reads and writes what
// `safetensors.torch.save_file(module.state_dict(), path)` writes.
//
//   PytorchState state;
//   state.add(embedding, "encoder");     // encoder.weight
//   state.add(layers, "rnn");            // rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0, ...
//   state.add(decoder, "decoder");       // decoder.weight, decoder.bias
//   state.load(session, "model.safetensors");
//
// PyTorch keeps weights as [out, in] with the gates of a recurrent layer one under the other, in
// our order (LSTM i, f, g, o; GRU r, z, n), and adds two biases where one is enough: reading adds
// them up, writing makes the second one 0. What goes through a file and back has the same numbers.
//
// A cell or a layer of one's own says parameter by parameter where it stands:
//
//   state.add_transposed(cell.w, "cell.weight_ih");          // [out, in] there
//   state.add_summed(cell.b, {"cell.bias_ih", "cell.bias_hh"});
//   state.add(cell.gain, "cell.gain");                       // as it is
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/layers.h"
#include "frontend/session.h"
#include "runtime/files/safetensors.h"

namespace graphc::core {

class PytorchState {
 public:
  /// Says that a layer stands at `module` of the PyTorch module ("decoder", "encoder.rnn"; empty:
  /// the module itself). A recurrent layer is layer `layer` of a module, in direction `reverse`.
  void add(const Linear& linear, const std::string& module);
  void add(const Embedding& embedding, const std::string& module);
  void add(const LayerNorm& norm, const std::string& module);
  void add(const Lstm& lstm, const std::string& module, int layer = 0, bool reverse = false);
  void add(const Gru& gru, const std::string& module, int layer = 0, bool reverse = false);
  void add(const Rnn& rnn, const std::string& module, int layer = 0, bool reverse = false);
  /// The same for an LSTMCell, GRUCell or RNNCell.
  void add_cell(const Lstm& lstm, const std::string& module);
  void add_cell(const Gru& gru, const std::string& module);
  void add_cell(const Rnn& rnn, const std::string& module);

  /// A parameter that is the array, the matrix that is the array transposed, and the sum of arrays
  /// of its shape: the first is written as the parameter, the others as zeros.
  void add(const Param& parameter, const std::string& array);
  void add_transposed(const Param& matrix, const std::string& array);
  void add_summed(const Param& parameter, const std::vector<std::string>& arrays);
  /// One parameter that PyTorch has under several names, as tied weights:
  /// `add_tied(words.table, {"encoder.weight", "decoder.weight"})`. A file has one of them or
  /// several of equal numbers; all are written.
  void add_tied(const Param& parameter, const std::vector<std::string>& arrays);

  template <typename Layer>
  void add(const Bidirectional<Layer>& both, const std::string& module, int layer = 0) {
    add(both.forward, module, layer, false);
    add(both.backward, module, layer, true);
  }
  template <typename Layer>
  void add(const Stacked<Layer>& stacked, const std::string& module) {
    for (size_t i = 0; i < stacked.layers.size(); ++i) add(stacked.layers[i], module, int(i));
  }

  /// Reads the parameters of the layers added; floating-point arrays of any width are taken. Throws
  /// ErrorKind::input, before any is changed, when an array has another shape, or, unless `loading`
  /// is partial, when one is missing or belongs to no layer added. Names are PyTorch's.
  LoadReport load(Session& session, const std::string& path,
                  Loading loading = Loading::strict) const;
  /// Writes the parameters of the layers added. Throws ErrorKind::resource when the file cannot be
  /// written.
  void save(Session& session, const std::string& path) const;

 private:
  using Literals = std::vector<Literal>;
  /// Parameters that are read from arrays and written to them together.
  struct Entry {
    std::vector<std::string> parameters, arrays;
    std::vector<Shape> shapes;  ///< of the arrays
    std::function<Literals(const Literals& arrays)> read;
    std::function<Literals(const Literals& parameters)> write;
    bool tied = false;  ///< one of the arrays is enough
  };
  /// The arrays of an entry, or none where some are missing.
  Literals arrays_of(const Entry& entry, const Safetensors& content, const std::string& path,
                     LoadReport& report) const;
  /// A recurrent layer, the names of whose arrays end with `suffix`.
  void add_recurrent(const Param& w, const Param& u, const std::optional<Param>& b,
                     const std::string& module, const std::string& suffix);
  void add_gru(const Gru& gru, const std::string& module, const std::string& suffix);

  std::vector<Entry> entries_;
};

}  // namespace graphc::core
