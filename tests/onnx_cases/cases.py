#!/usr/bin/env python3
"""Runs the node cases of the newest package `onnx` (operator sets 18 and newer) through the program.

usage: cases.py HALFTONE [--name TEXT]... [--keep DIR] [--all] [--json FILE]

Without the package, or with one older than 1.20, it says so and leaves with code 77. expected_failures.txt, beside this
script, lists the cases that may fail: a name (or a pattern with *) and the reason. Another case that fails is a failure, and
so is a listed one that passes. The last line is 'N passed, M failed'.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))


def expected_failures():
    expected = {}
    with open(os.path.join(HERE, "expected_failures.txt")) as f:
        for number, line in enumerate(f, 1):
            words = line.split("#")[0].split(None, 1)
            if words and len(words) < 2:
                sys.exit("expected_failures.txt:%d: no reason given" % number)
            if words:
                expected[words[0]] = words[1].strip()
    return expected


def message(onnx, value, info):
    """The value as a message of ONNX's, as the type of the input or output asks for."""
    from onnx import numpy_helper
    import numpy as np

    kind = info.type.WhichOneof("value")
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto, onnx.MapProto)):
        if kind == "optional_type" and not isinstance(value, onnx.OptionalProto):
            wrapped = onnx.OptionalProto()
            if isinstance(value, onnx.TensorProto):
                wrapped.elem_type = onnx.OptionalProto.TENSOR
                wrapped.tensor_value.CopyFrom(value)
            else:
                wrapped.elem_type = onnx.OptionalProto.SEQUENCE
                wrapped.sequence_value.CopyFrom(value)
            return wrapped
        return value
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def value_of(onnx, proto):
    from onnx import numpy_helper
    if isinstance(proto, onnx.TensorProto):
        return numpy_helper.to_array(proto)
    if isinstance(proto, onnx.SequenceProto):
        return numpy_helper.to_list(proto)
    if isinstance(proto, onnx.OptionalProto):
        return numpy_helper.to_optional(proto)
    return numpy_helper.to_dict(proto)


def differs(got, want, rtol, atol, where):
    import numpy as np
    if isinstance(want, list) or isinstance(got, list):
        if not isinstance(got, list) or not isinstance(want, list) or len(got) != len(want):
            return "%s: another sequence" % where
        for i, (g, w) in enumerate(zip(got, want)):
            d = differs(g, w, rtol, atol, "%s[%d]" % (where, i))
            if d:
                return d
        return None
    if want is None or got is None:
        return None if got is None and want is None else "%s: %r, expected %r" % (where, got, want)
    if isinstance(want, dict):
        return None if got == want else "%s: another map" % where
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype and not (got.dtype.kind in "OUS" and want.dtype.kind in "OUS"):
        return "%s: type %s, expected %s" % (where, got.dtype, want.dtype)
    if got.shape != want.shape:
        return "%s: shape %s, expected %s" % (where, got.shape, want.shape)
    if want.dtype.kind in "OUS":
        text = lambda x: x.decode() if isinstance(x, bytes) else str(x)
        bad = [(text(g), text(w)) for g, w in zip(got.ravel(), want.ravel()) if text(g) != text(w)]
        return "%s: %r, expected %r" % ((where,) + bad[0]) if bad else None
    if want.dtype.kind in "biu":
        bad = np.flatnonzero(got.ravel() != want.ravel())
    else:
        kind = np.complex128 if want.dtype.kind == "c" else np.float64
        g, w = got.astype(kind).ravel(), want.astype(kind).ravel()
        # Two units in the last place of narrow types: the order of sums is left open.
        rtol = max(rtol, {"float16": 2**-9, "bfloat16": 2**-6}.get(want.dtype.name, 0))
        with np.errstate(all="ignore"):
            good = (g == w) | (np.abs(g - w) <= atol + rtol * np.abs(w)) | (np.isnan(g) & np.isnan(w))
        bad = np.flatnonzero(~good)
    if len(bad):
        return "%s: %d of %d values differ, first [%d] %s expected %s" % (
            where, len(bad), want.size, bad[0], got.ravel()[bad[0]], want.ravel()[bad[0]])
    return None


def is_random(case):
    """Whether the outputs are random numbers, whose values ONNX leaves open: types and shapes are compared."""
    random = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}
    nodes = case.model.graph.node
    return any(n.op_type in random for n in nodes) or "training_dropout" in case.name and "zero_ratio" not in case.name


