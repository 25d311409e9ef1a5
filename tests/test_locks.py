from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from panelake.errors import TransientError
from panelake.locks import Locks
from panelake.slices import Slice

PART, OTHER = Slice(0, 60), Slice(60, 120)

HOLDS = """
import sys
from panelake.locks import Locks
from panelake.slices import Slice
with Locks(sys.argv[1]).slice(Slice(0, 60)):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_slice_is_in_one_hand_and_the_other_is_named(tmp_path):
    locks = Locks(str(tmp_path), wait_seconds=0)
    refused = pytest.raises(TransientError, match=f"slice .* hands of process {os.getpid()}")
    with locks.slice(PART), refused, locks.slice(PART):
        pass


def test_different_slices_and_gold_do_not_wait_for_each_other(tmp_path):
    locks = Locks(str(tmp_path), wait_seconds=0)
    with locks.slice(PART), locks.slice(OTHER), locks.publishing():
        pass
    with locks.slice(PART):
        pass


def test_who_waits_goes_on_when_the_first_is_done(tmp_path):
    locks = Locks(str(tmp_path), wait_seconds=30)
    order = []
    entered = threading.Event()

    def second():
        entered.set()
        with locks.slice(PART):
            order.append("second")

    with locks.slice(PART):
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_killed_process_holds_nothing(tmp_path):
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TransientError, match=str(holder.pid)), Locks(str(tmp_path), wait_seconds=0).slice(PART):
            pass
        holder.kill()
        holder.wait()
        with Locks(str(tmp_path), wait_seconds=0).slice(PART):
            pass


def test_a_warehouse_elsewhere_is_locked_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("PANELAKE_HOME", str(tmp_path))
    with Locks("s3://bucket/warehouse").publishing():
        assert len(list((tmp_path / "locks").glob("*/publishing.lock"))) == 1


def test_stages_work_side_by_side_and_maintenance_waits_for_all_of_them(tmp_path):
    locks = Locks(str(tmp_path), wait_seconds=0)
    with locks.working(), locks.working(), pytest.raises(TransientError, match="the warehouse"), locks.maintaining():
        pass
    with locks.maintaining():
        pass


def test_no_stage_begins_while_maintenance_is_at_work_or_waits(tmp_path):
    locks, patient = Locks(str(tmp_path), wait_seconds=0), Locks(str(tmp_path), wait_seconds=30)
    with locks.maintaining(), pytest.raises(TransientError, match="the warehouse"), locks.working():
        pass
    done = threading.Event()

    def maintain():
        with patient.maintaining():
            done.set()

    thread = threading.Thread(target=maintain)
    with locks.working():
        thread.start()
        while True:  # until maintenance stands in line
            try:
                with locks.working():
                    continue
            except TransientError:
                break
        assert not done.is_set()
    thread.join()
    assert done.is_set()
