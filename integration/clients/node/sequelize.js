// Sequelize: models, several statements in one message, its own queries for keys.
'use strict';
const { Sequelize, QueryTypes } = require('sequelize');
const s = require('./steps');
const { env } = process;
const sequelize = new Sequelize(env.PGDATABASE, env.PGUSER, env.PGPASSWORD, {
  host: env.PGHOST, port: env.PGPORT, dialect: 'postgres', logging: false, dialectOptions: { ssl: s.ssl },
});

s.main(async () => {
  await sequelize.authenticate();
  s.say('connect', 'ok');
  const queries = sequelize.getQueryInterface();
  s.say('list', (await queries.showAllTables()).sort());
  for (const table of ['hospitals', 'patients', 'visits', 'labs']) {
    const columns = await queries.describeTable(table);
    for (const name of Object.keys(columns)) {
      const c = columns[name];
      s.say('list', table, name, c.type, c.allowNull, c.primaryKey, c.special);
    }
    for (const key of await queries.getForeignKeyReferencesForTable(table)) {
      s.say('list', table, key.constraintName, key.columnName, key.referencedTableName, key.referencedColumnName);
    }
    for (const index of await queries.showIndex(table)) {
      s.say('list', table, index.name, index.primary, index.unique, index.fields.map(f => f.attribute));
    }
  }
  if (s.listOnly) return;
  const value = async sql => Object.values((await sequelize.query(sql, { type: QueryTypes.SELECT }))[0])[0];

  s.sayRows(await sequelize.query(s.AGGREGATE.replace('$1', ':at'), { replacements: { at: 0 }, type: QueryTypes.SELECT }));
  s.sayRows(await sequelize.query(s.AGGREGATE, { bind: [0], type: QueryTypes.SELECT }));
  const before = await value(s.CHARGES);
  const rows = await sequelize.transaction(transaction => sequelize.query(s.PAGES, { type: QueryTypes.SELECT, transaction }));
  s.say('page', rows.length, 'rows', await value(s.CHARGES) - before, 'charge');
  await sequelize.query(`SET statement_timeout = 300; ${s.SLOW}`).catch(e => s.say('cancel', e.original.code));
  await sequelize.query(s.REFUSED).catch(e => s.say('error', e.original.code, e.original.message, 'at', e.original.position));
  s.say('recover', await value('SELECT 1'));
});
