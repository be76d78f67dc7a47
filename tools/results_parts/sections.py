# SPDX-License-Identifier: Apache-2.0
"""The sections of docs/results.md: each returns its text and its plots, as far as there are
facts."""
import plots
from published import W1, W2, W3, W4
from tables import command, kept_table, number, source, table


def best(kept, name):
    """The fact of the full measurement, otherwise that of --quick; and its name."""
    for found in (name, name + "-quick"):
        if found in kept:
            return kept[found], found
    return None, ""


def setting(row):
    parameters = row["parameters"]
    return f"T {parameters['steps']}, H {parameters['hidden']}"


def layer(kept):
    """W1: the published table, graphc's rows, peers, compile time as a function of T."""
    text = ("## W1 `lstm-layer`: an LSTM layer on random data\n\n"
            "Batch 128; compile in seconds, training and forward in ms an example. Published "
            "(NVIDIA Tesla M40, 2017), compile / train / forward:\n\n")
    text += table(["T", "H", *W1["libraries"]], W1["rows"], 2)
    pictures = {}
    fact, _ = best(kept, "w1")
    if fact:
        rows = [[setting(row), row["variant"], number(row["compile_s"]), number(row["train_ms"]),
                 number(row["forward_ms"]), f"{100 * row['train_fraction_of_peak']:.0f} %",
                 f"{row['peak_bytes'] / 2**20:.0f}"] for row in fact["results"]]
        text += (f"\ngraphc, f32, {fact['results'][0]['threads']} threads ({source(fact)}):\n\n" +
                 table(["setting", "variant", "compile (s)", "train (ms)", "forward (ms)",
                        "of the peak, training", "MiB of a step"], rows, 2) +
                 f"\n{command(fact)}\n")
        mine = [row for row in fact["results"] if row["variant"] == "fused" and
                setting(row) == "T 30, H 512"]
        # Compared with peers, only what was measured in the same run: other machines are not
        # comparable.
        peers = kept.get("w1-peers", {}).get("bars", [])
        bars = [] if peers else [("graphc, this CPU", row["train_ms"]) for row in mine]
        if bars or peers:
            pictures["w1_train"] = plots.bars("Training, T 30, H 512, B 128, f32", "ms an example",
                                              bars + [tuple(bar) for bar in peers] + W1["bars"])
            text += "\n![Training time an example](results/w1_train.svg)\n"
    if "w1-peers" in kept:
        peers = kept["w1-peers"]
        text += (f"\nBeside other frameworks in turns in one run ({source(peers)}; "
                 f"{command(peers)}):\n\n" +
                 kept_table(peers))
    fact, _ = best(kept, "w1-lengths")
    if fact:
        series = {}
        for row in fact["results"]:
            name = "unroll=" + row.get("unroll", "loop")
            series.setdefault(name, []).append((row["parameters"]["steps"], 1e3 * row["compile_s"]))
        pictures["w1_compile"] = plots.lines(
            "Compile time against the length of the sequence", "T", "ms, first step included",
            series, log_x=True, log_y=True)
        steps = sorted({row["parameters"]["steps"] for row in fact["results"]})
        text += (f"\nCompile time from T {steps[0]} to T {steps[-1]}, H 128, B 8, ms, the first "
                 f"step included, which grows with T ({source(fact)}):\n\n" +
                 table(["", *[f"T {T}" for T in steps]],
                       [[name, *[number(dict(points).get(T), 3) for T in steps]]
                        for name, points in series.items()]) +
                 "\n![Compile time against T](results/w1_compile.svg)\n")
    return text, pictures


def perplexity_rows(fact, reference):
    rows = []
    for epoch in fact["epochs"]:
        other = reference[epoch["epoch"] - 1] if epoch["epoch"] <= len(reference) else None
        rows.append([str(epoch["epoch"]), number(epoch.get("learning_rate"), 6),
                     f"{epoch['train_perplexity']:.2f}", f"{epoch['valid_perplexity']:.2f}",
                     f"{other:.1f}" if other else "-"])
    return table(["epoch", "rate", "train", "validation", "PyTorch's validation"], rows, 0)


def reference_speed(kept, name, speed_of):
    """A sentence with the reference's speed in PyTorch, if it was measured."""
    fact = kept.get(name)
    if not fact:
        return ""
    return (f"\nThe reference in PyTorch {fact['torch']}, eager: {speed_of(fact)} ({source(fact)}; "
            f"{command(fact)}).\n")


def words_a_second(words_of_a_step):
    return lambda fact: (f"{number(words_of_a_step * fact['steps'] / fact['seconds_of_steps'])} "
                         "words a second")


