"""psycopg2: literals in the text, a transaction round every statement."""
import os
import sys
import threading

import psycopg2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from steps import AGGREGATE, CHARGES, LIST_ONLY, PAGES, REFUSED, SLOW, say, say_rows  # noqa: E402

connection = psycopg2.connect("")
say("connect", "ok")
cursor = connection.cursor()


def value(sql):
    cursor.execute(sql)
    return cursor.fetchone()[0]


cursor.execute("""SELECT table_schema, table_name, column_name, data_type, is_nullable FROM information_schema.columns
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'dp') ORDER BY 1, 2, ordinal_position""")
for row in cursor:
    say("list", *row)
cursor.execute("""SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype IN ('p', 'u', 'f') AND connamespace = 'public'::regnamespace ORDER BY 1, 2""")
for row in cursor:
    say("list", *row)
connection.rollback()
if LIST_ONLY:
    sys.exit()

cursor.execute(AGGREGATE.format("%s"), (0,))
say_rows(cursor.fetchall())
connection.rollback()

before = value(CHARGES)
named = connection.cursor(name="pages")
named.itersize = 1
named.execute(PAGES)
count = sum(1 for _ in named)
named.close()
connection.rollback()
say("page", count, "rows", value(CHARGES) - before, "charge")

timer = threading.Timer(0.3, connection.cancel)
timer.start()
try:
    cursor.execute(SLOW)
except psycopg2.Error as e:
    say("cancel", e.pgcode)
connection.rollback()

try:
    cursor.execute(REFUSED)
except psycopg2.Error as e:
    say("error", e.pgcode, e.diag.message_primary, "at", e.diag.statement_position)
try:
    cursor.execute("SELECT 1")
except psycopg2.Error as e:
    say("failed transaction", e.pgcode)
connection.rollback()
say("recover", value("SELECT 1"))
