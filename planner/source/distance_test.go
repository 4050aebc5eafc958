package source_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// moves have values that are equal, next to each other, and NULL; the clocks of Vienna change in their months.
const moves = `
CREATE TABLE moves (id int PRIMARY KEY, uid int NOT NULL, n int, big bigint, m numeric(8,2), z numeric, day date, ts timestamp,
  at timestamptz, x int, f float8, b bool);
INSERT INTO moves SELECT g, g % 20, CASE WHEN g % 7 > 0 THEN g * 37 % 50 END,
  CASE WHEN g % 9 > 0 THEN 9223372036854775807 - g * 31 % 20 END,
  CASE WHEN g % 8 > 0 THEN g / 20 * 7 % 23 / 100.0 END, CASE WHEN g % 5 > 0 THEN (ARRAY[1, 1.5, 1.50, 2.125, 3])[g * 13 % 5 + 1] END,
  CASE WHEN g % 11 > 0 THEN date '2024-01-25' + g * 17 % 80 END,
  CASE WHEN g % 6 > 0 THEN timestamp '2024-02-25' + g * 29 % 300 * interval '6 hours' END,
  CASE WHEN g % 6 > 0 THEN timestamptz '2024-03-29 12:00+00' + g * 19 % 200 * interval '1 hour' END,
  CASE WHEN g % 4 > 0 THEN g % 10 END, g % 16 / 4.0, g % 3 > 0 FROM generate_series(1, 900) g;`

// A frameOrder is a column, or an expression, and distances between its values.
type frameOrder struct {
	by        string
	distances []string
}

var frameOrders = []frameOrder{
	{"n", []string{"0", "1", "5", "49", "'3'"}},
	{"n * 2", []string{"0", "1", "2", "7"}},
	{"big", []string{"0", "1", "3", "1000000000000000000"}},
	{"m", []string{"0", "1", "0.01", "0.005", "0.0325"}},
	{"z", []string{"0", "0.5", "0.125", "1", "1.0000"}},
	{"day", []string{"interval '0'", "'1 day'", "'1 month'", "interval '1 month 2 days'", "'36 hours'", "'7 days'"}},
	{"ts", []string{"interval '0'", "'6 hours'", "'1 month'", "interval '1 month 3 hours'", "'1 microsecond'", "'7 days'"}},
	{"at", []string{"interval '0'", "'1 hour'", "'24 hours'", "'100:30:00'", "'1 microsecond'"}},
	{"at::date", []string{"'1 day'", "'3 days'"}},
}

// frame writes a frame, and says whether it begins with the first row.
func (o frameOrder) frame(r *rand.Rand) (sql string, first bool) {
	one := func() string { return o.distances[r.IntN(len(o.distances))] }
	ends := [][2]string{
		{"UNBOUNDED PRECEDING", one() + " PRECEDING"},
		{"UNBOUNDED PRECEDING", one() + " FOLLOWING"},
		{one() + " PRECEDING", "CURRENT ROW"},
		{one() + " PRECEDING", one() + " FOLLOWING"},
		{one() + " PRECEDING", one() + " PRECEDING"},
		{"CURRENT ROW", one() + " FOLLOWING"},
		{one() + " FOLLOWING", one() + " FOLLOWING"},
		{"CURRENT ROW", "CURRENT ROW"},
	}
	n := r.IntN(len(ends))
	order := []string{"", " DESC", " NULLS FIRST", " DESC NULLS LAST"}[r.IntN(4)]
	return o.by + order + " RANGE BETWEEN " + ends[n][0] + " AND " + ends[n][1], n < 2
}

// movesCatalog has the table moves, with bounds for all that a frame can add up.
func movesCatalog(t *testing.T) *policy.Model {
	t.Helper()
	bounds := plannertest.Bounds
	columns := []catalog.Column{
		column("id", int4, true), column("uid", int4, true), column("n", int4, false), column("big", bigint, false),
		column("m", plannertest.Builtin("numeric", "numeric", 1700, (8<<16|2)+4), false), column("z", plannertest.Numeric, false),
		column("day", date, false), column("ts", plannertest.Builtin("timestamp", "timestamp without time zone", 1114, -1), false),
		column("at", plannertest.Builtin("timestamptz", "timestamp with time zone", 1184, -1), false), column("x", int4, false),
		column("f", float8, false), column("b", boolean, false),
	}
	return plannertest.CheckedBy(t, policy.Policy{Unit: "person", Tables: []policy.TablePolicy{
		{Name: name("moves"), UnitColumn: "uid", MaxRows: 1000, MaxPartitions: 3, Columns: map[string]policy.ColumnPolicy{
			"n": bounds("0", "50"), "big": bounds("0", "9223372036854775807"), "m": bounds("0", "4"),
			"z": bounds("0", "4"), "x": bounds("0", "10"), "f": bounds("0", "4"),
			"day": bounds("2024-01-01", "2024-12-31"), "ts": bounds("2024-01-01", "2024-12-31"), "at": bounds("2024-01-01", "2024-12-31"),
		}},
	}}, &catalog.Schema{
		ServerVersion: plannertest.ServedVersion, TimeZones: map[string]bool{"Europe/Vienna": true, "UTC": true},
		Tables: map[catalog.Name]*catalog.Table{
			name("moves"): {Name: name("moves"), Kind: 'r', Keys: plannertest.Primary(), Columns: columns},
		},
	})
}

