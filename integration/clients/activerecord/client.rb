# ActiveRecord: its schema, calculations, nested transactions, statement timeout.
require 'active_record'

$stdout.sync = true
e = ENV
ActiveRecord::Base.establish_connection(adapter: 'postgresql', host: e['PGHOST'], port: e['PGPORT'], username: e['PGUSER'],
                                        password: e['PGPASSWORD'], database: e['PGDATABASE'], min_messages: 'warning')
connection = ActiveRecord::Base.connection
puts 'connect: ok'
connection.tables.sort.each do |table|
  connection.columns(table).each { |c| puts "list: #{table} #{c.name} #{c.sql_type} #{c.null} #{c.default}" }
  indexes = connection.indexes(table).map { |i| [i.name, i.columns, i.unique, i.orders] }.sort
  keys = connection.foreign_keys(table).map { |k| [k.name, k.column, k.to_table, k.on_delete.to_s] }.sort
  puts "list: #{table} #{connection.primary_keys(table)} #{indexes} #{keys}"
end
exit if ARGV[0] == 'list'

class Hospital < ActiveRecord::Base
end

class Visit < ActiveRecord::Base
  belongs_to :hospital
end

means = Visit.where('hospital_id > ?', 0).group(:diagnosis).order(:diagnosis).pluck(:diagnosis, Arel.sql('count(*)'), Arel.sql('avg(cost)'))
means.each { |row| puts "aggregate: #{row[0]}/#{row[0].class} #/#{row[1].class} #/#{row[2].class}" }
puts "group: #{Visit.group(:diagnosis).count.keys.sort.join(' ')}"
puts "join: #{Visit.joins(:hospital).group('hospitals.name').count.size}"
puts "count: #{Visit.where(hospital_id: 1).count.class} #{Visit.average(:cost).class} #{Visit.distinct.count(:patient_id).class}"
begin
  Visit.transaction { connection.execute('SET LOCAL statement_timeout = 100; SELECT pg_sleep(60)') }
rescue ActiveRecord::QueryCanceled => e
  puts "cancel: #{e.cause.result.error_field(PG::PG_DIAG_SQLSTATE)}"
end
begin
  Visit.first
rescue ActiveRecord::StatementInvalid => e
  puts "error: #{e.cause.result.error_field(PG::PG_DIAG_SQLSTATE)} #{e.cause.result.error_field(PG::PG_DIAG_MESSAGE_PRIMARY)}"
end
Visit.transaction do
  begin
    Visit.transaction(requires_new: true) { Visit.first }
  rescue ActiveRecord::StatementInvalid
    puts "recover: #{connection.select_value('SELECT 1')}"
  end
end
