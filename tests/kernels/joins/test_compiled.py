"""Compiled join kernels outlive the process, and no change to any of their files goes unseen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from panelake.kernels.joins import compiled

PARTS = """
from package.compiled import part

@part
def answer() -> int:
    return {}
"""
KERNEL = """
from package.compiled import kernel
from package.parts import answer

@kernel
def ask() -> int:
    return answer()
"""


def test_a_kernel_is_compiled_once_until_a_file_of_its_folder_changes(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    shutil.copy(Path(compiled.__file__), package)
    (package / "kernels.py").write_text(KERNEL, encoding="utf-8")
    (package / "__init__.py").touch()

    def ask(answer):
        (package / "parts.py").write_text(PARTS.format(answer), encoding="utf-8")
        os.utime(package / "parts.py", (answer, answer))
        script = "from package.kernels import ask; print(ask(), sum(ask.stats.cache_hits.values()))"
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-B", "-c", script]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()

    assert [ask(41), ask(41), ask(42), ask(42)] == [["41", "0"], ["41", "1"], ["42", "0"], ["42", "1"]]
