package planner_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// A gridColumn is a column of which all values are tried that can matter: those that are declared, or those within its bounds, of times
// and floating-point numbers those beside every edge that the expressions below have.
type gridColumn struct {
	name, sqlType, kind string
	typ                 catalog.TypeRef
	declared            policy.ColumnPolicy
	notNull             bool
	values              string // a query
	count               int
}

func gridColumns() []gridColumn {
	bounds, declared := plannertest.Bounds, plannertest.Values
	timestamp := plannertest.Builtin("timestamp", "timestamp without time zone", 1114, -1)
	instant := plannertest.Builtin("timestamptz", "timestamp with time zone", 1184, -1)
	tenths := plannertest.Builtin("numeric", "numeric(3,1)", 1700, (3<<16|1)+4)
	listed := bounds("1", "9")
	listed.Values = []string{"1", "3", "4", "9"}
	padded := plannertest.Builtin("bpchar", "character(3)", 1042, 7)
	mood, _ := clinicSchema().Tables[name("patients")].Column("mood")
	enum := mood.Type
	return []gridColumn{
		{"a", "int", "int", plannertest.Int4, bounds("-2", "3"), false, "SELECT generate_series(-2, 3)", 7},
		{"b", "int", "int", plannertest.Int4, bounds("1", "4"), true, "SELECT generate_series(1, 4)", 4},
		{"k", "int", "int", plannertest.Int4, listed, true, "SELECT unnest('{1,3,4,9}'::int[])", 4},
		{"n", "numeric(3,1)", "numeric", tenths, bounds("-0.4", "2.5"), false, "SELECT generate_series(-0.4, 2.5, 0.1)", 31},
		{
			"f", "float8", "float", plannertest.Float8, bounds("0", "1"), true,
			`SELECT DISTINCT least(1, greatest(0, x + d)) FROM (SELECT g / 80.0::float8 AS x FROM generate_series(0, 80) g) v,
				unnest('{0,1e-15,-1e-15,1e-16,-1e-16}'::float8[]) AS d`, 405,
		},
		{
			"d", "date", "date", plannertest.Date, bounds("2023-12-28", "2024-01-03"), true,
			"SELECT date '2023-12-28' + generate_series(0, 6)", 7,
		},
		{
			"e", "date", "date", plannertest.Date, bounds("2024-02-27", "2024-03-04"), false,
			"SELECT date '2024-02-27' + generate_series(0, 6)", 8,
		},
		{
			"t", "timestamp", "timestamp", timestamp, bounds("2023-12-31 22:00:00", "2024-01-01 02:00:00"), true,
			`SELECT x FROM (SELECT m + d AS x FROM generate_series(timestamp '2023-12-31 22:00', '2024-01-01 02:00', '5 minutes') m,
				unnest('{0,1 microsecond,-1 microsecond}'::interval[]) d) v
				WHERE x BETWEEN '2023-12-31 22:00' AND '2024-01-01 02:00'`, 147,
		},
		{ // the clocks of Vienna go forward
			"z", "timestamptz", "instant", instant, bounds("2024-03-30 22:30:00Z", "2024-03-31 02:30:00Z"), true,
			`SELECT x FROM (SELECT m + d AS x FROM generate_series(timestamptz '2024-03-30 22:30Z', '2024-03-31 02:30Z', '5 minutes') m,
				unnest('{0,1 microsecond,-1 microsecond}'::interval[]) d) v
				WHERE x BETWEEN '2024-03-30 22:30Z' AND '2024-03-31 02:30Z'`, 147,
		},
		{ // they go back
			"y", "timestamptz", "instant", instant, bounds("2024-10-26 23:30:00Z", "2024-10-27 02:30:00Z"), false,
			`SELECT x FROM (SELECT m + d AS x FROM generate_series(timestamptz '2024-10-26 23:30Z', '2024-10-27 02:30Z', '5 minutes') m,
				unnest('{0,1 microsecond,-1 microsecond}'::interval[]) d) v
				WHERE x BETWEEN '2024-10-26 23:30Z' AND '2024-10-27 02:30Z'`, 112,
		},
		{"s", "text", "text", plannertest.Text, declared("x", "y", "3"), false, "SELECT unnest('{x,y,3}'::text[])", 4},
		{"c", "char(3)", "text", padded, declared("x", "y z"), true, "SELECT unnest('{x,y z}'::char(3)[])", 2},
		{ // the year before the first is 1 BC
			"p", "date", "date", plannertest.Date, bounds("0001-01-01", "0001-01-04"), true,
			"SELECT date '0001-01-01' + generate_series(0, 3)", 4,
		},
		{
			"h", "date", "date", plannertest.Date, bounds("9999-12-29", "9999-12-31"), false,
			"SELECT date '9999-12-29' + generate_series(0, 2)", 4,
		},
		{ // zeros that look different
			"u", "float8", "signed", plannertest.Float8, bounds("-1", "1"), true,
			`SELECT unnest('{-1,-0.75,-0.5,-0.25,-1e-20,-0,0,1e-20,0.25,0.5,0.75,1,-0.50000000000000011,-0.49999999999999994,` +
				`0.49999999999999994,0.50000000000000011,-0.99999999999999989,0.99999999999999989,-0.75000000000000011,` +
				`-0.74999999999999989,-0.25000000000000006,-0.24999999999999997,0.24999999999999997,0.25000000000000006,` +
				`0.74999999999999989,0.75000000000000011}` +
				`'::float8[])`, 26,
		},
		{"m", "mood", "enum", enum, policy.ColumnPolicy{EnumValues: true}, false, "SELECT unnest(enum_range(NULL::mood))", 4},
		{"o", "bool", "bool", plannertest.Boolean, policy.ColumnPolicy{}, false, "SELECT unnest('{t,f}'::bool[])", 3},
	}
}

