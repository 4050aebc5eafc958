# The pg gem with binary results and single-row mode, and Sequel with a cursor.
require 'pg'
require 'sequel'

$stdout.sync = true
quiet = proc {}
connection = PG.connect
connection.set_notice_processor(&quiet)
e = ENV
sequel = Sequel.connect(adapter: 'postgres', host: e['PGHOST'], port: e['PGPORT'], user: e['PGUSER'], password: e['PGPASSWORD'],
                        database: e['PGDATABASE'], after_connect: proc { |c| c.set_notice_processor(&quiet) })
puts 'connect: ok'
sequel.tables.sort.each do |table|
  sequel.schema(table).each { |name, c| puts "list: #{table} #{name} #{c[:db_type]} #{c[:type]} #{c[:allow_null]} #{c[:primary_key]}" }
  puts "list: #{sequel.indexes(table).sort} #{sequel.foreign_key_list(table).map { |k| k.values_at(:name, :columns, :key, :on_delete) }.sort}"
end
exit if ARGV[0] == 'list'

AGGREGATE = 'SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits WHERE hospital_id > $1 GROUP BY diagnosis ORDER BY diagnosis'.freeze
PAGES = 'SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis'.freeze
value = ->(sql) { connection.exec(sql).getvalue(0, 0) }
charges = -> { value.call("SELECT round(spent / 0.1)::int FROM dp.budget WHERE kind = 'unit'").to_i }

types = PG::BasicTypeMapForResults.new(connection)
connection.exec_params(AGGREGATE, [0]).map_types!(types).each_row do |row|
  puts "aggregate: #{row[0]}/#{row[0].class} #/#{row[1].class} #/#{row[2].class}"
end
connection.exec_params('SELECT count(*), 1::float8 FROM visits', [], 1).map_types!(types).each_row { |row| puts "binary: #{row.map(&:class).join(' ')}" }

before = charges.call
connection.send_query(PAGES)
connection.set_single_row_mode
rows = 0
while (result = connection.get_result)
  rows += result.ntuples
end
puts "page: #{rows} rows #{charges.call - before} charge"
before = charges.call
puts "page: #{sequel[PAGES].use_cursor(rows_per_fetch: 1).count} rows #{charges.call - before} charge"

connection.send_query('SELECT pg_sleep(60)')
connection.cancel until connection.block(0.3) # Postgres ignores a request that is faster than the statement
begin
  connection.get_last_result
rescue PG::Error => e
  puts "cancel: #{e.result.error_field(PG::PG_DIAG_SQLSTATE)}"
end
begin
  connection.exec('SELECT * FROM patients')
rescue PG::Error => e
  fields = [PG::PG_DIAG_SQLSTATE, PG::PG_DIAG_MESSAGE_PRIMARY, PG::PG_DIAG_STATEMENT_POSITION].map { |f| e.result.error_field(f) }
  puts "error: #{fields[0]} #{fields[1]} at #{fields[2]}"
end
puts "recover: #{value.call('SELECT 1')}"
