"""pgcli's own engine: what it asks to complete names, and its special commands."""
import os
import sys

from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from steps import CHARGES, LIST_ONLY, PAGES, REFUSED, say  # noqa: E402

engine = PGExecute(database=os.environ["PGDATABASE"], user=os.environ["PGUSER"], password=os.environ["PGPASSWORD"],
                   host=os.environ["PGHOST"], port=os.environ["PGPORT"], application_name="pgcli")
say("connect", "ok")


def ours(rows):
    return sorted(r for r in map(tuple, rows) if r[0] not in ("pg_catalog", "information_schema", "dp"))


for row in ours(engine.tables()) + ours(engine.views()) + ours(engine.table_columns()) + ours(engine.datatypes()):
    say("list", *row)
for key in sorted(engine.foreignkeys()):
    say("list", *key)
for command in ("\\d hospitals", "\\dn public", "\\dt"):
    for title, rows, headers, status, *_ in engine.run(command, pgspecial=PGSpecial()):
        rows = [tuple(r) for r in rows] if rows else []
        if command == "\\dt":
            rows = [r[:3] for r in rows]  # the owner is the mirror's
        if command != "\\dn public":
            say("list", headers if headers else "", *rows)
if LIST_ONLY:
    sys.exit()


def rows(sql):
    return [tuple(r) for _, result, *_ in engine.run(sql) for r in result]


before = rows(CHARGES)[0][0]
say("page", len(rows(PAGES)), "rows", rows(CHARGES)[0][0] - before, "charge")
try:
    rows(REFUSED)
except Exception as e:  # its own class depends on the driver
    say("error", e.sqlstate, e.diag.message_primary, "at", e.diag.statement_position)
say("recover", rows("SELECT 1")[0][0])
