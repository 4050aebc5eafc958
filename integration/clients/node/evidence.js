// Evidence's connector for Postgres: it counts the rows of a query, and then reads them in batches.
'use strict';
const run = require('@evidence-dev/postgres');

(async () => {
  const e = process.env;
  const result = await run(e.QUESTION, {
    host: e.PGHOST, port: Number(e.PGPORT), database: e.PGDATABASE, user: e.PGUSER, password: e.PGPASSWORD,
  });
  for await (const batch of result.rows()) {
    for (const row of batch) console.log(Object.entries(row).map(([k, v]) => `${k}=${v}`).join(' '));
  }
})();
