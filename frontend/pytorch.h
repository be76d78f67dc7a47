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
  /// Every add throws ErrorKind::input, at the caller's line, when a parameter is there already, or
  /// an array of that name.
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

  /// A parameter, or a buffer of the model, that is the array, the matrix that is the array
  /// transposed, and the sum of arrays of its shape: the first is written as the parameter, the
  /// others as zeros.
  void add(const State& parameter, const std::string& array, Where where = Where::here());
  void add_transposed(const State& matrix, const std::string& array, Where where = Where::here());
  void add_summed(const State& parameter, const std::vector<std::string>& arrays,
                  Where where = Where::here());
  /// One parameter that PyTorch has under several names, as tied weights:
  /// `add_tied(words.table, {"encoder.weight", "decoder.weight"})`. A file has one of them or
  /// several of equal numbers; all are written.
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

  /// Reads what was added; floating-point arrays of any width are taken. Throws ErrorKind::input,
  /// before any is changed, when an array has another shape, when what was added is of another
  /// model than the session's, or, unless `loading` is partial, when an array is missing or belongs
  /// to nothing added, and when a parameter or a buffer of the model was not added. Names are
  /// PyTorch's.
  LoadReport load(Session& session, const std::string& path,
                  Loading loading = Loading::strict) const;
  /// Writes what was added. Throws ErrorKind::input when it is of another model or, unless `whole`
  /// is partial, when a parameter or a buffer of the model was not added: the file would lack it.
  /// Throws ErrorKind::resource when the file cannot be written.
  void save(Session& session, const std::string& path, Loading whole = Loading::strict) const;

 private:
  using Literals = std::vector<Literal>;
  /// States that are read from arrays and written to them together.
  struct Entry {
    std::vector<std::shared_ptr<StateCell>> states;
    std::vector<std::string> arrays;
    std::vector<Shape> shapes;  ///< of the arrays
    std::function<Literals(const Literals& arrays)> read;
    std::function<Literals(const Literals& parameters)> write;
    bool tied = false;  ///< one of the arrays is enough
  };
  /// Throws unless states and arrays are there for the first time.
  void add(Entry entry, Where where);
  /// Throws ErrorKind::input for states of another model; and, where all must be there, for those
  /// of the model that are not.
  void check_states(Session& session, Loading whole, std::string_view what) const;
  /// The arrays of an entry, or none where some are missing.
  Literals arrays_of(const Entry& entry, const Safetensors& content, const std::string& path,
                     LoadReport& report) const;
  /// A recurrent layer, the names of whose arrays end with `suffix`.
  void add_recurrent(const Param& w, const Param& u, const std::optional<Param>& b,
                     const std::string& module, const std::string& suffix, Where where);
  void add_gru(const Gru& gru, const std::string& module, const std::string& suffix, Where where);

  std::vector<Entry> entries_;
};

}  // namespace graphc::core
