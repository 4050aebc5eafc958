// postgres.js: prepared statements, pipelines, cursors by row limits, cancel.
'use strict';
const postgres = require('postgres');
const s = require('./steps');
const sql = postgres({ ssl: s.ssl, max: 1, onnotice: () => {} });

s.main(async () => {
  await sql`SELECT 1`;
  s.say('connect', 'ok');
  for (const row of await sql.unsafe(s.COLUMNS)) s.say('list', ...Object.values(row));
  if (s.listOnly) return;
  const value = async text => Object.values((await sql.unsafe(text))[0])[0];

  s.sayRows(await sql.unsafe(s.AGGREGATE, [0]));
  const before = await value(s.CHARGES);
  let count = 0;
  await sql.unsafe(s.PAGES).cursor(1, rows => { count += rows.length; });
  s.say('page', count, 'rows', await value(s.CHARGES) - before, 'charge');
  const piped = await Promise.all([sql`SELECT count(*) FROM visits`, sql`SELECT count(*) FROM labs`, sql`SELECT 1 AS count`]);
  s.say('pipeline', ...piped.map(rows => typeof rows[0].count));
  const slow = sql.unsafe(s.SLOW);
  setTimeout(() => slow.cancel(), 300);
  await slow.catch(e => s.say('cancel', e.code));
  await sql.unsafe(s.REFUSED).catch(e => s.say('error', e.code, e.message, 'at', e.position));
  s.say('recover', await value('SELECT 1 AS one'));
});
