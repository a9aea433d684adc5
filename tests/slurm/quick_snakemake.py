"""Snakemake as it is, but it asks for the state of submitted jobs every second: by itself it waits up to three minutes."""

import sys

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

RemoteExecutor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, value: None)
sys.exit(main())
