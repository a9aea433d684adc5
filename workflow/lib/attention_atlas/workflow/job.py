"""What every job script does around its one library call."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import platform
import random
import sys
from collections.abc import Iterator
from typing import Any

from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.messages import RedactingFormatter


@contextlib.contextmanager
def job(snakemake: Any, downloads: bool = False) -> Iterator[logging.Logger]:
    """Log to the rule's log file, and warnings to standard error, too; fix seeds and threads, and end failures properly.

    Only jobs on the submitting machine set `downloads`. In all other jobs the hub's libraries work offline, since cluster
    nodes often have no network.

    An `AtlasError` is logged as one line and ends the job with status 1; any other exception leaves its traceback in the log. A
    damaged input is renamed, so that a restart makes it again.
    """
    threads = str(getattr(snakemake, "threads", 1) or 1)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if not downloads:
        # Also where the libraries are imported already.
        os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
        for module in filter(None, map(sys.modules.get, ("huggingface_hub.constants", "datasets.config"))):
            for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
                if hasattr(module, name):
                    setattr(module, name, True)
    random.seed(0)
    # Imported modules stay until the end: the garbage collector need not scan them each time that 700 more objects are made,
    # which takes a sixth of the time that torch and transformers need to be imported. Scripts import inside of this.
    gc.set_threshold(100_000, 50, 50)
    warnings = logging.StreamHandler(sys.stderr)
    warnings.setLevel(logging.WARNING)
    handlers: list[logging.Handler] = [logging.FileHandler(str(snakemake.log[0]), mode="w", encoding="utf-8"), warnings]
    root = logging.getLogger()
    for handler in handlers:
        handler.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        root.addHandler(handler)
    root.setLevel(logging.INFO)
    for noisy in ("httpx", "httpcore", "urllib3", "fsspec", "matplotlib", "fontTools"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    log = logging.getLogger(str(snakemake.rule))
    log.info("rule %s on Python %s, %s threads", snakemake.rule, platform.python_version(), threads)
    try:
        yield log
        log.info("done")
    except DamagedFile as error:
        log.error("%s", error)
        # Another job may have renamed it already.
        with contextlib.suppress(FileNotFoundError):
            error.path.replace(error.path.with_name(f"{error.path.name}.damaged"))
            log.error("renamed to %s.damaged; start again to rebuild this file and what depends on it", error.path.name)
        sys.exit(1)
    except AtlasError as error:
        log.error("%s", error)
        sys.exit(1)
    except Exception:
        log.exception("rule %s failed", snakemake.rule)
        # Python would print the traceback again, with the secrets in it.
        sys.exit(1)
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        # Nor at exit, where a collection takes a second after a job with a model.
        gc.freeze()