const gridPublic = `DROP TABLE IF EXISTS cells, kinds;
CREATE TABLE kinds (id int PRIMARY KEY, kname text NOT NULL, class int, kday date NOT NULL, rate numeric NOT NULL);
INSERT INTO kinds VALUES (1, 'x', 1, '2023-12-30', 0.5), (2, 'y', NULL, '2024-01-01', 1), (3, 'y', 2, '2024-01-02', 1.50),
  (4, 'q', 2, '2023-12-30', 3), (7, '3', 3, '2024-01-01', 0)`

// gridModel has one protected table of such columns, and a public one.
func gridModel(t *testing.T, conn *pgconn.PgConn, columns []gridColumn) *policy.Model {
	t.Helper()
	s, p := clinicSchema(), clinicPolicy()
	s.TimeZones["europe/vienna"], s.TimeZones["asia/kolkata"] = true, true
	cells := &catalog.Table{
		Name: name("cells"), Kind: 'r', Columns: []catalog.Column{plannertest.Column("patient_id", plannertest.Int4, true)},
	}
	of := policy.TablePolicy{Name: name("cells"), UnitColumn: "patient_id", MaxRows: 20, Columns: map[string]policy.ColumnPolicy{}}
	ddl := gridPublic + "; CREATE TABLE cells (patient_id int NOT NULL"
	for _, c := range columns {
		cells.Columns, of.Columns[c.name] = append(cells.Columns, plannertest.Column(c.name, c.typ, c.notNull)), c.declared
		ddl += ", " + c.name + " " + c.sqlType
	}
	s.Tables[name("cells")] = cells
	s.Tables[name("kinds")] = &catalog.Table{Name: name("kinds"), Kind: 'r', Keys: plannertest.Primary(), Columns: []catalog.Column{
		plannertest.Column("id", plannertest.Int4, true), plannertest.Column("kname", plannertest.Text, true),
		plannertest.Column("class", plannertest.Int4, false), plannertest.Column("kday", plannertest.Date, true),
		plannertest.Column("rate", plannertest.Numeric, true),
	}}
	s.PublicRows[name("kinds")] = 5
	p.Tables = append(p.Tables, of, policy.TablePolicy{Name: name("kinds"), Public: true})
	for _, c := range slices.Compact([]*pgconn.PgConn{conn, mirrorOf(t, conn)}) {
		runSQL(t, c, ddl+")")
		t.Cleanup(func() { _ = c.Exec(context.Background(), "DROP TABLE cells, kinds").Close() })
	}
	return checkedBy(t, p, s)
}

