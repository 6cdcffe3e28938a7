"""join.py SIZE FOLDER FILE...: writes FOLDER/joined0.cpp, ... that include SIZE of the files each.

The headers of all come first and are read once; then each file has a namespace of its own, since tests use the
same names in many files. A source that stays as it was is not written again, so that it is not compiled again.
"""

import re
import sys
from pathlib import Path


def included(file: Path) -> list[str]:
    lines = []
    for name in re.findall(r'^#include ([<"].+[>"])$', file.read_text(), re.MULTILINE):
        beside = file.parent / name.strip('"')
        lines.append(f'#include "{beside.resolve()}"' if name[0] == '"' and beside.exists() else f'#include {name}')
    return lines


def joined(files: list[Path]) -> str:
    lines = list(dict.fromkeys(line for file in files for line in included(file)))
    for file in files:
        name = re.sub(r'\W', '_', '_'.join(file.parts[-2:]))
        lines += [f'namespace in_{name} {{', f'#include "{file.resolve()}"', '}']
    return '\n'.join(lines) + '\n'


def main(size: int, folder: Path, files: list[Path]) -> None:
    for number, first in enumerate(range(0, len(files), size)):
        source = folder / f'joined{number}.cpp'
        text = joined(files[first:first + size])
        if not source.exists() or source.read_text() != text:
            source.write_text(text)


main(int(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
