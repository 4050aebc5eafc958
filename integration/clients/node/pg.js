// node-postgres with pg-cursor: named statements, portals with row limits.
'use strict';
const { Client } = require('pg');
const Cursor = require('pg-cursor');
const s = require('./steps');

s.main(async () => {
  const client = new Client({ ssl: s.ssl });
  await client.connect();
  s.say('connect', 'ok');
  for (const row of (await client.query(s.COLUMNS)).rows) s.say('list', ...Object.values(row));
  if (s.listOnly) return;
  const value = async sql => Object.values((await client.query(sql)).rows[0])[0];

  s.sayRows((await client.query(s.AGGREGATE, [0])).rows);
  s.sayRows((await client.query({ name: 'again', text: s.AGGREGATE, values: [0] })).rows);

  const before = await value(s.CHARGES);
  const cursor = client.query(new Cursor(s.PAGES));
  let count = 0;
  for (let page = await cursor.read(1); page.length > 0; page = await cursor.read(1)) count += page.length;
  await cursor.close();
  s.say('page', count, 'rows', await value(s.CHARGES) - before, 'charge');

  const several = await client.query('SELECT 1 AS one; SELECT count(*) FROM visits; SELECT 2 AS two');
  s.say('several', several.map(r => r.command + ' ' + r.rowCount).join(', '));

  const pid = await value('SELECT pg_backend_pid()');
  const other = new Client({ ssl: s.ssl });
  await other.connect();
  const cancelled = new Promise((resolve, reject) => {
    setTimeout(() => other.query('SELECT pg_cancel_backend($1)', [pid]).then(resolve, reject), 300);
  });
  await client.query(s.SLOW).catch(e => s.say('cancel', e.code));
  await cancelled;
  await other.end();
  await client.query(s.REFUSED).catch(e => s.say('error', e.code, e.message, 'at', e.position));
  s.say('recover', await value('SELECT 1'));
});
