"""What docker/ promises, read from its files: no engine is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from panelake.orchestration.airflow_part import PARTS, PREPARE
from panelake.workspace import load_workspace

PROJECT = Path(__file__).parents[2]
DOCKER = PROJECT / "docker"
PINNED = re.compile(r"[a-z0-9-]+(/[a-z0-9-]+)?:[A-Za-z0-9._-]*\d[A-Za-z0-9._-]*")
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
STEPS = {"bucket", "topic", "airflow-prepare"}  # run once and end
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
STAGES = re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.MULTILINE)


def everything(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from everything(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from everything(inner)
    else:
        yield str(value)


def test_every_image_is_an_exact_version_without_a_registry_or_digest():
    ours = {name for _, name in STAGES}
    images = [base for base, _ in STAGES if base not in ours]
    images += [service["image"] for service in SERVICES.values()]
    assert [image for image in images if not PINNED.fullmatch(image)] == []


def test_every_stage_that_is_run_ends_as_a_user_without_rights():
    stages = re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)
    last = {re.match(r"\S+ AS (\S+)", text)[1]: re.findall(r"^USER (\S+)", text, re.MULTILINE) for text in stages[1:]}
    bases = {name: base for base, name in STAGES}
    for service in SERVICES.values():
        target = service.get("build", {}).get("target")
        user = service["user"] if target is None else (last[target] or last[bases[target]])[-1]
        assert user not in {"root", "0"}, service


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined_and_asked_after_its_health(name):
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert (service["healthcheck"] == {"disable": True}) == (name in STEPS)
    assert ("test" in service["healthcheck"]) == (name not in STEPS)
    assert service["restart"] == ("no" if name in STEPS else "unless-stopped")


def test_only_airflows_page_is_published_and_on_loopback_alone():
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports == {"airflow": ["127.0.0.1:8080:8080"]}
    assert {name for name, service in SERVICES.items() if service["networks"] != ["inside"]} == {"airflow"}
    assert COMPOSE["networks"]["inside"] == {"internal": True}


def test_secrets_come_from_the_environment_and_an_empty_one_stops_everything():
    secret = re.compile(r"PASSWORD|SECRET|KEY|TOKEN|CONN")
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if secret.search(name):
                assert re.search(r"\$\{[A-Z_]+:\?", value), name
    asked = set(re.findall(r"\$\{([A-Z_]+)", " ".join(everything(SERVICES))))
    given = dict(line.split("=") for line in (DOCKER / "env.example").read_text().splitlines() if line[0] not in "#\n")
    assert asked == set(given)
    assert {name for name, value in given.items() if value} == {"EXECUTOR_MEMORY", "SHUFFLE_PARTITIONS"}


def test_every_service_waits_for_services_that_are_there():
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            expected = "service_completed_successfully" if other in STEPS else "service_healthy"
            assert how == {"condition": expected}, (name, other)


def test_every_script_that_a_container_starts_is_there():
    words = [word for word in everything(SERVICES) if word.startswith("docker/")]
    words += re.findall(r"docker/\w+\.py", DOCKERFILE)
    assert words
    assert [word for word in words if not (PROJECT / word).is_file()] == []
    parts = {service["command"][1] for service in SERVICES.values() if "airflow_part" in str(service.get("command"))}
    assert parts == {*PARTS, PREPARE}


def test_the_workspace_of_the_containers_is_sound(tmp_path):
    shutil.copytree(DOCKER / "workspaces" / "traffic", tmp_path / "traffic")
    shutil.copytree(PROJECT / "include/workspaces/traffic/queries", tmp_path / "traffic" / "queries")
    workspace = load_workspace(tmp_path / "traffic")
    assert workspace.warehouse == "s3a://panelake/traffic"
    assert workspace.streams["traffic"].source.servers == "kafka:9092"


def test_the_requirements_are_the_projects_and_those_of_the_extras():
    command = [sys.executable, "docker/requirements.py", "pyproject.toml", "kafka", "postgres"]
    told = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.splitlines()
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert told == [*project["dependencies"], *extras["kafka"], *extras["postgres"]]
    pinned = {line.partition("==")[0] for line in (PROJECT / "requirements.lock").read_text().splitlines()}
    assert {re.match(r"[\w-]+", one)[0] for one in extras["postgres"]} <= pinned


def test_hadolint_finds_nothing():
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, DOCKER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_compose_accepts_the_file(tmp_path):
    # A docker without the plugin does not know the command; then the tests above are all there is.
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker compose is not there")
    empty = re.findall(r"^([A-Z_]+)=$", (DOCKER / "env.example").read_text(), re.MULTILINE)
    (tmp_path / ".env").write_text("".join(f"{name}=something\n" for name in empty))
    command = [docker, "compose", "--project-directory", PROJECT, "--env-file", tmp_path / ".env"]
    command += ["-f", DOCKER / "compose.yaml", "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
