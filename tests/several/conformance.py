#!/usr/bin/env python3
"""Trains the cases of the conformance corpus in other ways than one IPU and one replica: the results are the same.

usage: conformance.py HALFTONE RUN.PY [FOLDER ...]

Each way is the corpus's own check with another program, this script, which gives the program options of spreading. A
case whose number of micro-batches does not allow a way is trained as it is.
"""
import json
import os
import re
import subprocess
import sys

WAYS = {
    "--recompute standard": lambda micro_batches: True,
    "--ipus 2": lambda micro_batches: True,
    "--replicas 2": lambda micro_batches: micro_batches % 2 == 0,
    "--stages 2": lambda micro_batches: micro_batches >= 2,
}


def spread(way, program, arguments):
    """Becomes the program, with the options of that way where they fit."""
    if "--case" in arguments:
        with open(arguments[arguments.index("--case") + 1]) as f:
            micro_batches = json.load(f).get("accumulation", 1)
        if WAYS[way](micro_batches):
            arguments = arguments + way.split()
    os.execv(program, [program] + arguments)


def main():
    if len(sys.argv) > 2 and sys.argv[1] in WAYS:
        spread(sys.argv[1], sys.argv[2], sys.argv[3:])
    program, runner, *folders = sys.argv[1:]
    passed, failed = 0, 0
    for way in WAYS:
        command = "%s %s '%s' %s" % (sys.executable, os.path.abspath(__file__), way, os.path.abspath(program))
        done = subprocess.run([sys.executable, runner, command, *folders, "--kind", "train"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        counts = re.search(r"(\d+) passed, (\d+) failed\s*$", done.stdout)
        if counts is None or counts[1] == "0":
            sys.exit("%s: %s gave no results:\n%s" % (way, runner, done.stdout))
        passed += int(counts[1])
        failed += int(counts[2])
        if counts[2] != "0":
            print("%s:\n%s" % (way, done.stdout))
    print("%d passed, %d failed" % (passed, failed))


if __name__ == "__main__":
    main()
