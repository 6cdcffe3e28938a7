#!/usr/bin/env python3
"""Runs the conformance corpus and compares with the list of cases that may fail.

usage: conformance.py HALFTONE RUN.PY [FOLDER ...]

conformance_expected_failures.txt, beside this script, has one line for each such case: its name (or a pattern with *)
and the reason. Another case that fails is a failure, and so is a listed one that passes, and a line that fits no case.
With --list it prints the lines that the file would need.
"""
import fnmatch
import json
import os
import subprocess
import sys
import tempfile


def main():
    listing = "--list" in sys.argv
    cli, runner, *folders = [a for a in sys.argv[1:] if a != "--list"]
    expected = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance_expected_failures.txt")) as f:
        for number, line in enumerate(f, 1):
            words = line.split("#")[0].split(None, 1)
            if words and len(words) < 2:
                sys.exit("conformance_expected_failures.txt:%d: no reason given" % number)
            if words:
                expected[words[0]] = words[1].strip()

    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "results.json")
        command = [sys.executable, runner, cli, *folders, "--json", path]
        output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if not os.path.exists(path):
            sys.exit("%s gave no results:\n%s" % (runner, output.stdout))
        with open(path) as f:
            results = [r for r in json.load(f) if r["status"] != "skip"]

    passed, failed, used = 0, 0, set()
    for result in results:
        name = result["name"]
        patterns = [p for p in expected if fnmatch.fnmatchcase(name, p)]
        used.update(patterns)
        good = result["status"] == "pass"
        if good != bool(patterns):
            passed += 1
            continue
        failed += 1
        if listing and not good:
            print("%-50s %s: %s" % (name, result["status"], result["note"][:100]))
        elif good:
            print("passes, but is listed: %s (%s)" % (name, patterns[0]))
        else:
            print("fails: %s: %s: %s" % (name, result["status"], result["note"]))
    for pattern in sorted(set(expected) - used):
        failed += 1
        print("fits no case: %s" % pattern)
    allowed = sum(r["status"] != "pass" for r in results)
    print("%d cases pass, %d do not, %d lines allow failures" % (len(results) - allowed, allowed, len(expected)))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