def run_case(job):
    onnx, cli, case, folder = job
    graph = case.model.graph
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as f:
        f.write(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        out = os.path.join(folder, "out%d" % number)
        command = [cli, "run", path, "--output-dir", out]
        for i, (value, info) in enumerate(zip(inputs, graph.input)):
            file = os.path.join(folder, "input_%d_%d.pb" % (number, i))
            with open(file, "wb") as f:
                f.write(message(onnx, value, info).SerializeToString())
            command += ["--input", "%s=%s" % (info.name, file)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, text=True,
                              errors="replace")
        if done.returncode != 0:
            return "exit %d: %s" % (done.returncode, (done.stderr.strip().splitlines() or ["no message"])[-1][:300])
        for i, (value, info) in enumerate(zip(outputs, graph.output)):
            want = message(onnx, value, info)
            got = type(want)()
            with open(os.path.join(out, "output_%d.pb" % i), "rb") as f:
                got.ParseFromString(f.read())
            wanted = value_of(onnx, got if is_random(case) else want)
            if is_random(case) and got.dims != want.dims:
                return "%s: shape %s, expected %s" % (info.name, list(got.dims), list(want.dims))
            if type(want) is onnx.TensorProto and len(want.string_data) == 0 and got.data_type != want.data_type:
                return "%s: type %d, expected %d" % (info.name, got.data_type, want.data_type)
            d = differs(value_of(onnx, got), wanted, max(case.rtol or 0, 1e-3), max(case.atol or 0, 1e-5), info.name)
            if d:
                return d
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("halftone")
    parser.add_argument("--name", action="append", default=[], help="only cases whose name contains this")
    parser.add_argument("--keep", metavar="DIR", help="keep models, inputs and outputs there")
    parser.add_argument("--all", action="store_true", help="also cases of older operator sets")
    parser.add_argument("--json", metavar="FILE", help="write every result there")
    options = parser.parse_args()
    try:
        import onnx
        from onnx.backend.test.case import node as node_cases
        if tuple(int(v) for v in onnx.__version__.split(".")[:2]) < (1, 20):
            raise ImportError("onnx %s is older than 1.20" % onnx.__version__)
    except ImportError as e:
        print("skipped: %s" % e)
        return 77
    expected = expected_failures()
    folder = options.keep or tempfile.mkdtemp(prefix="onnx_cases_")
    jobs, names = [], set()
    for case in node_cases.collect_testcases(None):
        newest = max(o.version for o in case.model.opset_import)
        is_new = any(o.domain not in ("", "ai.onnx") or o.version >= 18 for o in case.model.opset_import)
        if case.name in names or not (is_new or options.all) or newest == 0:
            continue
        if options.name and not any(n in case.name for n in options.name):
            continue
        names.add(case.name)
        jobs.append((onnx, os.path.abspath(options.halftone), case, os.path.join(folder, case.name)))

    def guarded(job):
        try:
            return run_case(job)
        except Exception as e:  # a case that cannot be written or read
            return "%s: %s" % (type(e).__name__, e)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(guarded, jobs))
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    passed, failed, used, by_operator = 0, 0, set(), collections.Counter()
    for (_, _, case, _), note in zip(jobs, results):
        patterns = [p for p in expected if fnmatch.fnmatchcase(case.name, p)]
        used.update(patterns)
        if (note is None) != bool(patterns):
            passed += 1
            continue
        failed += 1
        by_operator[case.model.graph.node[0].op_type if case.model.graph.node else "?"] += 1
        print("passes, but is listed: %s" % case.name if note is None else "fails: %s: %s" % (case.name, note))
    if not options.name:
        for pattern in sorted(set(expected) - used):
            failed += 1
            print("fits no case: %s" % pattern)
    if options.json:
        with open(options.json, "w") as f:
            json.dump([{"name": j[2].name, "note": n} for j, n in zip(jobs, results)], f, indent=1)
    good = sum(r is None for r in results)
    print("%d of %d cases pass (%.1f %%, onnx %s)" % (good, len(results), 100.0 * good / max(len(results), 1), onnx.__version__))
    if by_operator:
        print("by first operator: " + ", ".join("%s %d" % item for item in by_operator.most_common()))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
