#!/usr/bin/env python3
"""Exports models with today's exporters and compares `halftone run` with ONNX Runtime.

usage: export.py HALFTONE [--keep FOLDER] [--only TEXT]

HALFTONE is the program. The models (models.py) are small and have random weights. With --keep, what is exported
stays in the folder and is not exported again until models.py changes. A model whose Python packages are missing is skipped. The last line
is 'N passed, M failed'; the exit code is 1 if one failed.
"""
import argparse
import contextlib
import hashlib
import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

slowest_check = 0.1  # seconds


def missing(needs):
    return [n for n in needs if importlib.util.find_spec(n) is None]


@contextlib.contextmanager
def silence():
    """What exporters print, also from C++, is not shown."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for file in (*kept, nowhere):
            os.close(file)


def is_text(array):
    return array.dtype.kind in "OUS"


def write_case(name, folder):
    """Exports a model and writes it with inputs and ONNX Runtime's outputs for each run."""
    import numpy as np
    import onnx
    import onnxruntime
    from models import all_models
    made = folder + ".part"
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    path = os.path.join(made, "model.onnx")
    runs = all_models[name][0](path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    for k, given in enumerate(runs):
        # torch.export renames inputs that it does not trust to be names; their order stays.
        if set(names) <= set(given):
            given = {n: given[n] for n in names}
        else:
            given = dict(zip(names, given.values()))
        os.makedirs(os.path.join(made, f"run_{k}"))
        for i, (n, array) in enumerate(given.items()):
            tensor = onnx.numpy_helper.from_array(np.asarray(array), n)
            with open(os.path.join(made, f"run_{k}", f"input_{i}.pb"), "wb") as f:
                f.write(tensor.SerializeToString())
        for i, y in enumerate(session.run(None, given)):
            np.save(os.path.join(made, f"run_{k}", f"expected_{i}.npy"), np.array(y, dtype=object if isinstance(y, list) else None))
    with open(os.path.join(made, "case.json"), "w") as f:
        json.dump({"inputs": names, "runs": len(runs)}, f)
    os.rename(made, folder)


def read_output(path):
    import numpy as np
    import onnx
    with open(path, "rb") as f:
        data = f.read()
    array = onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))
    return array.astype(object) if is_text(array) else np.asarray(array)


def difference(found, expected, tolerance):
    """What is wrong with an output, or nothing."""
    import numpy as np
    if found.shape != expected.shape:
        return f"shape {list(found.shape)}, expected {list(expected.shape)}"
    if is_text(expected) or is_text(found):
        texts = [[t.decode() if isinstance(t, bytes) else str(t) for t in a.ravel()] for a in (found, expected)]
        return "" if texts[0] == texts[1] else "other texts"
    if found.dtype != expected.dtype:
        return f"type {found.dtype}, expected {expected.dtype}"
    if found.size == 0:
        return ""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return "other places of NaN or infinity"
    finite = np.isfinite(b)
    scale = max(np.abs(b[finite]).max(initial=0), 1e-3)
    error = np.abs(a - b)[finite].max(initial=0) / scale
    return "" if error <= tolerance else f"differs by {error:.1e} of the largest number"


def compare(halftone, folder, tolerance, environment):
    """Runs check and run on an exported model: ('', seconds of check), or what is wrong."""
    import numpy as np
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    path = os.path.join(folder, "model.onnx")
    fastest = 1e9
    for _ in range(3):
        start = time.monotonic()
        done = subprocess.run([halftone, "check", path], capture_output=True, text=True, env=environment)
        fastest = min(fastest, time.monotonic() - start)
        if done.returncode != 0:
            return last_line(done), fastest
        if fastest < slowest_check:
            break
    for k in range(case["runs"]):
        run = os.path.join(folder, f"run_{k}")
        outputs = os.path.join(run, "found")
        shutil.rmtree(outputs, ignore_errors=True)
        command = [halftone, "run", path, "--output-dir", outputs]
        for i, name in enumerate(case["inputs"]):
            command += ["--input", f"{name}={os.path.join(run, f'input_{i}.pb')}"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            return f"run {k}: {last_line(done)}", fastest
        i = 0
        while os.path.exists(os.path.join(run, f"expected_{i}.npy")):
            expected = np.load(os.path.join(run, f"expected_{i}.npy"), allow_pickle=True)
            try:
                wrong = compare_output(os.path.join(outputs, f"output_{i}.pb"), expected, tolerance)
            except Exception as error:
                wrong = f"cannot be read: {error}"
            if wrong:
                return f"run {k}, output {i}: {wrong}", fastest
            i += 1
    if fastest > slowest_check:
        return f"check takes {fastest:.2f} s", fastest
    return "", fastest


def compare_output(path, expected, tolerance):
    import numpy as np
    if expected.dtype != object or not isinstance(expected.flat[0], dict):
        return difference(read_output(path), expected, tolerance)
    # A sequence of maps, as ZipMap gives it.
    import onnx
    with open(path, "rb") as f:
        found = onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(f.read()))
    if [sorted(m) for m in found] != [sorted(m) for m in expected]:
        return "maps with other keys"
    values = [np.array([m[k] for m in maps for k in sorted(m)], np.float32) for maps in (found, expected)]
    return difference(*values, tolerance)


def last_line(done):
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if line.startswith("error:")), max(len(lines) - 1, 0))
    return " / ".join(lines[start:start + 4])[:300] if lines else f"exit code {done.returncode}"


def forget_older(keep):
    """Removes what another models.py exported."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "models.py"), "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    stamp = os.path.join(keep, "models.sha256")
    if os.path.exists(stamp):
        with open(stamp) as f:
            if f.read() == digest:
                return
        shutil.rmtree(keep)
    os.makedirs(keep, exist_ok=True)
    with open(stamp, "w") as f:
        f.write(digest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("halftone")
    parser.add_argument("--keep", metavar="FOLDER", help="where the exported models stay")
    parser.add_argument("--only", metavar="TEXT", help="models whose names contain this")
    parser.add_argument("--export-only", action="store_true", help="compare nothing")
    options = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    lacking = missing(["numpy", "onnx", "onnxruntime"])
    if lacking:
        print(f"exporters: skipped, the Python packages {', '.join(lacking)} are missing")
        print("0 passed, 0 failed")
        return 0
    from models import all_models
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    environment = {**os.environ, "LC_ALL": "C"}
    passed = failed = 0
    width = max(map(len, all_models))
    with contextlib.ExitStack() as stack:
        keep = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        forget_older(keep)
        for name, (_, tolerance, needs) in all_models.items():
            if options.only and options.only not in name:
                continue
            folder = os.path.join(os.path.abspath(keep), name.replace("/", "-"))
            if not os.path.exists(folder):
                if missing(needs):
                    print(f"{name:{width}}  skipped, without {', '.join(missing(needs))}", flush=True)
                    continue
                try:
                    with silence():
                        write_case(name, folder)
                except Exception as error:
                    os.makedirs(folder + ".part", exist_ok=True)
                    with open(os.path.join(folder + ".part", "error.txt"), "w") as f:
                        traceback.print_exc(file=f)
                    reason = str(error).strip().splitlines() or [type(error).__name__]
                    print(f"{name:{width}}  not exported: {reason[0][:150]}", flush=True)
                    continue
            if options.export_only:
                continue
            wrong, seconds = compare(os.path.abspath(options.halftone), folder, tolerance, environment)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            print(f"{name:{width}}  {'ok' if not wrong else 'FAILED'}  check {seconds * 1000:.0f} ms  {wrong}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
