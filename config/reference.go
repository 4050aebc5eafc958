package config

import (
	"slices"
	"time"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

var policyKeys = []key[Policy]{
	{"listen", "", part(func(v value, p *Policy) { p.Listen = readAddress(v) }), "`127.0.0.1:6432`", "Where analysts connect: host:port."},
	{
		"health", "", part(func(v value, p *Policy) { p.Health = readAddress(v) }), "none",
		"Where `/livez` and `/readyz` are (docs/operations.md): host:port, not for analysts.",
	},
	{
		"tls", "", part(func(v value, p *Policy) { decode(v, tlsKeys, p) }), "none",
		"With a certificate, clients without TLS are refused. See below.",
	},
	{
		"data", "", part(func(v value, p *Policy) { p.Data = readConnection(v) }), needed,
		"The protected database: a URL, or `host=... dbname=... user=...`.",
	},
	{
		"data_password_file", "", text(func(p *Policy, s string) { p.DataPasswordFile = s }), "none",
		"The file with its password, if it is not in `DPPROXY_DATA_PASSWORD`.",
	},
	{"mirror", "", part(func(v value, p *Policy) { p.Mirror = readConnection(v) }), needed, "The mirror, written like `data`."},
	{
		"mirror_admin", "", part(func(v value, p *Policy) { p.MirrorAdmin = readConnection(v) }), "as `mirror`",
		"The connection that makes and refreshes the mirror.",
	},
	{
		"mirror_password_file", "", text(func(p *Policy, s string) { p.MirrorPasswordFile = s }), "none",
		"The file with its password, if it is not in `DPPROXY_MIRROR_PASSWORD`.",
	},
	{
		"sync", "", oneOf([]string{"manual", "automatic"}, func(p *Policy, s string) { p.SyncItself = s == "automatic" }), "`manual`",
		"`automatic`: a running dpproxy syncs by itself where the protected database has changed and no proof has lost anything " +
			"(docs/operations.md).",
	},
	{
		"trusted_extensions", "", part(func(v value, p *Policy) {
			v.list(func(c value) { p.Tables.Trusted = append(p.Tables.Trusted, c.text()) })
		}), "none",
		"Extensions of the protected database that dpproxy does not know, and that change neither how statements are planned nor how " +
			"tables are stored; likewise the text in parentheses by which the builder of another Postgres calls it in `version()`.",
	},
	{"ledger", "", part(func(v value, p *Policy) { p.Ledger = readLedger(v) }), needed, "Where charges are recorded, see below."},
	{
		"secret_file", "", text(func(p *Policy, s string) { p.SecretFile = s }), "the file `secret` in `ledger.dir`",
		"The key that decides what is kept of a unit where one must choose among its values, groups or joined rows.",
	},
	{"privacy_unit", "", part(func(v value, p *Policy) { decode(v, privacyUnitKeys, p) }), needed, "See [Budgets](#budgets)."},
	{"tables", "", part(func(v value, p *Policy) { readTables(v, p) }), needed, "By name, see [Tables](#tables)."},
	{
		"unlisted", "", oneOf([]string{unlistedOpen, unlistedHidden}, func(p *Policy, s string) { p.Unlisted = s }), "as `open`",
		"What a column of a protected or reference table is that its `columns` do not list: `open`, as `{}`, or `hidden`. " +
			"With `hidden` a column that is new in the database does not exist for analysts until the policy lists it. " +
			"Without the key, `check` and `sync` name the columns that are open so.",
	},
	{
		"minimum_people", "", count(maxContribution, func(p *Policy, n int64) { p.MinimumPeople = n }), "none",
		"How many people a group must have by a released count to be shown, %s. The count is paid for with each statement. " +
			"Of this number, those of a statement's tables and the session's `dp.minimum_people` the largest holds. " +
			"See [Groups of few people](#groups-of-few-people).",
	},
	{
		"minimum_confidence", "", between(minConfidence, maxConfidence, func(p *Policy, x float64) { p.MinimumConfidence = x }), "`0.95`",
		"With which probability a group of fewer people is withheld, at least, %s.",
	},
	{"analysts", "", part(func(v value, p *Policy) { p.Analysts = readAnalysts(v) }), "none", "By name, see [Analysts](#analysts)."},
	{
		"auth_query", "", part(func(v value, p *Policy) { p.AuthQuery = readAuthQuery(v) }), "none",
		"See [Passwords that a database knows](#passwords-that-a-database-knows).",
	},
	{
		"answers", "", part(func(v value, p *Policy) { decode(v, answerKeys, &p.Answers) }), "",
		"See [Remembered answers](#remembered-answers).",
	},
	{
		"defaults", "", part(func(v value, p *Policy) { decode(v, defaultKeys, &p.Defaults) }), "",
		"See [Defaults and limits](#defaults-and-limits).",
	},
	{
		"schemas", "", part(readSchemas), "none",
		"By name: `{lab: {defaults: {dates: [2015-01-01, 2025-12-31]}}}` is the default for dates of the tables of a schema.",
	},
	{
		"limits", "", part(func(v value, p *Policy) { decode(v, limitKeys, &p.Limits) }), "",
		"See [Defaults and limits](#defaults-and-limits).",
	},
	{
		"brdp", "", toggle(func(p *Policy, b bool) { p.Recycling = b }), "`false`",
		"`true`: noise beyond a bound may be drawn anew (`brdp_laplace`, `brdp_gaussian`), where that is cheaper. " +
			"US patent 12,547,767 may cover it: whether you may use it is for you to find out.",
	},
}

var tlsKeys = []key[Policy]{
	{"cert", "", text(func(p *Policy, s string) { p.TLSCert = s }), needed, "The file with the certificate."},
	{"key", "", text(func(p *Policy, s string) { p.TLSKey = s }), needed, "The file with its key."},
	{
		"client_ca", "", text(func(p *Policy, s string) { p.ClientCA = s }), "none",
		"The file with the authorities that sign certificates of clients.",
	},
}

// readLedger reads where the ledger is.
func readLedger(v value) (l Ledger) {
	stated := decode(v, ledgerKeys, &l)
	both := []string{"dir", "redis", "witness", "witness_password_file"}
	shared := slices.DeleteFunc(slices.Clone(stated), func(name string) bool { return slices.Contains(both, name) })
	switch {
	case slices.Contains(stated, "redis"):
		v.need("name")
	case len(shared) > 0:
		v.fail("%s is for a ledger in redis, and redis is missing", shared[0])
	}
	return l
}

var ledgerKeys = []key[Ledger]{
	{
		"dir", "", text(func(l *Ledger, s string) { l.Dir = s }), needed,
		"The folder of the embedded ledger; with `redis`, of this dpproxy's own journal, which no other shares. " +
			"On a local disk that honours fsync.",
	},
	{
		"redis", "", part(func(v value, l *Ledger) { l.Redis = readRedis(v) }), "none",
		"`redis://user@host:port/number`, `rediss://` likewise for TLS, or `unix://user@/path?db=number`. " +
			"User, port (6379) and number (0) can be left out. No other options.",
	},
	{
		"name", "", part(func(v value, l *Ledger) { l.Name = readLedgerName(v) }), "needed with `redis`",
		"The name that all its proxies give the ledger: 1 to 63 letters, digits, `_`, `.` and `-`. Its key in Redis is `dp:` and the name.",
	},
	{
		"redis_password_file", "", text(func(l *Ledger, s string) { l.PasswordFile = s }), "none",
		"The file with the user's password, if it is not in `DPPROXY_REDIS_PASSWORD`.",
	},
	{
		"replicas", "", count(maxReplicas, func(l *Ledger, n int) { l.Replicas = n }), "none",
		"How many replicas must have an entry before it counts as written, %s.",
	},
	{
		"asserted_durable", "", text(func(l *Ledger, s string) { l.AssertedDurable = s }), "none",
		"For a managed Redis that hides its settings: who has checked that they are as docs/operations.md wants them, and how. " +
			"It is recorded in the ledger at each start. Settings that can be seen are checked all the same.",
	},
	{
		"witness", "", part(func(v value, l *Ledger) { l.Witness = readWitness(v) }), "none",
		"Where the ledger is marked beside the mirror, so that an older copy of it is noticed when both were restored: a file on another " +
			"disk, as an absolute path, or a Postgres, written like `data`, whose role may write there; it is best not that of `data`.",
	},
	{
		"witness_password_file", "", text(func(l *Ledger, s string) { l.WitnessPasswordFile = s }), "none",
		"The file with the password of that Postgres, if it is not in `DPPROXY_WITNESS_PASSWORD`.",
	},
}

var answerKeys = []key[Answers]{
	{"remember", "", toggle(func(a *Answers, b bool) { a.Remember = b }), "`true`", "`false`: every answer is new, and costs."},
	{
		"refresh", "", part(func(v value, a *Answers) { a.Refresh = readSpan(v) }), "`24h`",
		"How long the data count as the same, 1m to 8784h. The clock is divided into such spans, in UTC.",
	},
	{
		"epoch", "", text(func(a *Answers, s string) { a.Epoch = s }), "none",
		"A name for the data. Another name makes all answers new: change it after a load, and send SIGHUP.",
	},
	{
		"keep", "", count(maxAnswers, func(a *Answers, n int) { a.Keep = n }), "`10000`",
		"How many are kept, %s; those used longest ago are forgotten first, and cost again.",
	},
}

var budgetKeys = []key[accountant.Budget]{
	{
		"epsilon", "", part(func(v value, b *accountant.Budget) { b.EpsilonPico = v.epsilon(dp.MaxPico) }), needed,
		"From 1e-12 to 9007.199254740992.",
	},
	{
		"delta", "", part(func(v value, b *accountant.Budget) { b.DeltaAtto = v.delta() }), "`0`",
		"From 1e-18 to below 1, or 0: a budget of pure ε.",
	},
	{
		"selection_delta", "", part(func(v value, b *accountant.Budget) { b.SelectionDeltaAtto = v.delta() }), "half of `delta`",
		"The part of `delta` for releases that may fail, such as private keys; below `delta`. 0 admits public keys only.",
	},
}

var privacyUnitKeys = []key[Policy]{
	{
		"name", "", text(func(p *Policy, s string) { p.Tables.Unit = s }), needed,
		"What is protected: a patient, a person. `init` fixes it: another name takes `dpproxy budget rename`.",
	},
	{
		"units", "", count(maxUnits, func(p *Policy, n int64) { p.Tables.Units = n }), "none",
		"About how many there are, as you may tell everybody, %s. Say it where they are few: limits are then chosen by their " +
			"number, or not chosen among too few to choose from.",
	},
	{
		"budget", "", part(func(v value, p *Policy) { p.Unit = readBudget(v) }), needed,
		"The guarantee. It bounds what all analysts together learn of one unit.",
	},
}

var tableKeys = []key[table]{
	{
		"public", "", part(readShown), "`false`",
		"The rows are copied to the mirror and are nobody's secret, but for columns that `columns` says are `hidden`. " +
			"Under the local model: the list of the columns that are copied with the key.",
	},
	{
		"unit", "", part(func(v value, t *table) { readUnitPath(v, &t.TablePolicy) }), "needed of a protected table",
		"The column that identifies the unit of a row, or `{via: column, to: table.column}`: the column refers to a protected table, " +
			"which leads to the unit. `{via: [column, column], to: table}` refers to a key of several columns: those that a foreign key " +
			"of these columns names, or else the primary key. " +
			"Rows that have a NULL in such a column, here or on the way to the unit, belong to nobody: " +
			"they are left out of every answer, unless `nobody` says otherwise. `check`, `suggest` and notices say so. " +
			"A text of more than 65,536 bytes identifies nobody, unless an index has the column: such rows are left out.",
	},
	{
		"nobody", "", oneOf([]string{"rows", "public"}, func(t *table, s string) { t.Nobody = policy.Nobody(s) }), "left out",
		"How rows count whose unit is NULL. The table has the unit's own column, and a key without NULL. `rows`: each is protected as a " +
			"person would be, with the rows of other tables whose way leads to it. That is *one row*, not one person. It counts as no " +
			"person. `public`: you declare that they concern nobody. They count likewise, and private groups that only they have are " +
			"shown. It is refused where a foreign key is ON DELETE SET NULL or SET DEFAULT, since rows of an erased person become such " +
			"rows; of `rows`, `check` warns there. [Rows without a person](guarantee.md#rows-without-a-person) has more.",
	},
	{
		"max_rows_per_group", "max_rows", rowLimit(), "auto",
		"Rows of one unit that count. `auto`: the limit is chosen for each statement, with a part of its budget. A number, %s: " +
			"the limit is this one, for `max_groups_contributed` groups. `{auto: n}`: a chosen one that is at most what n rows in each " +
			"group need. docs/sql.md says what a limit leaves out.",
	},
	{
		"max_groups_contributed", "max_partitions", count(maxContribution, func(t *table, n int64) { t.MaxPartitions = n }), "none",
		"Groups for which a number of rows is the limit: √groups · rows for all of them together; %s. It stands beside a number of rows " +
			"alone: a limit that is chosen is one of all groups.",
	},
	{
		"budget", "", part(func(v value, t *table) { t.budget = new(readBudget(v)) }), "none",
		"A limit under the unit's. It promises nothing by itself. " +
			"Once given, it can be left out after `dpproxy budget retire` only.",
	},
	{
		"max_epsilon", "", epsilon(func(t *table, n int64) { t.allowance.MaxEpsilonPico = n }), "none",
		"What one statement about the table may spend, %s; less if the analyst or the session says less.",
	},
	{
		"minimum_people", "", count(maxContribution, func(t *table, n int64) { t.allowance.MinimumPeople = n }), "that of the policy",
		"How many people a group of a statement about the table must have by a released count to be shown, %s, if that of the policy is " +
			"not larger. See [Groups of few people](#groups-of-few-people).",
	},
	{
		"mechanisms", "", part(func(v value, t *table) { t.allowance.Mechanisms = readMechanisms(v) }), "all",
		"A list of those that may answer about the table, from docs/settings.md; without them a statement is refused. " +
			"`brdp_gaussian` alone does not allow `gaussian` where drawing anew gains nothing, nor `brdp_laplace` `laplace`.",
	},
	{
		"defaults", "", part(func(v value, t *table) { decode(v, tableDefaultKeys, t) }), "those of the policy",
		"`{epsilon, max_epsilon, relative_error, target_fraction}`, as under [Defaults](#defaults-and-limits), of statements about the " +
			"table that a session says nothing else for. Of several tables, those that spend less. `dates` are the bounds of the " +
			"table's dates.",
	},
	{
		"not_protected", "", part(func(v value, t *table) { t.NotProtected = readColumnNames(v) }), "none",
		"Columns that refer to other people, whom this table's rows knowingly do not protect. A foreign key that compares the unit's " +
			"column with that of the other table refers to nobody else.",
	},
	{
		"reference", "", toggle(func(t *table, b bool) { t.Reference = b }), "`false`",
		"Rows of the policy refer to the table's, which are nobody's in particular, such as addresses: they are looked up and never " +
			"listed. Such a table has `columns`, `derived`, `refers`, `not_protected` and the default for dates alone. " +
			"[Reference tables](#reference-tables) says what is protected of them.",
	},
	{
		"refers", "", part(func(v value, t *table) { t.Refers = readReferences(v) }), "none",
		"References that no foreign key states: `{stay_id: stay}`, to the primary key of a table, or a list of `{via: column, to: " +
			"table.column}` and `{via: [column, column], to: table}`. [References](#references-to-rows-of-people) says what they are for.",
	},
	{
		"same_unit", "", part(func(v value, t *table) { t.SameUnit = readColumnNames(v) }), "none",
		"Columns that refer to rows of people beside the way to the unit, of which you know that they are of the same unit: notices " +
			"need not say any more that joins by them keep only such pairs.",
	},
	{"columns", "", part(func(v value, t *table) { t.Columns = readColumns(v) }), "none", "By name, see below."},
	{
		"derived", "", part(func(v value, t *table) { t.Derived = readDerived(v) }), "none",
		"Bounds of expressions over the columns, by names of your own: `{stay_days: {is: gone - day, bounds: [0, 60]}}`. " +
			"[Bounds of expressions](#bounds-of-expressions) says what they do.",
	},
	{
		"partitions", "", part(func(v value, t *table) { t.partitions = readPartitions(v) }), "none",
		"Partitions that analysts may name, see below.",
	},
	{"view", "", toggle(func(t *table, b bool) { t.view = b }), "`false`", "A view over protected tables, see below."},
	{
		"definition", "", oneOf([]string{"hidden", "shown"}, func(t *table, s string) { t.shown = s == "shown" }), "`hidden`",
		"`shown`: analysts see the definition of the view.",
	},
	{
		"model", "", oneOf([]string{"central", "local"}, func(t *table, s string) { t.local = s == "local" }), "`central`",
		"`local`: each row answers questions with noise of its own (docs/local.md). Such a table has `key`, `public`, `local_budget`, " +
			"`values_change` and `columns`, and none of the other keys.",
	},
	{
		"key", "", part(func(v value, t *table) { t.key = readColumnName(v) }), "needed under the local model",
		"The column that tells objects apart: one row for each, as a unique index proves. Everybody may see it.",
	},
	{
		"local_budget", "", localBudget(), "needed under the local model",
		"What each object may lose in all, as ε, %s; or `{epsilon: 4, delta: 1e-9}`, which is of use for many tiny questions " +
			"(docs/local.md), with `delta` at most 1e-5. It is beside the unit's budget: `dpproxy check` prints the sum.",
	},
	{
		"values_change", "", oneOf([]string{"sum", "never"}, func(t *table, s string) { t.never = s == "never" }), "`sum`",
		"`sum`: an object loses the sum of the ε of its answers, whatever happens to its values. `never`: you promise that they do not " +
			"change, and it loses what its answers tell, which is less.",
	},
}

// autoKeys are those of a limit that is chosen.
var autoKeys = []key[table]{
	{"auto", "", count(maxContribution, func(t *table, n int64) { t.AutoRows = n }), needed, ""},
}

var unitKeys = []key[way]{
	{"via", "", part(readVia), needed, ""},
	{"to", "", part(func(v value, w *way) { w.to = v }), needed, ""},
}

var columnKeys = []key[policy.ColumnPolicy]{
	{"bounds", "", part(readColumnBounds), "", ""},
	{"values", "", part(func(v value, c *policy.ColumnPolicy) { c.Values, c.EnumValues = readValues(v) }), "", ""},
	{"step", "", part(func(v value, c *policy.ColumnPolicy) { c.Step = v.step() }), "", ""},
	{"fields", "", part(func(v value, c *policy.ColumnPolicy) { c.Fields = readFields(v) }), "", ""},
}

// fieldKeys are those of a field of a column of documents.
var fieldKeys = []key[policy.FieldPolicy]{
	{"type", "", oneOf(policy.FieldTypes(), func(f *policy.FieldPolicy, s string) { f.Type = s }), "", ""},
	{"bounds", "", part(func(v value, f *policy.FieldPolicy) { readColumnBounds(v, &f.ColumnPolicy) }), "", ""},
	{"values", "", part(readFieldValues), "", ""},
	{"step", "", part(func(v value, f *policy.FieldPolicy) { f.Step = v.step() }), "", ""},
}

// derivedKeys are those of the bounds of an expression.
var derivedKeys = []key[policy.DerivedPolicy]{
	{"is", "", part(func(v value, d *policy.DerivedPolicy) { d.Is = readExpression(v) }), needed, ""},
	{"bounds", "", part(func(v value, d *policy.DerivedPolicy) { d.Bounds = readBounds(v, readDerivedBound) }), needed, ""},
}

var tableDefaultKeys = []key[table]{
	{"epsilon", "", epsilon(func(t *table, n int64) { t.defaults.EpsilonPico = n }), "", ""},
	{"max_epsilon", "", epsilon(func(t *table, n int64) { t.defaults.MaxEpsilonPico = n }), "", ""},
	{"relative_error", "", between(leastRelativeError, 1, func(t *table, x float64) { t.defaults.RelativeError = x }), "", ""},
	{"target_fraction", "", between(leastFraction, 1, func(t *table, x float64) { t.defaults.TargetFraction = x }), "", ""},
	{"dates", "", part(func(v value, t *table) { t.Dates = readDates(v) }), "", ""},
}

var schemaKeys = []key[SchemaDefaults]{
	{"defaults", "", part(func(v value, s *SchemaDefaults) { decode(v, schemaDefaultKeys, s) }), needed, ""},
}

var schemaDefaultKeys = []key[SchemaDefaults]{
	{"dates", "", part(func(v value, s *SchemaDefaults) { s.Dates = readDates(v) }), needed, ""},
}

var analystKeys = []key[Analyst]{
	{
		"password", "", part(func(v value, a *Analyst) { a.Verifier = readVerifier(v) }), "needed without `tls.client_ca` and `auth_query`",
		"What `dpproxy verifier` makes of the password: `SCRAM-SHA-256$...`, of at most 10000000 iterations. A password itself is refused.",
	},
	{
		"certificates", "", part(func(v value, a *Analyst) {
			v.list(func(c value) { a.Certificates = append(a.Certificates, c.text()) })
		}), "the analyst's name",
		"With `tls.client_ca`: the common names of the certificates that log in as this analyst, without a password. " +
			"A client that shows another one, or none, is asked for the password.",
	},
	{
		"tables", "", part(func(v value, a *Analyst) { a.Tables = readTableNames(v) }), "none",
		"Protected tables and views of the policy, each once. Partitions come with their table. " +
			"Public tables are everybody's: an analyst whose list lacks them reads them all the same, and naming them here " +
			"changes nothing. What not everybody may see is hidden, or in no public table.",
	},
	{
		"budget", "", part(func(v value, a *Analyst) { a.Budget = new(readBudget(v)) }), "none",
		"A limit under the unit's. Analysts who share what they learn are bounded by the unit's budget alone. " +
			"Once given, it can be left out after `dpproxy budget retire` only.",
	},
	{
		"max_epsilon", "", epsilon(func(a *Analyst, n int64) { a.MaxEpsilonPico = n }), "none",
		"As of a table: what one of the analyst's statements may spend, %s.",
	},
	{
		"mechanisms", "", part(func(v value, a *Analyst) { a.Mechanisms = readMechanisms(v) }), "all",
		"As of a table: those that may answer the analyst's statements.",
	},
	{
		"settings", "", part(func(v value, a *Analyst) { a.Settings = readSettings(v) }), "none",
		"Settings that the analyst's sessions begin with, in small letters, see below.",
	},
	{
		"publish", "", toggle(func(a *Analyst, b bool) { a.Publishes = b }), "`false`",
		"Whether the analyst may make tables in the schema `published`, which colleagues and tools read (docs/dashboards.md).",
	},
	{
		"pooled", "", toggle(func(a *Analyst, b bool) { a.Pooled = b }), "`false`",
		"Whether clients come through a pooler that gives a session to another client after each transaction, such as pgbouncer with " +
			"`pool_mode = transaction`. `SET` of a setting of dpproxy is refused then, since it would hold for others: " +
			"`SET LOCAL` and `dp:` comments hold for one transaction and one statement.",
	},
}

// readAuthQuery reads how the verifiers of analysts are found.
func readAuthQuery(v value) *AuthQuery {
	q := &AuthQuery{}
	decode(v, authQueryKeys, q)
	switch q.Connection {
	case AuthMirror:
		v.need("query") // the roles there have passwords of dpproxy's own
		fallthrough
	case AuthData:
		if q.PasswordFile != "" {
			v.fail("password_file belongs to a connection of its own: %s has one", q.Connection)
		}
	}
	return q
}

// The usual query leaves out roles that may not log in, as pg_shadow does.
var authQueryKeys = []key[AuthQuery]{
	{
		"connection", "", part(func(v value, q *AuthQuery) { q.Connection = readAuthConnection(v) }), needed,
		"Where the query runs: a connection written like `data`, or the word `data` or `mirror` for the one of that key " +
			"(`mirror_admin`, if there is one).",
	},
	{
		"password_file", "", text(func(q *AuthQuery, s string) { q.PasswordFile = s }), "none",
		"The file with the password of a connection of its own, if that is not in `DPPROXY_AUTH_PASSWORD`.",
	},
	{
		"query", "", part(func(v value, q *AuthQuery) { q.Query = v.sql() }),
		"`SELECT passwd, valuntil FROM pg_catalog.pg_shadow WHERE usename = $1`; needed with `mirror`",
		"One SELECT that only reads and has the parameter `$1`, the name of the role. It returns the verifier, and the time until which " +
			"that is valid or NULL, a `timestamptz`; or the verifier alone. Names outside of pg_catalog need their schema.",
	},
}

// readAuthConnection reads a connection, or the word for one of the policy.
func readAuthConnection(v value) string {
	if s, _ := scalarText(v.node); s == AuthData || s == AuthMirror {
		return s
	}
	return readConnection(v)
}

var defaultKeys = []key[Defaults]{
	{
		"epsilon", "", epsilon(func(d *Defaults, n int64) { d.EpsilonPico = n }), "`0.1`",
		"What a statement spends unless the session sets `dp.epsilon`; %s.",
	},
	{
		"confidence", "", between(minConfidence, maxConfidence, func(d *Defaults, x float64) { d.Confidence = x }), "`0.95`",
		"The confidence of error bars, %s.",
	},
	{
		"mechanism", "", oneOf(planner.MechanismNames(), func(d *Defaults, s string) { d.Mechanism = s }), "`auto`",
		"One of those in docs/settings.md.",
	},
	{
		"relative_error", "", between(leastRelativeError, 1, func(d *Defaults, x float64) { d.RelativeError = x }), "none",
		"The error that statements ask for, %s; a session says `dp.relative_error = off` for none.",
	},
	{
		"target_fraction", "", between(leastFraction, 1, func(d *Defaults, x float64) { d.TargetFraction = x }), "`1`",
		"The share of the groups that must meet it, %s.",
	},
	{
		"max_epsilon", "", epsilon(func(d *Defaults, n int64) { d.MaxEpsilonPico = n }), "as `defaults.epsilon`",
		"What a statement may spend to reach an error, %s.",
	},
	{"refine", "", toggle(func(d *Defaults, b bool) { d.Refine = b }), "`true`", "Whether remembered measurements are sharpened."},
	{
		"delta", "", part(func(v value, d *Defaults) { d.DeltaAtto = v.delta() }), "`1e-10`",
		"What one statement may spend of δ to select private groups.",
	},
	{
		"dates", "", part(func(v value, d *Defaults) { d.Dates = readDates(v) }), "none",
		"The bounds of dates and points in time, see [Dates](#dates): `[2010-01-01, 2025-12-31]`.",
	},
}

var limitKeys = []key[Limits]{
	{
		"statement_timeout", "", duration(func(l *Limits, d time.Duration) { l.StatementTimeout = d }), "`30s`",
		"For one read of protected data, %s. It ends at the next point of the reply grid.",
	},
	{"connections", "", count(maxConnections, func(l *Limits, n int) { l.Connections = n }), "`100`", "Sessions, %s."},
	{
		"analyst_connections", "", count(maxConnections, func(l *Limits, n int) { l.AnalystConnections = n }), "as `connections`",
		"Sessions of one analyst, %s.",
	},
	{
		"address_connections", "", count(maxConnections, func(l *Limits, n int) { l.AddressConnections = n }), "as `connections`",
		"Sessions from one address, one of IPv4 or a /64 of IPv6; %s.",
	},
	{
		"failed_logins", "", count(maxFailedLogins, func(l *Limits, n int) { l.FailedLogins = n }), "`20`",
		"Log-ins of one name from one address within a minute with a wrong password, or with none after the challenge, %s; " +
			"after these that name must wait there, others need not.",
	},
	{
		"idle_session_timeout", "", duration(func(l *Limits, d time.Duration) { l.IdleSession = d }), "`24h`",
		"After which a session that asks for nothing is ended, %s.",
	},
	{
		"idle_in_transaction_session_timeout", "", duration(func(l *Limits, d time.Duration) { l.IdleTransaction = d }), "`1h`",
		"The same inside a transaction, %s. Sessions cannot change either.",
	},
	{
		"data_connections", "", count(maxDataConnections, func(l *Limits, n int) { l.DataConnections = n }), "`8`",
		"Connections to the protected database, %s.",
	},
	{
		"analyst_data_connections", "", count(maxDataConnections, func(l *Limits, n int) { l.AnalystDataConnections = n }),
		"as `data_connections`",
		"How many of them one analyst has at a time, %s.",
	},
	{
		"data_queue", "", count(maxConnections, func(l *Limits, n int) { l.DataQueue = n }), "`1000`",
		"Statements that may wait for one, %s; one more is refused with `53300`, at no cost. Analysts take turns, whoever asks for much.",
	},
	{
		"analyst_data_queue", "", count(maxConnections, func(l *Limits, n int) { l.AnalystDataQueue = n }), "as `data_queue`",
		"How many of these one analyst may have, %s.",
	},
	{
		"analyst_left_reads", "", countOrNone(maxDataConnections, func(l *Limits, n int) { l.AnalystLeftReads = n }), "`2`",
		"How many paid reads of one analyst go on when their clients have timed out, cancelled or gone, so that who asks the same " +
			"again waits for them instead of paying again; %s. Each has one of the connections, until `statement_timeout`.",
	},
	{
		"fold_memory", "", count(maxFoldMemory, func(l *Limits, n int) { l.FoldMemory = n }),
		"a quarter of the memory of the machine, or of its container",
		"Megabytes that rows of people may take in dpproxy, of all reads together, %s: each of `data_connections` has its part, a " +
			"megabyte at least. Rows that are more are read once more, in the order of the people; private groups that are " +
			"more are counted in parts, a reading for each.",
	},
	{
		"max_public_fanout", "", count(maxFanout, func(l *Limits, n int64) { l.MaxPublicFanout = n }), "`1000`",
		"Rows of a public table that one row may be joined with, unless a key proves fewer; %s.",
	},
	{
		"max_join_rows", "", count(maxContribution, func(l *Limits, n int64) { l.MaxJoinRows = n }), "`1000`",
		"Rows of one unit of a table that is joined on the unit, where the policy states no number of rows for the table; %s.",
	},
	{
		"max_work", "", count(maxWork, func(l *Limits, n int64) { l.MaxWork = n }), "`1000000`",
		"Rows that the joins of a statement may make of each row of a unit, %s.",
	},
	{
		"reply_grid", "", part(func(v value, l *Limits) { l.ReplyGrid = readGrid(v) }), "`20ms`",
		"The first of the points of time at which answers leave, `1ms` to `10s`, or `0` to let them leave at once; " +
			"see docs/attack-model.md.",
	},
}