// gridForms are expressions by kind: {kind} stands for a smaller one, # for a whole number, @ for a constant of the kind, and ⟨⟩ for the
// parentheses of a divisor, since a key that divides by zero is NULL.
var gridForms = map[string][]string{
	"int": {
		"{int} + #", "# - {int}", "{int} * 2", "{int} / 2", "{int} % 2", "abs({int})", "-{int}", "{int} + {int}", "{int} - {int}",
		"length({text})", "floor({numeric})::int", "extract(year FROM {date})::int", "{date} - {date}", "({bool})::int",
		"coalesce({int}, #)", "nullif({int}, #)", "least({int}, #)", "greatest({int}, {int})", "CASE WHEN {bool} THEN # ELSE {int} END",
		"CASE WHEN {int} < # THEN 1 WHEN {int} < # THEN 2 ELSE 3 END", "width_bucket({numeric}, 0, 2, 4)", "extract(dow FROM {date})::int",
		"10 / ⟨{int}⟩", "{int} % ⟨{int} - #⟩", "CASE WHEN {enum} < 'happy' THEN # ELSE # END", "sign(u)::int", "round(u)::int",
		"({numeric})::int", "({date} - {date}) / 7", "({int} + {int}) / 3 * 3", "floor(({numeric} + {int}) / 2)::int",
		"least(({date} - {date}) / 2, 2)", "width_bucket({numeric} + {int}, 0, 4, 3)", "extract(day FROM {timestamp} - {timestamp})::int",
	},
	"numeric": {
		"floor({numeric} * 2) / 2", "floor({numeric} / 0.5) * 0.5", "round({numeric})", "trunc({numeric})", "ceil({numeric})",
		"{numeric} * 10", "{int}::numeric", "least({numeric}, 1.5)", "coalesce({numeric}, #)", "extract(month FROM {date})",
		"extract(hour FROM {timestamp})", "extract(isodow FROM {date})", "extract(quarter FROM {date})",
		"extract(hour FROM {instant} AT TIME ZONE 'Europe/Vienna')", "extract(epoch FROM {timestamp})::bigint / 3600",
		"floor(extract(epoch FROM {timestamp}) / 3600) * 3600", "sign({numeric})", "CASE WHEN {numeric} < 1 THEN 0 ELSE 1 END",
		"floor(f * 8) / 8", "round(f::numeric, 1)", "{int} * 0.5", "{int} / 4.0",
		"round({numeric} * {int}, -1)", "floor({numeric} + {int} / 2.0)",
		"round({numeric} / nullif({int}, 0))", "1 / ⟨{numeric} - 1⟩", "round((u * 2)::numeric)",
		"floor(extract(epoch FROM {timestamp} - {timestamp}) / 3600)", "floor((f + {int}) / 2)::numeric",
	},
	"date": {
		"{date} + #", "{date} - 1", "date_trunc('month', {date})::date", "{timestamp}::date",
		"({instant} AT TIME ZONE 'Asia/Kolkata')::date", "greatest({date}, @)", "coalesce({date}, @)",
		"CASE WHEN {bool} THEN {date} ELSE @ END",
	},
	"timestamp": {
		"date_trunc('hour', {timestamp})", "date_trunc('day', {timestamp})", "date_trunc('year', {timestamp})",
		"date_bin('30 minutes', {timestamp}, '2023-12-31 22:10')", "date_trunc('hour', {timestamp} + interval '20 minutes')",
		"date_trunc('hour', {instant} AT TIME ZONE 'Europe/Vienna')", "date_trunc('week', {date})",
	},
	"instant": {
		"date_trunc('hour', {instant})", "date_trunc('day', {instant}, 'Europe/Vienna')", "date_bin('1 hour', {instant}, '2024-01-01Z')",
	},
	"text": {
		"upper({text})", "{text} || '!'", "({int})::text", "({bool})::text", "to_char({date}, 'YYYY-MM')", "to_char({timestamp}, 'HH24')",
		"coalesce({text}, 'x')", "CASE WHEN {bool} THEN 'x' ELSE {text} END", "left({text}, 1)", "nullif({text}, 'x')",
		"'Q' || extract(quarter FROM {date})", "CASE {text} WHEN 'x' THEN 'a' WHEN 'y' THEN 'b' ELSE 'c' END",
		"replace({text}, 'x', 'y')", "CASE WHEN {int} < # THEN 'x' WHEN {int} < # THEN 'y' ELSE 'x' END", "({enum})::text",
		"CASE WHEN {numeric} < 1 THEN '1' ELSE ({int})::text END", "((round(u))::int)::text", "(u < 0.25)::text",
		"to_char({date} - 3, 'YYYY-MM-DD')",
	},
	"enum": {"coalesce({enum}, 'ok')", "greatest({enum}, 'ok')", "CASE WHEN {bool} THEN {enum} ELSE 'sad' END", "nullif({enum}, 'sad')"},
	"signed": {
		"round(u)", "floor(u * 4) / 4", "-u", "u * 0", "abs(u)", "trunc(u * 2)", "ceil(u)",
		"CASE WHEN {bool} THEN round(u) ELSE 0 END",
	},
	"bool": {
		"{int} < #", "{int} = #", "{int} >= {int}", "{numeric} > 1.5", "{numeric} BETWEEN 0 AND 1", "{text} = 'x'", "{text} IN ('x', 'y')",
		"{date} < @", "{date} BETWEEN '2023-12-30' AND '2024-01-01'", "{timestamp} >= '2024-01-01'", "{timestamp} < '2023-12-31 23:30'",
		"{instant} < '2024-03-31 01:00Z'", "{int} IS NULL", "{numeric} IS NOT NULL", "{bool} AND {bool}", "{bool} OR {bool}",
		"NOT ({bool})",
		"{bool} IS TRUE", "{int} IN (1, 2, NULL)", "{int} NOT IN (1, 3)", "{int} <> #", "f < 0.25", "f >= 0.5", "{int} IS DISTINCT FROM #",
		"{date} >= {date}", "{date} < {date} + #", "{int} < {int} + #", "{int} BETWEEN {int} AND {int} + #", "{int} - # > {int}",
		"{timestamp} <= {timestamp}", "{numeric} < {int}", "{enum} > 'sad'", "{enum} = 'ok'", "u = 0", "u < 0.25", "u >= 0.5", "u <> 'NaN'",
		"{date} < 'infinity'", "{timestamp} > '-infinity'", "{numeric} < 'NaN'::numeric", "f <= 'infinity'", "{date} > '0001-12-31 BC'",
		"{date} <= '10000-01-01'", "1 / ⟨{int}⟩ = 1",
		"{text} LIKE '%x%'", "{int} % 2 = 1", "extract(month FROM {date}) = 1", "{date} IS NULL", "{text} <> 'y'",
	},
}

