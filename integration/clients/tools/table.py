"""Prints tables as lines "name=value ..." for the tools of this folder, and says where dpproxy is."""
import os

QUESTION = os.environ["QUESTION"]
HOST, PORT, DATABASE, USER, PASSWORD = (
    os.environ[v] for v in ("PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD"))


def show(names, rows):
    """Prints a line for each row."""
    for row in rows:
        print(*(f"{n}={v}" for n, v in zip(names, row)))
