# SPDX-License-Identifier: Apache-2.0
# Arrays in and out: what is read where it is, what is copied, what is refused, who owns what.
import ctypes
import gc
import sys
import unittest
import weakref

import numpy as np

import graphc
from graphc import bf16, f32

KINDS = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint32": "u32",
         "uint8": "u8", "bool": "bool"}


def session_of(dtype, dims=("a", "b"), **options):
    model = graphc.Model("copy")

    @model.graph("f")
    def f(inputs):
        x = inputs("x", dtype, list(dims))
        return graphc.reverse(x, [0]) if x.rank > 0 else graphc.reshape(x, [1])

    return graphc.Session(model, announce=str, **options)


class Inputs(unittest.TestCase):
    def test_every_element_type_and_every_layout(self):
        rng = np.random.default_rng(1)
        for name, kind in KINDS.items():
            session = session_of(kind)
            base = rng.integers(0, 2 if name == "bool" else 100, (6, 8)).astype(name)
            raw = np.zeros(6 * 8 * base.itemsize + 1, "u1")
            unaligned = raw[1:].view(base.dtype).reshape(6, 8)
            unaligned[:] = base
            readonly = base.copy()
            readonly.flags.writeable = False
            for x in (base, base.T, base[::2], base[::-1], base[:, ::-3], base[1:2], base[:, 3:4],
                      np.broadcast_to(base[0], (3, 8)), np.asfortranarray(base), readonly,
                      unaligned, base[:0], base[:, :0], memoryview(base), base.tolist()):
                y = session("f", x)
                wanted = np.asarray(x)[::-1]
                np.testing.assert_array_equal(y, wanted)
                self.assertEqual(y.dtype, base.dtype)
                self.assertTrue(y.flags.c_contiguous and y.flags.writeable)

    def test_numbers_are_converted_as_in_cpp_and_never_silently_wrong(self):
        x = np.array([[0.5, 2.0]])
        np.testing.assert_array_equal(session_of("f32")("f", x), x.astype("f4"))
        np.testing.assert_array_equal(session_of("f32")("f", x.astype("i8")), [[0, 2]])
        np.testing.assert_array_equal(session_of("f64")("f", x.astype("f4")), x)
        np.testing.assert_array_equal(session_of("u8")("f", x.astype("i4")), [[0, 2]])
        for dtype, wrong in (("i32", x), ("u8", np.array([[300]])), ("u8", np.array([[-1]])),
                             ("f32", np.array([[1e300]])), ("bool", x), ("f32", x == 2)):
            with self.assertRaises(graphc.InputError, msg=f"{dtype} {wrong}"):
                session_of(dtype)("f", wrong)

    def test_what_is_no_array_of_ours_is_refused(self):
        session = session_of(f32)
        for wrong in (np.zeros((2, 2), "f2"), np.zeros((2, 2), "i2"), np.zeros((2, 2), "c8"),
                      np.zeros((2, 2), ">f4"), np.array([["a", "b"]]), np.array([[None, 1]]), "xy",
                      None, {1: 2}, object(), [[1, 2], [3]], [["a"]], np.zeros(3, "f4"),
                      np.zeros((1,) * 9, "f4"), np.zeros((2, 2), "M8[s]"), 2**70):
            with self.assertRaises((graphc.InputError, ValueError), msg=repr(wrong)):
                session("f", wrong)
        with self.assertRaisesRegex(graphc.InputError, "input 0.*MaskedArray, whose mask"):
            session("f", np.ma.masked_array(np.zeros((2, 2), "f4"), mask=True))
        with self.assertRaisesRegex(graphc.InputError, "input 0.*float16"):
            session("f", np.zeros((2, 2), "f2"))
        with self.assertRaisesRegex(graphc.InputError, "by position or by name"):
            session("f", 1, x=2)

    def test_an_input_is_read_where_it_is(self):
        # A copy of the input would take as long as the graph, which reads one element of each row.
        model = graphc.Model("m")

        @model.graph("f")
        def f(inputs):
            return inputs("x", f32, [4, 1 << 20])[:, :1]

        session = graphc.Session(model, announce=str, threads=1)
        x = np.zeros((4, 1 << 20), "f4")
        session("f", x)
        before = peak_kib()
        for _ in range(3):
            session("f", x)
        self.assertLess(peak_kib() - before, 8 << 10)
        session("f", np.asfortranarray(x))
        self.assertGreater(peak_kib() - before, 8 << 10)

    def test_scalars(self):
        session = session_of(f32, dims=())
        for one in (1.5, np.float32(1.5), np.float64(1.5), np.array(1.5)):
            self.assertEqual(float(session("f", one)[0]), 1.5)
        self.assertEqual(float(session("f", 3)[0]), 3)
        self.assertEqual(session_of("bool", dims=())("f", True).tolist(), [True])


