"""Run the benchmarks: python -m benchmarks [name ...]

Each prints ratios against a stated reference that runs side by side with it in the same process; times alone mean little.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

NAMES = ("extraction", "memory", "divergence", "dependencies", "masking", "heads", "growth")


def main() -> None:
    """Run the named benchmarks, or all of them."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))
    from attention_atlas.workflow.config import environment

    # As in jobs, freed memory is kept; the C library reads this when a program starts.
    kept = environment({"device": "auto", "data_mirror": None})
    if not kept.items() <= os.environ.items():
        os.execve(sys.executable, sys.orig_argv, os.environ | kept)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="benchmarks to run (default: all)")
    for name in parser.parse_args().names or NAMES:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").run()


if __name__ == "__main__":
    main()
