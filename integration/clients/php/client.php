<?php
// PDO_pgsql with its two ways of parameters and a cursor; the pgsql extension to cancel.
function say(...$what) { echo join(' ', $what), "\n"; }

$tls = getenv('PGSSLROOTCERT') ? ';sslmode=verify-full;sslrootcert=' . getenv('PGSSLROOTCERT') : '';
$db = new PDO('pgsql:host=' . getenv('PGHOST') . ';port=' . getenv('PGPORT') . ';dbname=' . getenv('PGDATABASE') . $tls,
    getenv('PGUSER'), getenv('PGPASSWORD'), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$link = pg_connect('');
say('connect:', 'ok');
foreach ($db->query("SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
        WHERE table_schema = 'public' ORDER BY 1, ordinal_position", PDO::FETCH_NUM) as $row) {
    say('list:', ...$row);
}
foreach (['hospitals', 'patients', 'visits', 'labs'] as $table) {
    foreach (pg_meta_data($link, $table, true) as $name => $column) {
        say('list:', $table, $name, $column['num'], $column['type'], (int)$column['not null'], (int)$column['is enum']);
    }
}
if (($argv[1] ?? '') === 'list') {
    exit;
}

$value = fn($sql) => $db->query($sql)->fetchColumn();
$aggregate = 'SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits WHERE hospital_id > ? GROUP BY diagnosis ORDER BY diagnosis';
foreach ([false, true] as $emulated) {
    $s = $db->prepare($aggregate, [PDO::ATTR_EMULATE_PREPARES => $emulated]);
    $s->execute([0]);
    foreach ($s->fetchAll(PDO::FETCH_NUM) as $row) {
        say('aggregate:', "$row[0]/" . gettype($row[0]), '#/' . gettype($row[1]), '#/' . gettype($row[2]));
    }
}

$charges = "SELECT round(spent / 0.1)::int FROM dp.budget WHERE kind = 'unit'";
$before = $value($charges);
$db->beginTransaction();
$s = $db->prepare('SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
$s->execute();
for ($rows = 0; $s->fetch(); $rows++);
$db->commit();
say('page:', $rows, 'rows', $value($charges) - $before, 'charge');

// The extension's own cancel swallows the error, so another session ends the statement.
$pid = pg_get_pid($link);
pg_send_query($link, 'SELECT pg_sleep(60)');
while (!$value("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $pid AND query = 'SELECT pg_sleep(60)'"));
say('cancel:', pg_result_error_field(pg_get_result($link), PGSQL_DIAG_SQLSTATE));
try {
    $db->query('SELECT * FROM patients');
} catch (PDOException $e) {
    preg_match('/ERROR:  (.*) at character (\d+)/', $e->errorInfo[2], $m);
    say('error:', $e->getCode(), $m[1], 'at', $m[2]);
}
say('recover:', $value('SELECT 1'));
