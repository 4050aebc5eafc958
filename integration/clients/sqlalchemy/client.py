"""SQLAlchemy's inspector and pandas, over psycopg2: the way of Superset."""
import os
import sys
import threading

import pandas
import sqlalchemy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from steps import AGGREGATE, CHARGES, LIST_ONLY, PAGES, REFUSED, SLOW, dsn, say, say_rows  # noqa: E402

engine = sqlalchemy.create_engine("postgresql+psycopg2://" + dsn())
inspector = sqlalchemy.inspect(engine)
say("connect", "ok")
for schema in sorted(set(inspector.get_schema_names()) - {"dp", "information_schema"}):
    for table in sorted(inspector.get_table_names(schema)) + sorted(inspector.get_view_names(schema)):
        say("list", schema, table)
        for c in inspector.get_columns(table, schema):
            say("list", schema, table, c["name"], repr(c["type"]), c["nullable"], c.get("identity"))
        say("list", inspector.get_pk_constraint(table, schema))
        for key in sorted(inspector.get_foreign_keys(table, schema), key=lambda k: k["name"]):
            say("list", key)
        for index in sorted(inspector.get_indexes(table, schema), key=lambda i: i["name"]):
            say("list", index)
        for unique in sorted(inspector.get_unique_constraints(table, schema), key=lambda u: u["name"]):
            say("list", unique)
    say("list", inspector.get_enums(schema))
metadata = sqlalchemy.MetaData()
metadata.reflect(engine)
say("list", *sorted(metadata.tables))
if LIST_ONLY:
    sys.exit()

with engine.connect() as connection:
    visits = metadata.tables["visits"]
    say_rows(connection.execute(
        sqlalchemy.select(visits.c.diagnosis, sqlalchemy.func.count().label("n"), sqlalchemy.func.avg(visits.c.cost).label("mean"))
        .where(visits.c.hospital_id > 0).group_by(visits.c.diagnosis).order_by(visits.c.diagnosis)))

    frame = pandas.read_sql(AGGREGATE.format("%(at)s"), connection, params={"at": 0})
    say("pandas", *frame.dtypes.astype(str), len(frame))

    before = connection.scalar(CHARGES)
    stream = connection.execution_options(stream_results=True, max_row_buffer=1).execute(sqlalchemy.text(PAGES))
    count = sum(1 for _ in stream)
    say("page", count, "rows", connection.scalar(CHARGES) - before, "charge")

    # Superset ends a query from another connection.
    pid = connection.scalar("SELECT pg_backend_pid()")

    def cancel():
        with engine.connect() as other:
            other.execute(f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = '{pid}'")

    threading.Timer(0.3, cancel).start()
    try:
        connection.execute(SLOW)
    except sqlalchemy.exc.OperationalError as e:
        say("cancel", e.orig.pgcode)
    try:
        connection.execute(REFUSED)
    except sqlalchemy.exc.DBAPIError as e:
        say("error", e.orig.pgcode, e.orig.diag.message_primary, "at", e.orig.diag.statement_position)
    say("recover", connection.scalar("SELECT 1"))