var gridConstants = map[string][]string{
	"int":  {"-1", "0", "1", "2", "3", "5"},
	"date": {"date '2023-12-30'", "date '2024-01-01'", "date '2024-02-29'", "date '2024-03-01'"},
}

// A gridDraw draws statements over the columns of FROM.
type gridDraw struct {
	rnd     *rand.Rand
	columns []gridColumn
	joined  bool
}

func (g *gridDraw) pick(list []string) string { return list[g.rnd.IntN(len(list))] }

// expr draws an expression.
func (g *gridDraw) expr(kind string, depth int) string {
	if depth == 0 || g.rnd.IntN(4) == 0 {
		if leaf := g.leaf(kind); leaf != "" {
			return leaf
		}
	}
	form := g.pick(gridForms[kind])
	for strings.Contains(form, "#") {
		form = strings.Replace(form, "#", g.pick(gridConstants["int"]), 1)
	}
	for strings.Contains(form, "@") {
		form = strings.Replace(form, "@", g.pick(gridConstants["date"]), 1)
	}
	for {
		before, rest, found := strings.Cut(form, "{")
		if !found {
			return form
		}
		of, after, _ := strings.Cut(rest, "}")
		form = before + "(" + g.expr(of, max(depth-1, 0)) + ")" + after
	}
}

// leaf draws a column of a kind; "" if there is none.
func (g *gridDraw) leaf(kind string) string {
	var list []string
	for _, c := range g.columns {
		if c.kind == kind {
			list = append(list, c.name)
		}
	}
	if g.joined {
		list = append(list, map[string][]string{
			"int": {"id", "class"}, "text": {"kname"}, "date": {"kday"}, "numeric": {"rate"},
		}[kind]...)
	}
	if len(list) == 0 {
		return ""
	}
	return g.pick(list)
}

// gridJoins are FROM and, of a join, its condition.
var gridJoins = []string{
	"cells", "cells", "cells", "cells JOIN kinds ON id = k", "cells JOIN kinds ON id = a", "cells JOIN kinds ON kday = d",
	"cells LEFT JOIN kinds ON id = k", "cells JOIN kinds ON kname = s",
}

// A gridStatement is a statement with the columns of cells that it mentions.
type gridStatement struct {
	keys, where []string
	from        string
	used        []gridColumn
}

func (g *gridDraw) statement() gridStatement {
	st := gridStatement{from: g.pick(gridJoins)}
	g.joined = st.from != "cells"
	kinds := []string{"int", "numeric", "date", "timestamp", "instant", "text", "bool", "enum", "signed"}
	for range 1 + g.rnd.IntN(3) {
		key := g.expr(g.pick(kinds), 2)
		for slices.Contains([]string{"t", "z", "y"}, key) { // too many values
			key = g.expr("timestamp", 2)
		}
		st.keys = append(st.keys, key)
	}
	for range g.rnd.IntN(4) {
		st.where = append(st.where, g.expr("bool", 2))
	}
	return st
}

