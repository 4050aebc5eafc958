// What the programs share: the statements, and how what was seen is written.
'use strict';
const fs = require('fs');

exports.AGGREGATE = 'SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits' +
  ' WHERE hospital_id > $1 GROUP BY diagnosis ORDER BY diagnosis';
exports.PAGES = 'SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis';
exports.CHARGES = "SELECT round(spent / 0.1)::int AS charges FROM dp.budget WHERE kind = 'unit'";
exports.SLOW = 'SELECT pg_sleep(60)';
exports.REFUSED = 'SELECT * FROM patients';
exports.COLUMNS = `SELECT table_schema, table_name, column_name, data_type, is_nullable FROM information_schema.columns
  WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'dp') ORDER BY 1, 2, ordinal_position`;

exports.listOnly = process.argv[2] === 'list';

exports.say = (step, ...what) => console.log(step + ':', ...what.map(w => (typeof w === 'object' ? JSON.stringify(w) : w)));

exports.sayRows = rows => {
  for (const row of rows) {
    exports.say('aggregate', ...Object.values(row).map((v, i) => `${i === 0 ? v : '#'}/${typeof v}`));
  }
};

const root = process.env.PGSSLROOTCERT;
exports.ssl = root ? { ca: fs.readFileSync(root), servername: 'localhost' } : false;

exports.main = f => f().then(() => process.exit(0), e => { console.error(e); process.exit(1); });
