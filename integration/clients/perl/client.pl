# DBD::Pg: server-side prepared statements, a cursor, an asynchronous query.
use strict;
use warnings;
use DBI;
use DBD::Pg ':async';

$| = 1;
my $db = DBI->connect('dbi:Pg:', '', '', { RaiseError => 0, PrintError => 0 }) or die $DBI::errstr;
$db->do("SET client_min_messages = warning");
sub say_line { print join(' ', map { $_ // '' } @_), "\n" }
sub value { ($db->selectrow_array($_[0]))[0] }

say_line('connect:', $db->ping ? 'ok' : 'no');
for my $table (@{ $db->table_info('', 'public', '%', 'TABLE')->fetchall_arrayref({}) }) {
    my $name = $table->{TABLE_NAME};
    say_line('list:', $name, $table->{TABLE_TYPE}, 'key', $db->primary_key('', 'public', $name));
    say_line('list:', @$_{qw(TABLE_NAME COLUMN_NAME pg_type NULLABLE COLUMN_SIZE)})
        for @{ $db->column_info('', 'public', $name, '%')->fetchall_arrayref({}) };
    my $keys = $db->foreign_key_info('', '', '', '', 'public', $name);
    say_line('list:', @$_{qw(FK_NAME FK_COLUMN_NAME UK_TABLE_NAME UK_COLUMN_NAME DELETE_RULE)})
        for $keys ? @{ $keys->fetchall_arrayref({}) } : ();
    say_line('list:', @$_{qw(INDEX_NAME NON_UNIQUE COLUMN_NAME ORDINAL_POSITION)})
        for @{ $db->statistics_info('', 'public', $name, 0, 0)->fetchall_arrayref({}) };
}
exit if ($ARGV[0] // '') eq 'list';

my $aggregate = $db->prepare('SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits WHERE hospital_id > ? GROUP BY diagnosis ORDER BY diagnosis');
for (1 .. 2) {
    $aggregate->execute(0);
    say_line('aggregate:', $_->[0], join(' ', @{ $aggregate->{pg_type} })) for @{ $aggregate->fetchall_arrayref };
}

my $charges = "SELECT round(spent / 0.1)::int FROM dp.budget WHERE kind = 'unit'";
my $before = value($charges);
$db->begin_work;
$db->do('DECLARE pages CURSOR FOR SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis');
my $rows = 0;
$rows++ while $db->selectrow_array('FETCH 1 FROM pages');
$db->commit;
say_line('page:', $rows, 'rows', value($charges) - $before, 'charge');

my $slow = $db->prepare('SELECT pg_sleep(60)', { pg_async => PG_ASYNC });
$slow->execute;
select(undef, undef, undef, 0.3);    # Postgres ignores a request that is faster than the statement
$slow->pg_cancel;
say_line('cancel:', $db->state);
$db->do('SELECT * FROM patients');
say_line('error:', $db->state, $db->errstr =~ /ERROR:  (.*)/);
say_line('recover:', value('SELECT 1'));