def microseconds_a_sample(fact):
    seconds = fact["seconds_of_steps"]
    return f"{1e6 * seconds / W4['samples']:.1f} us a sample, {seconds:.1f} s an epoch"


def trained_beside_the_reference(kept, name, title):
    """A fact that is a table with its own text."""
    fact = kept.get(name)
    if not fact:
        return ""
    return (f"\n### {title}\n\n{fact['introduction']}\n\n" + kept_table(fact) +
            "".join(f"\n{note}\n" for note in fact.get("notes", [])))


def penn_treebank(kept):
    """W2: perplexities next to the reference's and the published ones; words per second."""
    text = "## W2 `ptb-lm`: words of the Penn Treebank\n"
    pictures = {}
    fact = kept.get("w2-small")
    if fact:
        ours = [fact["epochs"][-1]["train_perplexity"], fact["epochs"][-1]["valid_perplexity"],
                fact["end"]["test_perplexity"]]
        rows = [[name, *[f"{value:.2f}" for value in values]]
                for name, values in (("graphc", ours), *W2["small"])]
        text += (f"\nSize small, {len(fact['epochs'])} epochs ({source(fact)}). The reference is "
                 "`tools/references/ptb_lm.py`, PyTorch with a seed of its own. Perplexities:\n\n" +
                 table(["", "train", "validation", "test"], rows) +
                 "\n**The published figure of training cannot be right**: it does not follow "
                 "from the recipe. The reference does not reach it either.\n\n" +
                 perplexity_rows(fact, W2["reference"]) +
                 f"\n{command(fact)}\n")
    quick = kept.get("w2-small-quick")
    if quick:
        text += (f"\nOne epoch again ({source(quick)}): training "
                 f"{quick['epochs'][0]['train_perplexity']:.2f}, "
                 f"validation {quick['epochs'][0]['valid_perplexity']:.2f}, "
                 f"test {quick['end']['test_perplexity']:.2f}, "
                 f"{number(quick['epochs'][0]['words_per_s'])} words a second; the reference's "
                 f"validation after it is {W2['reference'][0]}.\n")
        pictures["w2_loss"] = plots.lines("ptb-lm small, the first epoch", "step", "nats a word",
                                          {"training": quick["curve"]})
        text += "\n![Loss of the first epoch](results/w2_loss.svg)\n"
    speed, _ = best(kept, "w2-threads")
    if speed:
        rows = [[str(row["threads"]), number(row["words_per_s"]),
                 f"{100 * row['train_fraction_of_peak']:.0f} %", number(row["compile_s"]),
                 f"{row['peak_bytes'] / 2**20:.0f}"] for row in speed["results"]]
        text += (f"\nSpeed of size small ({source(speed)}). Published: 52,000 words a second on "
                 f"a GTX 1080.\n\n" +
                 table(["threads", "words a second", "of the peak", "compile (s)", "MiB of a step"],
                       rows, 0) + f"\n{command(speed)}\n" +
                 reference_speed(kept, "w2-reference", words_a_second(20 * 20)))
        points = [(row["threads"], row["words_per_s"]) for row in speed["results"]]
        if len(points) > 1:
            pictures["w2_threads"] = plots.lines("ptb-lm small: speed against threads", "threads",
                                                 "words a second", {"graphc": points})
            text += "\n![Words a second against threads](results/w2_threads.svg)\n"
    text += trained_beside_the_reference(kept, "w2-medium", "Size medium, three epochs")
    if "first-losses" in kept:
        first = kept["first-losses"]
        text += (f"\n### The first losses beside PyTorch, W2 and W3\n\n"
                 f"{first['introduction']}\n\n" +
                 kept_table(first) + "\n" + "\n\n".join(first["notes"]) + "\n")
    return text, pictures


def wikitext(kept):
    """W3: 20 steps; why the published words per second are not comparable."""
    text = ("## W3 `wikitext2-lm`: words of WikiText-2\n\nPublished, words a second: " +
            W3["published"] +
            ". **These cannot be right**: the clock was read without waiting for the device. A "
            "word is 254.8 MFLOP to train, so 547,106 a second are 139 TFLOP/s on a card of 10.6. "
            "What was measured is how fast the host queues launches.\n")
    fact, _ = best(kept, "w3-steps")
    if not fact:
        return text + "\nNot measured on this machine.\n", {}
    name, speed = next(iter(fact["speed"].items()))
    points = fact["curve"]
    text += (f"\n{fact['steps']} steps of 128 x 128 words ({source(fact)}): {number(speed)} "
             f"{name.removesuffix('_per_s')} a second, {254.8e-3 * speed:.0f} GFLOP/s; loss "
             f"{points[0][1]:.4f} at step {points[0][0]}, {points[-1][1]:.4f} at step "
             f"{points[-1][0]}.\n"
             f"\n{command(fact)}\n"
             + reference_speed(kept, "w3-reference", words_a_second(128 * 128)))
    text += trained_beside_the_reference(kept, "w3-dropout", "With dropout, 50 steps")
    return text, {}


