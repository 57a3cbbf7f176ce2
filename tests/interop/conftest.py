"""What the tests share: the command line, and PyIceberg and DuckDB as readers of the tables it writes.

The command line is the binary named by BSDB_CLI; the packages are those of tests/requirements.txt.
"""

import os
import pathlib
import subprocess

import pytest

STATEMENT_SECONDS = 60


class CommandLine:
    """`benostreamdb` over one warehouse."""

    def __init__(self, binary, warehouse):
        self.binary = binary
        self.warehouse = warehouse

    def run(self, *arguments, **options):
        """Any command; gives exit code and output."""
        return subprocess.run(
            [self.binary, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=STATEMENT_SECONDS,
            **options,
        )

    def attempt(self, text, output="csv", **options):
        """Runs statements that may fail."""
        return self.run("sql", "--warehouse", str(self.warehouse), "--format", output, "-e", text, **options)

    def sql(self, text, output="csv"):
        """Runs statements that must succeed; gives what they print."""
        done = self.attempt(text, output)
        assert done.returncode == 0, f"{text}: {done.stderr}"
        assert done.stderr == "", f"{text}: {done.stderr}"
        return done.stdout

    def column(self, text):
        """The single column that a query gives, as text."""
        return self.sql(text).splitlines()[1:]

    def fails(self, text, kind, *named, **options):
        """A statement that must fail with an error of this kind that names these things, and print nothing else."""
        done = self.attempt(text, **options)
        assert done.returncode == 1, f"{text}: exit code {done.returncode}, {done.stdout}"
        assert done.stdout == "", f"{text}: {done.stdout}"
        assert done.stderr.startswith(f"error: {kind}: "), f"{text}: {done.stderr}"
        for name in named:
            assert name in done.stderr, f"{text}: {name} is missing in: {done.stderr}"

    def location(self, table, namespace="default"):
        return pathlib.Path(self.warehouse) / namespace / table


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("BSDB_CLI")
    assert path, "BSDB_CLI names no binary"
    assert pathlib.Path(path).is_file(), f"BSDB_CLI: {path} is no file"
    return path


@pytest.fixture
def cli(binary, tmp_path):
    return CommandLine(binary, tmp_path)


@pytest.fixture(scope="module")
def shared_cli(binary, tmp_path_factory):
    """One warehouse for all tests of a module."""
    return CommandLine(binary, tmp_path_factory.mktemp("lake"))
