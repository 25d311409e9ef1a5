from __future__ import annotations

import errno
import json
from types import SimpleNamespace

import pytest

from panelake import cli
from panelake.errors import GateRefusedError, TransientError


@pytest.fixture
def fails(monkeypatch):
    """Make every command fail with the error given."""

    def arrange(error: BaseException) -> None:
        def run(_options):
            raise error

        command = SimpleNamespace(run=run, add_options=lambda _command: None)
        monkeypatch.setattr(cli, "import_module", lambda _name: command)

    return arrange


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (GateRefusedError("slice refused"), 1, "slice refused"),
        (TransientError("server away"), 3, "server away"),
        (KeyboardInterrupt(), 4, "interrupted"),
        (OSError("Generic LocalFileSystem error\n ↳ No space left on device (os error 28)"), 3, "a disk is full"),
        (OSError(errno.ENOSPC, "No space left on device"), 3, "No space left on device"),
        (ZeroDivisionError("by zero\nmore"), 3, "ZeroDivisionError: by zero. Nothing half-done counts"),
    ],
)
def test_every_failure_has_its_exit_code_and_one_message(fails, capsys, error, code, said):
    fails(error)
    assert cli.main(["check"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


def test_with_json_a_failure_is_the_one_document(fails, capsys):
    fails(ValueError("odd"))
    assert cli.main(["check", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == 3
    assert "odd" in document["error"]
