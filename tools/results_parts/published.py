# SPDX-License-Identifier: Apache-2.0
"""Published figures for these workloads, and those of the PyTorch references."""

W1 = {  # svetlov/rnn-benchmarks: NVIDIA Tesla M40 24 GB, cuDNN 6; Theano 0.9, TensorFlow 1.2.1
    "libraries": ["Theano", "TensorFlow basic", "TensorFlow fused", "TensorFlow cuDNN"],
    "rows": [
        ["30", "512", "6.09 / .4638 / .0902", "1.420 / .2542 / .1247", "1.313 / .2052 / .1044",
         "1.562 / .1404 / .0790"],
        ["30", "1024", "6.37 / .7446 / .1995", "1.601 / .6852 / .2831", "1.846 / .5723 / .2482",
         "1.671 / .2847 / .1554"],
        ["100", "512", "6.38 / 1.3045 / .2436", "1.564 / .8564 / .4034", "1.391 / .6995 / .3688",
         "1.680 / .4921 / .2521"],
        ["100", "1024", "6.52 / 2.2268 / .5915", "1.827 / 2.3519 / .9294",
         "1.816 / 1.9621 / .8860", "2.343 / .9583 / .5656"],
    ],
    "bars": [("Theano, Tesla M40", 0.4638), ("TensorFlow basic, Tesla M40", 0.2542),
             ("TensorFlow cuDNN, Tesla M40", 0.1404)],
}
W2 = {  # the TensorFlow tutorial ptb_word_lm; the reference: tools/references/ptb_lm.py, 13 epochs
    "small": (("PyTorch", (40.59, 119.65, 114.55)), ("published", (37.99, 121.39, 115.91))),
    "reference": [177.6, 141.1, 131.6, 127.6, 119.7, 119.0, 119.9, 120.3, 120.4, 120.3, 120.1,
                  119.8, 119.7],
}
W3 = {  # k-kawakami/rnn_benchmark
    "published": "547,106 (P100 SXM2), 497,944 (P100 PCIe), 354,534 (Titan X) in training",
}
W4 = {  # awslabs/keras-apache-mxnet
    "samples": 200285,  # windows of Nietzsche
    "corpora": ["synthetic", "Nietzsche", "WikiText-2"],
    "rows": [["C5.18xlarge, 72 vCPU", "24 / 14", "78 / 55", "1,345 / 875"],
             ["C5.xlarge, 4 vCPU", "93 / 26", "360 / 101", "6,417 / 1,571"],
             ["one V100", "13 / 12", "52 / 51", "868 / 817"]],
}
