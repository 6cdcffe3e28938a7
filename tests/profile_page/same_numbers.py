#!/usr/bin/env python3
"""Whether summary, memory and operations of a report's page show the numbers of its JSON.

usage: same_numbers.py DOM REPORT.JSON

The page as a browser has it is read as text; a number may differ by half of its last digit.
"""
import html.parser
import json
import re
import sys

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


class Page(html.parser.HTMLParser):
    """Texts by the ids of the elements that hold them, and the cells of their tables."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.rows = [], {}, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in ("meta", "input", "br", "link"):
            return
        self.open.append((tag, dict(attributes).get("id")))
        for _, name in self.open:
            if tag == "tr":
                self.rows.setdefault(name, []).append([])
            elif tag in ("td", "th"):
                self.rows[name][-1].append("")

    def handle_endtag(self, tag):
        if tag in (name for name, _ in self.open):
            while self.open.pop()[0] != tag:
                pass

    def handle_data(self, data):
        in_cell = any(tag in ("td", "th") for tag, _ in self.open)
        for name in {name for _, name in self.open}:
            self.text[name] = self.text.get(name, "") + data + "\n"
            if in_cell and name in self.rows:
                self.rows[name][-1][-1] += data


def numbers(text):
    return re.findall(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?: (?:[KMGT]i)?B\b)?", text)


def is_same(shown, meant):
    if isinstance(meant, str):
        return shown == meant
    found = numbers(shown)
    if len(found) != 1:
        return False
    number, _, unit = found[0].replace(",", "").partition(" ")
    scale = UNITS.get(unit, 1)
    half = 0.5 * 10.0 ** -len(number.partition(".")[2]) * scale if "." in number or not unit else 0
    return abs(float(number) * scale - meant) <= half * 1.000001


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        page = Page(f.read())
    with open(sys.argv[2], encoding="utf-8") as f:
        r = json.load(f)
    run, memory, steps, variables = r["execution"], r["memory"], r["steps"], r["variables"]
    ipus, tiles, capacity = r["target"]["ipus"], r["target"]["tiles_per_ipu"], memory["capacity"]
    cycles, us, kinds = run["cycles"], run["microseconds"], run["by_kind"]
    categories = memory["by_tile_and_category"]
    count, wrong = 0, []

    def compare(what, shown, meant):
        nonlocal count
        count += len(meant)
        good = len(shown) == len(meant) and all(map(is_same, shown, meant))
        if not good:
            wrong.append("%s: the page shows %s, the report says %s" % (what, shown, meant))

    def share(part, whole):
        return 100 * part / whole if whole else 0

    def table(name, rows):
        shown = page.rows[name][1:]  # behind the titles
        compare(name + "'s rows", [str(len(shown))], [len(rows)])
        for a, b in zip(shown, rows):
            compare(name, a, b)

    compare("machine", numbers(page.text["machine"].split(" ", 1)[1]),
            [ipus, tiles, r["target"]["bytes_per_tile"], r["target"]["clock_hz"] / 1e6])
    compare("cards", numbers(page.text["cards"]),
            [cycles, us, 1e6 / us, share(memory["fullest_tile_bytes"], capacity), memory["fullest_tile"],
             memory["fullest_tile_bytes"], memory["bytes"], share(memory["bytes"], capacity * tiles * ipus),
             memory["tiles_out_of_memory"], run["flops"] / us / 1e6, 100 * run["share_of_peak"],
             share(run["busy_compute_cycles"] * ipus, kinds["OnTileExecute"]), len(steps["kind"]),
             len(r["operations"])])
    legend = numbers(page.text["kindlegend"])
    by_size = sorted(zip(legend[::2], legend[1::2]), key=lambda pair: int(pair[0].replace(",", "")))
    compare("kinds of steps", [n for pair in by_size for n in pair],
            [n for c in sorted(kinds.values()) if c for n in (c, share(c, cycles * ipus))])
    if ipus > 1:
        of_ipu = [memory["by_tile"][i * tiles:(i + 1) * tiles] for i in range(ipus)]
        spent = [sum(c * n for c, n, at in zip(steps["cycles"], steps["repeats"], steps["ipu"]) if at == i)
                 for i in range(ipus)]
        ends = [max([s + c * n for s, c, n, at in zip(steps["start"], steps["cycles"], steps["repeats"], steps["ipu"])
                     if at == i], default=0) for i in range(ipus)]
        table("ipus", [[i, spent[i], share(spent[i], cycles), share(ends[i] - spent[i], cycles),
                        share(cycles - ends[i], cycles), sum(b), share(sum(b), capacity * tiles), max(b)]
                       for i, b in enumerate(of_ipu)])

    compare("memory by category", numbers(page.text["memlegend"]), [sum(c) for c in categories.values()])
    tile = memory["fullest_tile"]
    step = memory["peak_step_by_tile"][tile]
    compare("the fullest tile", numbers(page.text["tilename"]), [tile, step, memory["by_tile"][tile]])

    def where(v):
        return "always" if variables["always_live"][v] else "steps %d – %d" % (
            variables["first_step"][v], variables["last_step"][v])

    def live(v, s):
        return variables["first_step"][v] <= s <= variables["last_step"][v]

    def largest_first(column, chosen):
        return sorted(chosen, key=lambda v: -variables[column][v])

    numbered = range(len(variables["name"]))
    here = [v for v in numbered if (variables["always_live"][v] or live(v, step)) and
            variables["ipu"][v] == tile // tiles and
            (tile % tiles - variables["first_tile"][v]) % tiles < variables["tiles"][v]]
    table("tilevars", [[variables["name"][v], variables["category"][v], variables["largest_on_tile"][v], where(v)]
                       for v in largest_first("largest_on_tile", here)[:60]])
    by_step = memory["not_always_live_by_step"]
    peak = by_step.index(max(by_step))
    compare("the largest step", numbers(page.text["stepname"].split(",")[0] + page.text["stepname"].rpartition(":")[2]),
            [peak, by_step[peak]])
    then = [v for v in numbered if not variables["always_live"][v] and live(v, peak)]
    table("stepvars", [[variables["name"][v], variables["bytes"][v], variables["tiles"][v],
                        variables["largest_on_tile"][v], where(v)] for v in largest_first("bytes", then)[:80]])

    used = [sum(b for b, at in zip(variables["bytes"], variables["operation"]) if at == i)
            for i in range(len(r["operations"]))]
    table("ops", [[o["type"], o["name"], o["cycles"], share(o["cycles"], cycles), o["flops"], 100 * o["share_of_peak"],
                   o["output_bytes"], b, o["plan"]]
                  for o, b in sorted(zip(r["operations"], used), key=lambda x: -x[0]["cycles"])[:600]])
    for line in wrong:
        print(line, file=sys.stderr)
    print("%d numbers and names compared, %d places differ" % (count, len(wrong)))
    sys.exit(1 if wrong else 0)


main()
