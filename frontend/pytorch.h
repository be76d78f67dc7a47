// SPDX-License-Identifier: Apache-2.0
// Parameters with PyTorch's names and layouts: reads and writes the files of
// `safetensors.torch.save_file(module.state_dict(), path)`.
//
//   PytorchState state;
//   state.add(embedding, "encoder");     // encoder.weight
//   state.add(layers, "rnn");            // rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0, ...
//   state.add(decoder, "decoder");       // decoder.weight, decoder.bias
//   state.load(session, "model.safetensors");
//
// PyTorch stores weights as [out, in], with the gates of a recurrent layer stacked in the same
// order as ours (LSTM i, f, g, o; GRU r, z, n), and has two biases where we have one: loading adds
// them, saving writes zeros for the second. A round trip preserves the numbers.
//
// For a user-defined cell or layer, add each parameter:
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
  /// Maps a layer to `module` of the PyTorch module ("decoder", "encoder.rnn"; empty: the module
  /// itself). A recurrent layer is layer `layer` of its module, in direction `reverse`. Every add
  /// throws ErrorKind::input, at the caller's line, if a parameter or an array name was added
  /// before.
  void add(const Linear& linear, const std::string& module, Where where = Where::here());
  void add(const Embedding& embedding, const std::string& module, Where where = Where::here());
  void add(const LayerNorm& norm, const std::string& module, Where where = Where::here());
  void add(const Lstm& lstm, const std::string& module, int layer = 0, bool reverse = false,
           Where where = Where::here());
  void add(const Gru& gru, const std::string& module, int layer = 0, bool reverse = false,
           Where where = Where::here());
  void add(const Rnn& rnn, const std::string& module, int layer = 0, bool reverse = false,
           Where where = Where::here());
  /// The same for an LSTMCell, GRUCell or RNNCell.
  void add_cell(const Lstm& lstm, const std::string& module, Where where = Where::here());
  void add_cell(const Gru& gru, const std::string& module, Where where = Where::here());
  void add_cell(const Rnn& rnn, const std::string& module, Where where = Where::here());

  /// Maps a parameter or buffer to an array, a matrix to the transposed array, and a parameter to
  /// the sum of arrays of its shape: saving writes the parameter to the first array and zeros to
  /// the others.
  void add(const State& parameter, const std::string& array, Where where = Where::here());
  void add_transposed(const State& matrix, const std::string& array, Where where = Where::here());
  void add_summed(const State& parameter, const std::vector<std::string>& arrays,
                  Where where = Where::here());
  /// One parameter that PyTorch has under several names, such as tied weights:
  /// `add_tied(words.table, {"encoder.weight", "decoder.weight"})`. A file has one of them or
  /// several with equal values; saving writes all.
  void add_tied(const State& parameter, const std::vector<std::string>& arrays,
                Where where = Where::here());

  template <typename Layer>
  void add(const Bidirectional<Layer>& both, const std::string& module, int layer = 0,
           Where where = Where::here()) {
    add(both.forward, module, layer, false, where);
    add(both.backward, module, layer, true, where);
  }
  template <typename Layer>
  void add(const Stacked<Layer>& stacked, const std::string& module, Where where = Where::here()) {
    for (size_t i = 0; i < stacked.layers.size(); ++i) {
      if constexpr (requires { add(stacked.layers[i], module, int(i), false, where); }) {
        add(stacked.layers[i], module, int(i), false, where);
      } else {
        add(stacked.layers[i], module, int(i), where);
      }
    }
  }

  /// Loads what was added, from floating-point arrays of any width. Throws ErrorKind::input, before
  /// changing anything, if an array has another shape, if something was added from another model
  /// than the session's, or, unless `loading` is partial, if an array is missing or unmapped or a
  /// parameter or buffer of the model was not added. Names are PyTorch's.
  LoadReport load(Session& session, const std::string& path,
                  Loading loading = Loading::strict) const;
  /// Saves what was added. Throws ErrorKind::input if it belongs to another model or, unless
  /// `whole` is partial, if a parameter or buffer of the model was not added, because the file
  /// would lack it. Throws ErrorKind::resource if the file cannot be written.
  void save(Session& session, const std::string& path, Loading whole = Loading::strict) const;

 private:
  using Literals = std::vector<Literal>;
  /// States that are read from and written to the same arrays.
  struct Entry {
    std::vector<std::shared_ptr<StateCell>> states;
    std::vector<std::string> arrays;
    std::vector<Shape> shapes;  ///< of the arrays
    std::function<Literals(const Literals& arrays)> read;
    std::function<Literals(const Literals& parameters)> write;
    bool tied = false;  ///< one of the arrays suffices
  };
  /// Throws if a state or an array was added before.
  void add(Entry entry, Where where);
  /// Throws ErrorKind::input for states of another model and, unless `whole` is partial, for states
  /// of the model that were not added.
  void check_states(Session& session, Loading whole, std::string_view what) const;
  /// The arrays of an entry; empty if some are missing.
  Literals arrays_of(const Entry& entry, const Safetensors& content, const std::string& path,
                     LoadReport& report) const;
  /// A recurrent layer whose array names end with `suffix`.
  void add_recurrent(const Param& w, const Param& u, const std::optional<Param>& b,
                     const std::string& module, const std::string& suffix, Where where);
  void add_gru(const Gru& gru, const std::string& module, const std::string& suffix, Where where);

  std::vector<Entry> entries_;
};

}  // namespace graphc::core