def peak_kib():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def resident_kib():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Results(unittest.TestCase):
    def test_results_own_their_memory(self):
        session = session_of(f32)
        x = np.arange(6, dtype="f4").reshape(2, 3)
        first = session("f", x)
        kept, view = first.copy(), first[0, 1:]
        second = session("f", x + 1)
        np.testing.assert_array_equal(first, kept)
        self.assertFalse(np.shares_memory(first, second))
        first[:] = -1  # the caller's own: no run sees it
        np.testing.assert_array_equal(session("f", x), kept)
        del session, first
        gc.collect()
        np.testing.assert_array_equal(view, [-1, -1])

    def test_dlpack_out(self):
        y = session_of(f32)("f", np.ones((2, 3)))
        again = np.from_dlpack(y)
        self.assertTrue(np.shares_memory(y, again))
        self.assertEqual(y.__dlpack_device__(), (1, 0))

    def test_bf16_becomes_f32(self):
        model = graphc.Model("m")

        @model.graph("f")
        def f(inputs):
            return graphc.cast(inputs("x", f32, [3]), bf16)

        y = graphc.Session(model, announce=str, target="reference")("f", [1, 1.00390625, 3])
        self.assertEqual(y.dtype, np.float32)
        np.testing.assert_array_equal(y, [1, 1, 3])

    def test_states_are_copies(self):
        model = graphc.Model("m")
        model.state("s", 2)
        session = graphc.Session(model)
        value = np.array([1, 2], "f4")
        session.set_state("s", value)
        value[:] = 9
        copy = session.state("s")
        np.testing.assert_array_equal(copy, [1, 2])
        copy[:] = 7
        np.testing.assert_array_equal(session.state("s"), [1, 2])
        with self.assertRaisesRegex(graphc.InputError, "state 's' is f32"):
            session.set_state("s", [1, 2, 3])


class Memory(unittest.TestCase):
    def test_thousands_of_calls_leak_nothing(self):
        session = session_of(f32, threads=1)
        x = np.ones((8, 1024), "f4")
        strided = np.ones((1024, 8), "f4").T

        def calls(count):
            for _ in range(count):
                session("f", x)
                session("f", strided)
                session("f", x=x)
                try:
                    session("f", x[0])
                except graphc.InputError:
                    pass

        calls(200)
        gc.collect()
        before, objects, blocks = allocated(), len(gc.get_objects()), sys.getallocatedblocks()
        resident = resident_kib()
        calls(2500)  # each is four: 10,000
        gc.collect()
        # An array lost in each call would be 80 MB, an object of Python 2500 blocks.
        self.assertLess(allocated() - before, 1 << 20)
        self.assertLess(len(gc.get_objects()) - objects, 100)
        self.assertLess(sys.getallocatedblocks() - blocks, 500)
        self.assertLess(resident_kib() - resident, 8 << 10)

    def test_models_go_although_their_graphs_refer_to_them(self):
        class Network:
            def __init__(self):
                self.model = graphc.Model("m")
                self.layer = graphc.Linear(self.model, "layer", 3, 3, weights=self.draw)
                self.model.graph("f", self.f)

            def draw(self, key, shape, dtype):
                return graphc.filled(shape, 1, dtype)

            def f(self, inputs):
                return self.layer(inputs("x", f32, [1, 3]))

        class Plain(Network):
            def draw(self, key, shape, dtype):
                raise AssertionError("not called")

            def __init__(self):
                self.model = graphc.Model("m")
                self.layer = graphc.Linear(self.model, "layer", 3, 3)
                self.model.graph("f", self.f)

        np.testing.assert_array_equal(graphc.Session(Network().model)("f", [[1, 2, 3]]), [[6] * 3])
        network = Plain()
        graphc.Session(network.model)("f", [[1, 2, 3]])
        gone = weakref.ref(network)
        del network
        gc.collect()
        self.assertIsNone(gone())

    def test_a_session_keeps_its_model(self):
        session = session_of(f32)
        gc.collect()
        np.testing.assert_array_equal(session("f", [[1], [2]]), [[2], [1]])


def allocated():
    """The bytes that malloc has given out and not got back."""
    class Mallinfo2(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost")]

    function = ctypes.CDLL(None).mallinfo2
    function.restype = Mallinfo2
    info = function()
    return info.uordblks + info.hblkhd


if __name__ == "__main__":
    unittest.main()