// TestFramesByDistance reads window functions over frames by distance: for each row they have the value that Postgres gives them.
func TestFramesByDistance(t *testing.T) {
	cat := movesCatalog(t)
	conn, err := pgx.Connect(t.Context(), server.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	run(t, conn.PgConn(), "BEGIN; "+moves)
	r := rand.New(rand.NewPCG(7, 1))
	apart, of := []string{
		"count(*)", "count(x)", "sum(x)", "sum(m)", "sum(z)", "sum(f)", "avg(x)", "avg(m)", "avg(f)", "sum(x) FILTER (WHERE b)",
		"count(*) FILTER (WHERE x > 3)", "avg(x) FILTER (WHERE b AND x > 7)",
	}, []string{"min(x)", "max(m)", "bool_or(b)"}
	read := 0
	for range 400 {
		frame, first := frameOrders[r.IntN(len(frameOrders))].frame(r)
		calls := apart
		if first {
			calls = slices.Concat(of, apart)
		}
		call := calls[r.IntN(len(calls))]
		window := call + " OVER (PARTITION BY uid" + []string{"", ", b"}[r.IntN(2)] + " ORDER BY " + frame + ")"
		s, values, err := readFrames(t, conn, cat, "SELECT count(id), count(v) FROM (SELECT uid, id, "+window+" AS v FROM moves) t")
		if err != nil {
			if !strings.Contains(err.Error(), "before it begins") {
				t.Errorf("%s: %v", window, err)
			}
			continue
		}
		read++
		got := readMoves(t, conn, "SET LOCAL TimeZone = 'UTC'; SET LOCAL search_path = pg_catalog",
			"SELECT "+strings.Join(s.Columns, ", ")+" FROM "+s.From+" WHERE "+s.Where, values)
		want := readMoves(t, conn, "SET LOCAL TimeZone = 'Europe/Vienna'; SET LOCAL search_path = public",
			"SELECT id, "+window+" AS v FROM moves", nil)
		if len(got) != len(want) {
			t.Errorf("%s: %d rows, not %d", window, len(got), len(want))
		}
		for id, v := range want {
			if g := got[id]; g == nil || new(big.Rat).Abs(new(big.Rat).Sub(g, v)).Cmp(big.NewRat(1, 1e12)) > 0 {
				t.Errorf("%s: row %s has %v, not %s\n%s", window, id, g, v.FloatString(3), s.From)
				break
			}
		}
	}
	const order = "SELECT sum(n) FROM (SELECT count(*) OVER (PARTITION BY uid ORDER BY %s PRECEDING) AS n FROM moves) t"
	for by, refusal := range map[string]string{
		"at RANGE '1 day'": "time zone", "day RANGE '3000 years'": "out of range", "day DESC RANGE '8000 years'": "out of range",
		"day DESC RANGE '3000 years'": "",
	} {
		if _, _, err = readFrames(t, conn, cat, fmt.Sprintf(order, by)); refusal == "" && err != nil ||
			refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)) {
			t.Errorf("%s: %v", by, err)
		}
	}
	if read < 300 {
		t.Errorf("only %d frames were read", read)
	}
}

// readFrames resolves a statement whose constants are read as the mirror sends them.
func readFrames(t *testing.T, conn *pgx.Conn, cat *policy.Model, sql string) (*source.ReadSource, []scalar.Value, error) {
	t.Helper()
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil {
		return nil, nil, err
	}
	if err := script.Statements[0].Blocks[0].Err; err != nil {
		return nil, nil, err
	}
	var values []scalar.Value
	s, err := source.ReadBlock(cat, script.Statements[0].Blocks[0], func(folds []scalar.Fold) []scalar.Value {
		run(t, conn.PgConn(), "SET LOCAL TimeZone = 'Europe/Vienna'")
		for _, f := range folds {
			res := conn.PgConn().ExecParams(t.Context(), "SELECT "+f.SQL, nil, nil, nil, []int16{f.Format()}).Read()
			if res.Err != nil {
				t.Fatalf("%s: %v", f.SQL, res.Err)
			}
			values = append(values, scalar.Value{OID: f.Type.OID, Binary: f.Format() == 1, Bytes: res.Rows[0][0]})
		}
		return values
	})
	return s, values, err
}

// readMoves reads the values of rows by their id.
func readMoves(t *testing.T, conn *pgx.Conn, settings, sql string, values []scalar.Value) map[string]*big.Rat {
	t.Helper()
	run(t, conn.PgConn(), settings)
	var params [][]byte
	var formats []int16
	var types []uint32
	for i, v := range values {
		params, formats, types = append(params, v.Bytes), append(formats, 1), append(types, v.OID)
		if !strings.Contains(sql, fmt.Sprintf("$%d", i+1)) {
			types[i] = 17
		}
	}
	res := conn.PgConn().ExecParams(t.Context(), sql, params, types, formats, nil).Read()
	if res.Err != nil {
		t.Fatalf("%v\n%s", res.Err, sql)
	}
	out := map[string]*big.Rat{}
	for _, row := range res.Rows {
		if row[1] == nil {
			continue
		}
		v, ok := new(big.Rat).SetString(strings.NewReplacer("t", "1", "f", "0").Replace(string(row[1])))
		if !ok {
			t.Fatalf("%s is no number", row[1])
		}
		out[string(row[0])] = v
	}
	return out
}
