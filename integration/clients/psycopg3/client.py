"""psycopg 3: parameters of the protocol, binary results, pipelines, server cursors."""
import os
import sys
import threading

import psycopg

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from steps import AGGREGATE, CHARGES, LIST_ONLY, PAGES, REFUSED, SLOW, say, say_rows  # noqa: E402

connection = psycopg.connect("", autocommit=True)
say("connect", "ok")


def value(sql):
    return connection.execute(sql).fetchone()[0]


for row in connection.execute("""SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped AND nspname NOT IN ('pg_catalog', 'information_schema', 'dp')
        ORDER BY 1, 2, a.attnum""", binary=True):
    say("list", *row)
if LIST_ONLY:
    sys.exit()

for binary in (False, True):
    say_rows(connection.execute(AGGREGATE.format("%s"), (0,), binary=binary).fetchall())
for _ in range(7):  # it prepares a statement that it has seen five times
    connection.execute(AGGREGATE.format("%s"), (0,)).fetchall()

before = value(CHARGES)
with connection.transaction(), connection.cursor(name="pages") as cursor:
    cursor.itersize = 1
    count = sum(1 for _ in cursor.execute(PAGES))
say("page", count, "rows", value(CHARGES) - before, "charge")

with connection.pipeline():
    cursors = [connection.execute("SELECT count(*) FROM visits WHERE hospital_id > %s", (i,)) for i in range(3)]
say("pipeline", *(type(c.fetchone()[0]).__name__ for c in cursors))

with connection.cursor().copy("COPY (SELECT diagnosis, count(*) FROM visits GROUP BY 1 ORDER BY 1) TO STDOUT") as copy:
    say("copy", *(row[0] for row in copy.rows()))

threading.Timer(0.3, connection.cancel).start()
try:
    connection.execute(SLOW)
except psycopg.Error as e:
    say("cancel", e.sqlstate)

try:
    connection.execute(REFUSED)
except psycopg.Error as e:
    say("error", e.sqlstate, e.diag.message_primary, "at", e.diag.statement_position)
say("recover", value("SELECT 1"))