// words are those of an expression, without its literals.
func words(text string) (all []string) {
	for i, part := range strings.Split(text, "'") {
		if i%2 == 0 {
			all = append(all, strings.FieldsFunc(part, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })...)
		}
	}
	return all
}

// mentioned finds the columns of cells in a text.
func mentioned(columns []gridColumn, text string) (used []gridColumn, rows int) {
	rows = 1
	for _, c := range columns {
		if slices.Contains(words(text), c.name) {
			used, rows = append(used, c), rows*c.count
		}
	}
	return used, rows
}

func (st gridStatement) sql() string {
	sql := "SELECT " + strings.Join(st.keys, ", ") + ", count(*) FROM " + st.from
	if len(st.where) > 0 {
		sql += " WHERE (" + strings.Join(st.where, ") AND (") + ")"
	}
	ordinals := make([]string, len(st.keys))
	for i := range st.keys {
		ordinals[i] = strconv.Itoa(i + 1)
	}
	return strings.NewReplacer("⟨", "(", "⟩", ")").Replace(sql + " GROUP BY " + strings.Join(ordinals, ", "))
}

// parts returns what the columns of an expression belong to: a column of cells, or "public" for those of kinds and what an inner join makes
// identical to them.
func (st gridStatement) parts(expr string) (all []string) {
	for _, word := range words(expr) {
		_, tie, _ := strings.Cut(st.from, " = ")
		switch {
		case slices.Contains([]string{"id", "kname", "class", "kday", "rate"}, word), word == tie && !strings.Contains(st.from, "LEFT"):
			all = append(all, "public")
		case slices.ContainsFunc(st.used, func(c gridColumn) bool { return c.name == word }):
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// linked reports whether keys are over a column of cells and over the public rows that an outer join matches by it, which are listed each
// with each.
func (st gridStatement) linked() bool {
	_, tie, outer := strings.Cut(st.from, " = ")
	of := st.parts(strings.Join(st.keys, " "))
	return outer && strings.Contains(st.from, "LEFT") && slices.Contains(of, "public") && slices.Contains(of, tie)
}

// raises reports whether a public row may be divided by, which raises before anything is read.
func (st gridStatement) raises() bool {
	return slices.ContainsFunc(slices.Concat(st.keys, st.where), func(expr string) bool {
		return strings.Contains(expr, "⟨") && slices.Contains(st.parts(expr), "public")
	})
}

// meets reports whether an expression computes with several values of which one is of a column with too many of them to be listed with
// others. Their sum or difference is cut into cells, whichever values its columns can have beside each other.
func (st gridStatement) meets(expr string) bool {
	columns, fine := 0, false
	for _, word := range words(expr) {
		if len(st.parts(word)) > 0 {
			columns, fine = columns+1, fine || slices.Contains([]string{"t", "y", "z", "f", "u"}, word)
		}
	}
	return fine && columns > 1
}

// alone returns the statement with the conditions that are about one column of its keys, or about one public row.
func (st gridStatement) alone() gridStatement {
	of := st.parts(strings.Join(st.keys, " "))
	out := st
	out.where = nil
	for _, cond := range st.where {
		if parts := st.parts(cond); len(parts) == 1 && slices.Contains(of, parts[0]) && !st.meets(cond) {
			out.where = append(out.where, cond)
		}
	}
	return out
}

// brute selects the keys of all rows that there can be.
func (st gridStatement) brute() string {
	cells := "(SELECT 1) AS nothing"
	if len(st.used) > 0 {
		items := make([]string, len(st.used))
		for i, c := range st.used {
			null := ""
			if !c.notNull {
				null = " UNION ALL SELECT NULL"
			}
			items[i] = "(" + c.values + null + ") AS v" + strconv.Itoa(i) + "(" + c.name + ")"
		}
		cells = strings.Join(items, ", ")
	}
	from := strings.Replace(st.from, "cells", "(SELECT * FROM "+cells+") AS cells", 1)
	sql := "SELECT DISTINCT " + strings.Join(st.keys, ", ") + " FROM " + from
	if len(st.where) > 0 {
		sql += " WHERE (" + strings.Join(st.where, ") AND (") + ")"
	}
	return strings.NewReplacer("⟨", "nullif(", "⟩", ", 0)").Replace(sql)
}
