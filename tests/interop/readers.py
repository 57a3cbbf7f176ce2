"""Other readers of our tables, and one form of their values in which equal means equal.

Floats keep the sign of zero and NaN equals itself; instants are UTC; maps are sorted pairs; an id is a UUID.
"""

import datetime
import pathlib
import shutil
import tempfile
import uuid

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
from pyiceberg.table import StaticTable


def metadata_files(location):
    """All metadata files of a table, oldest first."""
    files = pathlib.Path(location).glob("metadata/v*.metadata.json")
    return sorted(files, key=lambda file: int(file.name.removeprefix("v").split(".")[0]))


def newest(location):
    return str(metadata_files(location)[-1])


def pyiceberg_table(metadata):
    return StaticTable.from_metadata(metadata)


def by_pyiceberg(metadata, **scan):
    """Column name to values, in the order of the column `id`."""
    return columns_of(pyiceberg_table(metadata).scan(**scan).to_arrow())


def _connection():
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for package in (duckdb_extension_avro, duckdb_extension_iceberg):
        folder = pathlib.Path(package.__file__).parent
        extension = next(folder.glob("extensions/*/*.duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def by_duckdb(metadata, where="true"):
    """Column name to values, in the order of the column `id`.

    DuckDB takes no double quote in the argument of iceberg_scan, so it gets a copy of the metadata file.
    """
    with tempfile.TemporaryDirectory() as folder, _connection() as connection:
        copy = shutil.copy(metadata, folder)
        return columns_of(connection.execute(f"SELECT * FROM iceberg_scan('{copy}') WHERE {where}").to_arrow_table())


READERS = {"pyiceberg": by_pyiceberg, "duckdb": by_duckdb}


def columns_of(table):
    """An Arrow table as plain values, in the order of the column `id` where there is one."""
    if "id" in table.column_names:
        table = table.sort_by("id")
    return {
        name: [normal(value) for value in table.column(index).to_pylist()]
        for index, name in enumerate(table.column_names)
    }


def normal(value):
    """The comparable form of a value."""
    if isinstance(value, float):
        return "float " + repr(value)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dict):
        return {name: normal(inner) for name, inner in value.items()}
    if isinstance(value, list) and value and all(isinstance(inner, tuple) for inner in value):
        return sorted((normal(key), normal(inner)) for key, inner in value)
    if isinstance(value, list):
        return [normal(inner) for inner in value]
    return value
