// knex: a query builder over node-postgres.
'use strict';
const s = require('./steps');
const { env } = process;
const knex = require('knex')({
  client: 'pg',
  connection: { host: env.PGHOST, port: env.PGPORT, user: env.PGUSER, password: env.PGPASSWORD, database: env.PGDATABASE, ssl: s.ssl },
});

s.main(async () => {
  await knex.raw('SELECT 1');
  s.say('connect', 'ok');
  for (const table of ['hospitals', 'patients', 'visits', 'labs', 'absent']) {
    s.say('list', table, await knex.schema.hasTable(table));
    const columns = await knex(table).columnInfo();
    for (const name of Object.keys(columns).sort()) {
      s.say('list', table, name, columns[name].type, columns[name].maxLength, columns[name].nullable);
    }
  }
  if (s.listOnly) return;
  const charges = async () => (await knex.raw(s.CHARGES)).rows[0].charges;

  s.sayRows(await knex('visits').select('diagnosis').count('* as n').avg('cost as mean')
    .where('hospital_id', '>', 0).groupBy('diagnosis').orderBy('diagnosis'));
  const before = await charges();
  const rows = await knex.transaction(t => t.raw(s.PAGES).then(r => r.rows));
  s.say('page', rows.length, 'rows', await charges() - before, 'charge');
  const start = Date.now(); // it says that it has cancelled, whether the server did or not
  await knex.raw('SELECT pg_sleep(5)').timeout(300, { cancel: true }).catch(e => s.say('timeout', e.name));
  await knex.raw('SELECT 1');
  s.say('cancel', Date.now() - start < 4000 ? 'in time' : 'too late');
  await knex('patients').select('*').catch(e => s.say('error', e.code, e.message.split(' - ').pop(), 'at', e.position));
  s.say('recover', (await knex.raw('SELECT 1 AS one')).rows[0].one);
});
