"""asyncpg: statements that are always prepared, binary both ways, named portals."""
import asyncio
import os
import sys

import asyncpg

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from steps import AGGREGATE, CHARGES, LIST_ONLY, PAGES, REFUSED, SLOW, say, say_rows, tls  # noqa: E402


async def main():
    connection = await asyncpg.connect(ssl=tls() or False)
    say("connect", "ok")
    await connection.reload_schema_state()
    for row in await connection.fetch("""SELECT table_schema::text, table_name::text, column_name::text, udt_name::text FROM information_schema.columns
            WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'dp') ORDER BY 1, 2, ordinal_position"""):
        say("list", *row)
    for name in ("public.sex", "public.visits"):
        say("list", name, await connection.fetchval("SELECT $1::regtype::text", name))
    if LIST_ONLY:
        return

    say_rows(await connection.fetch(AGGREGATE.format("$1"), 0))
    say("enum", *[row["sex"] for row in await connection.fetch("SELECT sex, count(*) FROM patients GROUP BY 1 ORDER BY 1")])

    before = await connection.fetchval(CHARGES)
    count = 0
    async with connection.transaction():
        async for _ in connection.cursor(PAGES, prefetch=1):
            count += 1
    say("page", count, "rows", await connection.fetchval(CHARGES) - before, "charge")

    try:
        await connection.execute(SLOW, timeout=0.3)
    except asyncio.TimeoutError:
        say("cancel", "57014" if await connection.fetchval("SELECT 1") == 1 else "lost")

    try:
        await connection.fetch(REFUSED)
    except asyncpg.PostgresError as e:
        say("error", e.sqlstate, e.message, "at", e.position)
    say("recover", await connection.fetchval("SELECT 1"))
    await connection.close()


asyncio.run(main())
