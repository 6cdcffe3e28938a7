#!/usr/bin/python3
"""Writes the models and tensors that the tests of the program use: make_models.py FOLDER

Needs Debian's python3-onnx and python3-numpy. The files are checked in, in models/.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def main(folder):
    def save(name, nodes, inputs, outputs, initializers=(), opset=13, infos=()):
        graph = helper.make_graph(nodes, name, inputs, outputs,
                                  [numpy_helper.from_array(array, key) for key, array in initializers],
                                  value_info=infos)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
        with open(os.path.join(folder, name + ".onnx"), "wb") as f:
            f.write(model.SerializeToString())

    w = np.array([1, 2, 3], np.float32)
    node = helper.make_node
    # Two outputs; the weight is an input, too, so that a run may replace it.
    save("add", [node("Add", ["x", "w"], ["sum"], name="plus"), node("Relu", ["sum"], ["positive"])],
         [value("x", ["batch", 3]), value("w", [3])],
         [value("sum", ["batch", 3]), value("positive", ["batch", 3])], [("w", w)])
    # Extents that do not fit.
    save("mismatch", [node("MatMul", ["x", "m"], ["y"])], [value("x", [2, 3])], [value("y", [2, 4])],
         [("m", np.ones((5, 4), np.float32))])
    # Two operators that do not exist.
    save("unknown", [node("Frobnicate", ["x"], ["t"]), node("Defrobnicate", ["t"], ["y"])],
         [value("x", [2])], [value("y", [2])])
    # An info that contradicts its node.
    save("wrongly_stated", [node("Relu", ["x"], ["t"]), node("Neg", ["t"], ["y"])], [value("x", [2, 3])],
         [value("y", [2, 3])], infos=[value("t", [2, 4])])
    # Names that a terminal must not see.
    save("hostile_names", [node("Relu", ["x"], ["y\x1b[31m\n"], name="a\nb")], [value("x", [2])],
         [value("y\x1b[31m\n", [2])])
    # One symbol, two inputs.
    save("symbols", [node("Add", ["a", "b"], ["y"])], [value("a", ["n", 2]), value("b", ["n", 2])],
         [value("y", ["n", 2])])
    # An input without a shape, whose type the operator has to know.
    save("no_shape", [node("MeanVarianceNormalization", ["x"], ["y"], axes=[1])], [value("x", None)],
         [value("y", None)])

    def tensor(name, array):
        with open(os.path.join(folder, name + ".pb"), "wb") as f:
            f.write(numpy_helper.from_array(array, "x").SerializeToString())

    x = np.array([[-5, 0, 0.5], [1, -2.5, 100]], np.float32)
    tensor("x", x)
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "x_reversed.npy"), np.asfortranarray(x.astype(">f4")))
    np.save(os.path.join(folder, "scalar_half.npy"), np.float16(0.1))
    np.save(os.path.join(folder, "bools.npy"), np.array([True, False, True]))
    np.save(os.path.join(folder, "empty.npy"), np.zeros((0, 4), np.int64))
    np.save(os.path.join(folder, "text.npy"), np.array(["a"]))


if __name__ == "__main__":
    main(sys.argv[1])
