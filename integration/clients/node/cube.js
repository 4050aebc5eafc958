// Cube's driver of Postgres: its probes, types, schema and streams.
'use strict';
const { PostgresDriver } = require('@cubejs-backend/postgres-driver');
const s = require('./steps');
const { env } = process;
const driver = new PostgresDriver({
  host: env.PGHOST, port: env.PGPORT, user: env.PGUSER, password: env.PGPASSWORD, database: env.PGDATABASE, ssl: s.ssl,
});

s.main(async () => {
  await driver.testConnection();
  s.say('connect', 'ok');
  const schema = await driver.tablesSchema();
  for (const name of Object.keys(schema).filter(n => n !== 'dp').sort()) {
    for (const table of Object.keys(schema[name]).sort()) {
      s.say('list', name, table, schema[name][table].map(c => c.name + ' ' + c.type).sort());
    }
  }
  if (s.listOnly) return;
  s.sayRows(await driver.query(s.AGGREGATE, [0]));
  const charges = async () => (await driver.query(s.CHARGES, []))[0].charges;
  const before = await charges();
  const { rowStream, types, release } = await driver.stream(s.PAGES, [], { highWaterMark: 1 });
  let count = 0;
  for await (const _ of rowStream) count += 1;
  await release();
  s.say('page', count, 'rows', await charges() - before, 'charge');
  s.say('types', types.map(t => t.type));
  await driver.query(s.REFUSED, []).catch(e => s.say('error', e.code, e.message, 'at', e.position));
  s.say('recover', (await driver.query('SELECT 1 AS one', []))[0].one);
});
