"""psqlODBC through pyodbc; its second argument is put into the connection string."""
import os
import sys
import threading

import pyodbc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from steps import AGGREGATE, CHARGES, PAGES, REFUSED, SLOW, say, say_rows  # noqa: E402

e = os.environ
mode = "verify-full" if e.get("PGSSLROOTCERT") else "disable"
connection = pyodbc.connect(
    f"Driver={e['ODBC_DRIVER']};Server={e['PGHOST']};Port={e['PGPORT']};Database={e['PGDATABASE']};"
    f"Uid={e['PGUSER']};Pwd={e['PGPASSWORD']};SSLmode={mode};{e.get('ODBC_OPTIONS', '')}", autocommit=True)
say("connect", "ok")
cursor = connection.cursor()
for table in cursor.tables(schema="public").fetchall():
    say("list", table.table_schem, table.table_name, table.table_type)
    other = connection.cursor()
    for c in other.columns(table=table.table_name, schema="public").fetchall():
        say("list", c.table_name, c.column_name, c.type_name, c.data_type, c.column_size, c.nullable, c.ordinal_position)
    for key in other.primaryKeys(table.table_name, schema="public").fetchall():
        say("list", key.table_name, key.column_name, key.key_seq, key.pk_name)
    for key in sorted(other.foreignKeys(foreignTable=table.table_name, foreignSchema="public").fetchall(), key=lambda k: k.fk_name):
        say("list", key.fktable_name, key.fkcolumn_name, key.pktable_name, key.pkcolumn_name, key.fk_name)
    for index in other.statistics(table.table_name, schema="public").fetchall():
        say("list", index.table_name, index.index_name, index.column_name, index.non_unique)
if sys.argv[1:] == ["list"]:
    sys.exit()


def value(sql):
    return connection.cursor().execute(sql).fetchval()


say_rows(cursor.execute(AGGREGATE.format("?"), 0).fetchall())

before = value(CHARGES)
connection.autocommit = False
pages = connection.cursor().execute(PAGES)
count = 0
while pages.fetchone() is not None:
    count += 1
pages.close()
connection.commit()
connection.autocommit = True
say("page", count, "rows", value(CHARGES) - before, "charge")

slow = connection.cursor()
threading.Timer(0.3, slow.cancel).start()
try:
    slow.execute(SLOW)
    slow.fetchall()
except pyodbc.Error as e:
    say("cancel", "57014" if "cancel" in str(e).lower() or "57014" in str(e) else str(e))

try:
    connection.cursor().execute(REFUSED)
except pyodbc.Error as e:
    say("error", e.args[0], e.args[1].partition("ERROR: ")[2].splitlines()[0].rstrip(";"))
say("recover", value("SELECT 1"))
