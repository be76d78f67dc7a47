# SPDX-License-Identifier: Apache-2.0
# A peer: the workloads in TensorFlow with Keras' LSTM, as a tf.function and compiled by XLA.
"""Modes: graph (tf.function); jit (with jit_compile=True). In bf16 the layers' policy is
mixed_bfloat16: variables are f32. Batches are [B,T,...] here."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras  # noqa: E402
import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402

from workloads import clip_of, rate_of  # noqa: E402


def prepare(threads):
    """Called once per process, before anything else."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)


def version():
    """The peer's version, for tables."""
    return tf.__version__


def place(found, batches):
    """The batches in the peer's representation: batch axis first."""
    placed = []
    for inputs, targets in batches:
        targets = targets if found["model"] == "lstm-layer" else targets.T
        placed.append(tuple(map(tf.constant, (numpy.swapaxes(inputs, 0, 1).copy(), targets))))
    return placed


class Runner:
    """A workload in one setting. Calls return when their results are complete."""

    def __init__(self, found, mode, precision, weights, batches):
        self.found, self.batches = found, batches
        policy = "mixed_bfloat16" if precision == "bf16" else "float32"
        self.kind = tf.bfloat16 if precision == "bf16" else tf.float32
        self.language = found["model"] == "ptb-lm"
        hidden = found["hidden"]
        given = {"return_sequences": self.language, "return_state": True, "dtype": policy}
        self.layers = [
            keras.layers.LSTM(hidden, **given) for _ in range(found.get("layers", 1))
        ]
        self.variables = {}
        for index, layer in enumerate(self.layers):
            layer.build((found["batch"], found["steps"], hidden))
            prefix = f"lstm.{index}." if self.language else ""
            held = (layer.cell.kernel, layer.cell.recurrent_kernel, layer.cell.bias)
            self.variables.update({prefix + n: v for n, v in zip("wub", held)})
        if self.language:
            for name in ("embedding", "softmax.w", "softmax.b"):
                self.variables[name] = tf.Variable(weights[name])
        shape = (found["batch"], hidden)
        states = len(self.layers) if self.language else 0
        self.state = [
            [tf.Variable(tf.zeros(shape, self.kind)) for _ in range(2)] for _ in range(states)
        ]
        jit = mode == "jit"
        self.step = tf.function(self.updated, jit_compile=jit)
        self.run = tf.function(lambda *batch: self.loss(*batch)[1], jit_compile=jit)
        self.derive = tf.function(self.derived, jit_compile=jit)
        self.reset(weights)

    def reset(self, weights):
        """Restarts with these weights and zero states."""
        for name, variable in self.variables.items():
            variable.assign(weights[name])
        for variable in sum(self.state, []):
            variable.assign(tf.zeros_like(variable))

    def loss(self, inputs, targets):
        """The minimised cost; for the layer, its output too."""
        if not self.language:
            output = tf.cast(self.layers[0](inputs, training=True)[0], tf.float32)
            return tf.reduce_mean(tf.square(output - targets)), output
        x = tf.gather(self.variables["embedding"], inputs)
        for layer, state in zip(self.layers, self.state):
            x, *after = layer(x, initial_state=[each.value() for each in state], training=True)
            for variable, value in zip(state, after):
                variable.assign(tf.cast(value, self.kind))
        logits = tf.matmul(
            tf.cast(x, self.kind), tf.cast(self.variables["softmax.w"], self.kind)[None]
        )
        logits = tf.cast(logits, tf.float32) + self.variables["softmax.b"]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
        cost = tf.reduce_sum(losses) / self.found["batch"]
        return cost, cost

    def derived(self, *batch):
        """The loss, and the gradients by name."""
        with tf.GradientTape() as tape:
            loss, _ = self.loss(*batch)
        gradients = tape.gradient(loss, list(self.variables.values()))
        return loss, {n: tf.convert_to_tensor(g) for n, g in zip(self.variables, gradients)}

    def updated(self, *batch):
        """Applies a step to the variables; returns the loss."""
        loss, gradients = self.derived(*batch)
        rate, clip = rate_of(self.found), clip_of(self.found)
        if clip is not None:
            rate = rate * clip / tf.maximum(tf.linalg.global_norm(list(gradients.values())), clip)
        for name, variable in self.variables.items():
            variable.assign_sub(rate * gradients[name])
        return loss

    def train(self, index):
        """One step on a batch; returns the loss."""
        return self.step(*self.batches[index % len(self.batches)]).numpy()

    def forward(self, index):
        """The output or, for a language model, the loss; without gradients."""
        return self.run(*self.batches[index % len(self.batches)]).numpy()

    def gradients(self):
        """Loss and gradients on the first batch, by graphc's names."""
        loss, gradients = self.derive(*self.batches[0])
        found = {"loss": loss.numpy()}
        found.update({f"gradient.{n}": g.numpy() for n, g in gradients.items()})
        return found

    def weights(self):
        """The current parameters, by graphc's names."""
        return {n: numpy.array(tf.convert_to_tensor(v)) for n, v in self.variables.items()}
