# TDBC's driver, which prepares a query for rows to learn the columns, and Pgtcl with a cursor.
package require tdbc::postgres
package require Pgtcl
set listing [expr {[lindex $argv 0] eq "list"}]
if {!$listing} { set env(PGOPTIONS) "-c client_min_messages=warning -c dp.rows=none" }
tdbc::postgres::connection create db -host $env(PGHOST) -port $env(PGPORT) -user $env(PGUSER) -password $env(PGPASSWORD) -database $env(PGDATABASE)
puts "connect: ok"
foreach table [lsort [dict keys [db tables]]] {
    dict for {name column} [db columns $table] { puts "list: $table $name $column" }
    puts "list: $table [db primarykeys $table] [db foreignkeys -foreign $table]"
}
if {$listing} exit

db allrows {SET dp.rows = refuse}
set at 0
foreach row [db allrows -as lists {SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits WHERE hospital_id > :at GROUP BY diagnosis ORDER BY diagnosis}] {
    puts "aggregate: [lindex $row 0] [llength $row]"
}
set pages [pg_connect -conninfo ""]
proc charges {} { return [lindex [db allrows -as lists {SELECT round(spent / 0.1)::int FROM dp.budget WHERE kind = 'unit'}] 0] }
set before [charges]
set rows 0
foreach sql {BEGIN {DECLARE pages CURSOR FOR SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis}} { pg_result [pg_exec $pages $sql] -clear }
while {[pg_result [set page [pg_exec $pages {FETCH 1 FROM pages}]] -numTuples] > 0} { incr rows; pg_result $page -clear }
pg_result [pg_exec $pages COMMIT] -clear
puts "page: $rows rows [expr {[charges] - $before}] charge"
db allrows {SET statement_timeout = 100}
catch {db allrows {SELECT pg_sleep(60)}}
puts "cancel: [lindex $::errorCode 2]"
db allrows {RESET statement_timeout}
catch {db allrows {SELECT * FROM patients}} message
puts "error: [lindex $::errorCode 2] $message"
puts "recover: [db allrows -as lists {SELECT 1}]"
