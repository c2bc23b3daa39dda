"""Drives a running gateway with the official OpenAI client for Python."""

import sys

import answers  # noqa: F401  the imports register the cases
import failures  # noqa: F401
import prompts  # noqa: F401
import streams  # noqa: F401
from kit import run

sys.exit(1 if run() else 0)
