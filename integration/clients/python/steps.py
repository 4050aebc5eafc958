"""What the Python programs share: the statements, and how what was seen is written.

Each program takes its connection from the environment of libpq. Its first argument
is "list", to list the schema alone, or "all".
"""
import os
import ssl
import sys

AGGREGATE = ("SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits"
             " WHERE hospital_id > {} GROUP BY diagnosis ORDER BY diagnosis")
PAGES = "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis"
CHARGES = "SELECT round(spent / 0.1)::int FROM dp.budget WHERE kind = 'unit'"
SLOW = "SELECT pg_sleep(60)"
REFUSED = "SELECT * FROM patients"

LIST_ONLY = sys.argv[1:] == ["list"]


def say(step, *what):
    """Writes a line that the test reads."""
    print(step + ":", *what, flush=True)


def say_rows(rows):
    """Writes the rows of AGGREGATE with the types that the driver gave them."""
    for row in rows:
        say("aggregate", *(f"{v if isinstance(v, str) else '#'}/{type(v).__name__}" for v in row))


def dsn():
    """The connection as a URL."""
    e = os.environ
    return f"{e['PGUSER']}:{e['PGPASSWORD']}@{e['PGHOST']}:{e['PGPORT']}/{e['PGDATABASE']}"


def tls():
    """A context that checks the server's certificate, or None where there is no TLS."""
    root = os.environ.get("PGSSLROOTCERT")
    return ssl.create_default_context(cafile=root) if root else None