def characters(kept):
    """W4: Nietzsche; a loop and unrolled; which published count cannot be correct."""
    text = ("## W4 `char-lstm`: characters\n\nPublished, seconds an epoch at batch 128 "
            "(Keras-MXNet / Keras-TensorFlow):\n\n" + table(["", *W4["corpora"]], W4["rows"]) +
            "\n**The published sample count of WikiText-2 cannot be right**: it is off by a "
            "factor of 2.16 from the 3.381 million that the published times a sample and an "
            "epoch imply. We count 3,300,367 windows. So we compare times a sample.\n")
    pictures = {}
    speed, _ = best(kept, "w4-unroll")
    if speed:
        rows = [[str(row["parameters"]["unroll"]).lower(), number(row["compile_s"]),
                 number(1e3 * row["train_ms"]), number(1e-3 * row["train_ms"] * W4["samples"]),
                 f"{row['peak_bytes'] / 2**20:.1f}"] for row in speed["results"]]
        text += (f"\ngraphc, Nietzsche, a loop and 40 copies of the cell ({source(speed)}):\n\n" +
                 table(["unroll", "compile (s)", "us a sample", "s an epoch", "MiB of a step"],
                       rows) +
                 f"\n{command(speed)}\n" +
                 reference_speed(kept, "w4-reference", microseconds_a_sample))
    if "w4-drawn" in kept:
        drawn = kept["w4-drawn"]
        text += (f"\n### Nietzsche, trained\n\n{drawn['introduction']}\n\n" + kept_table(drawn) +
                 "\n" + "\n\n".join(drawn["notes"]) + "\n")
    text += trained_beside_the_reference(kept, "w4-beside", "Nietzsche beside the reference")
    fact = kept.get("w4-nietzsche")
    if fact:
        rows = [[str(epoch["epoch"]), f"{epoch['train_loss']:.3f}"] for epoch in fact["epochs"]]
        text += (f"\nMean loss of each epoch, nats a character ({source(fact)}):\n\n" +
                 table(["epoch", "loss"], rows, 0) + f"\n{command(fact)}\n")
    quick = kept.get("w4-nietzsche-quick")
    if quick:
        name, rate = next(iter(quick["speed"].items()))
        text += (f"\nOne epoch again ({source(quick)}): mean loss "
                 f"{quick['epochs'][0]['train_loss']:.3f}; "
                 f"{1e6 / rate:.1f} us a {name.removesuffix('s_per_s')}, "
                 f"{W4['samples'] / rate:.1f} s an epoch.\n")
        pictures["w4_loss"] = plots.lines("char-lstm on Nietzsche, the first epoch", "step",
                                          "nats a character", {"training": quick["curve"]})
        text += "\n![Loss of the first epoch](results/w4_loss.svg)\n"
    return text, pictures


def variants(kept):
    """W5: the classification task next to its reference."""
    text = "## W5 `rnn-variants`\n"
    fact = kept.get("w5-classification")
    if fact:
        text += (f"\n{fact['introduction']}\n\n" + kept_table(fact) + "\n" +
                 "\n\n".join(fact["notes"]) + "\n")
    text += trained_beside_the_reference(kept, "w5-returnn", "Frames of rows of different lengths")
    return text, {}


def left_out(kept):
    """What was not measured, and why."""
    del kept
    return ("## Left out\n\n"
            "- GPUs: nothing of this was trained on one. What the CUDA target has run on a GPU is "
            "in\n  [performance.md](performance.md#gpu-nvidia-h100).\n"
            "- ptb-lm medium and large to their ends, and whole epochs of wikitext2-lm: 39 and 55 "
            "epochs of 74 and 285 TFLOP, and ten of 526, take days on two cores. Their first "
            "losses are compared above.\n"
            "- Several devices: what ranks on CPUs reach is in "
            "[several-machines.md](several-machines.md#measured); no\n"
            "  GPU trains with another.\n"), {}


ALL = (layer, penn_treebank, wikitext, characters, variants, left_out)
