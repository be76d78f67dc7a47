# SPDX-License-Identifier: Apache-2.0
# A peer: the workloads' forward graphs as ONNX, run by ONNX Runtime. No training.
"""LSTM nodes have gates i, o, f, g and two biases, the second of which is zero here."""
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
threads_wanted = [1]


def prepare(threads):
    """Called once per process, before anything else."""
    threads_wanted[0] = threads
    onnxruntime.set_default_logger_severity(3)


def version():
    """The peer's version, for tables."""
    return onnxruntime.__version__


def place(found, batches):
    """The batches in the peer's representation."""
    del found
    return batches


def reordered(matrix):
    """[.., 4H] with gates i f g o as [1, 4H, ..] with gates i o f g."""
    i, f, g, o = numpy.split(matrix.T, 4, axis=0)
    return numpy.concatenate([i, o, f, g], axis=0)[None].astype(numpy.float32)


def lstm_node(graph, prefix, x, weights, hidden, state):
    """Adds an LSTM over the value x; returns the names of its outputs Y, h and c."""
    nodes, constants = graph
    bias = reordered(weights[prefix + "b"])
    named = {
        "W": reordered(weights[prefix + "w"]),
        "R": reordered(weights[prefix + "u"]),
        "B": numpy.concatenate([bias, numpy.zeros_like(bias)], axis=1),
    }
    constants += [numpy_helper.from_array(v, prefix + n) for n, v in named.items()]
    outputs = [prefix + each for each in ("Y", "h.end", "c.end")]
    inputs = [x, *(prefix + each for each in named)] + (["", *state] if state else [])
    nodes.append(helper.make_node("LSTM", inputs, outputs, hidden_size=hidden))
    return outputs


def language_model(graph, found, weights):
    """Adds W2's nodes; returns the model's inputs and outputs other than words and targets."""
    nodes, constants = graph
    hidden, batch = found["hidden"], found["batch"]
    inputs, outputs, x = [], [], "x"
    for name in ("embedding", "softmax.w", "softmax.b"):
        constants.append(numpy_helper.from_array(weights[name], name))
    constants.append(numpy_helper.from_array(numpy.array([1], numpy.int64), "axis"))
    constants.append(numpy_helper.from_array(numpy.float32(batch), "batch"))
    constants.append(numpy_helper.from_array(numpy.array([-1, hidden], numpy.int64), "rows"))
    constants.append(numpy_helper.from_array(numpy.array([-1], numpy.int64), "flat"))
    nodes.append(helper.make_node("Gather", ["embedding", "tokens"], ["x"]))
    for index in range(found["layers"]):
        state = [f"h.{index}", f"c.{index}"]
        y, *ends = lstm_node(graph, f"lstm.{index}.", x, weights, hidden, state)
        x = f"y.{index}"
        nodes.append(helper.make_node("Squeeze", [y, "axis"], [x]))
        shape = [1, batch, hidden]
        inputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in state]
        outputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ends]
    nodes += [
        helper.make_node("Reshape", [x, "rows"], ["flat.x"]),
        helper.make_node("Gemm", ["flat.x", "softmax.w", "softmax.b"], ["logits"]),
        helper.make_node("Reshape", ["targets", "flat"], ["flat.targets"]),
        helper.make_node(
            "SoftmaxCrossEntropyLoss", ["logits", "flat.targets"], ["sum"], reduction="sum"
        ),
        helper.make_node("Div", ["sum", "batch"], ["cost"]),
    ]
    return inputs, outputs


class Runner:
    """A workload's forward graph. Calls return when their results are complete."""

    def __init__(self, found, mode, precision, weights, batches):
        del mode, precision
        self.found, self.batches = found, batches
        self.reset(weights)

    def model(self, weights):
        """The forward graph with its weights, as an ONNX model."""
        graph = nodes, constants = [], []
        steps, batch, hidden = (self.found[each] for each in ("steps", "batch", "hidden"))
        value = helper.make_tensor_value_info
        if self.found["model"] == "lstm-layer":
            inputs = [value("x", TensorProto.FLOAT, [steps, batch, hidden])]
            lstm_node(graph, "", "x", weights, hidden, None)
            outputs = [value("h.end", TensorProto.FLOAT, [1, batch, hidden])]
        else:
            words = [value(n, TensorProto.INT32, [steps, batch]) for n in ("tokens", "targets")]
            inputs, outputs = language_model(graph, self.found, weights)
            inputs = words + inputs
            outputs = [value("cost", TensorProto.FLOAT, [])] + outputs
        made = helper.make_graph(nodes, "forward", inputs, outputs, constants)
        return helper.make_model(
            made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8
        )

    def reset(self, weights):
        """Restarts with these weights and zero states."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads_wanted[0]
        options.inter_op_num_threads = 1
        model = self.model(weights)
        onnx.checker.check_model(model)
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        shape = (1, self.found["batch"], self.found["hidden"])
        self.state = []
        if self.found["model"] == "ptb-lm":
            count = 2 * self.found["layers"]
            self.state = [numpy.zeros(shape, numpy.float32) for _ in range(count)]

    def forward(self, index):
        """The output or, for a language model, the loss."""
        inputs, targets = self.batches[index % len(self.batches)]
        if self.found["model"] == "lstm-layer":
            return self.session.run(None, {"x": inputs})[0][0]
        feed = {"tokens": inputs, "targets": targets}
        for at, each in enumerate(self.state):
            feed[f"{'hc'[at % 2]}.{at // 2}"] = each
        cost, *self.state = self.session.run(None, feed)
        return cost
