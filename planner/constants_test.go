package planner_test

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"testing"
)

// TestVolatileConstants groups by what a sequence counts up: the groups that are listed are those of the rows.
func TestVolatileConstants(t *testing.T) {
	conn := connect(t)
	run(t, mirrorOf(t, conn), "CREATE TEMP SEQUENCE s")
	for key, want := range map[string]func(int64) int64{
		"birth_year + (SELECT nextval('pg_temp.s'))": func(n int64) int64 { return 1920 + n },
		"CASE WHEN birth_year < 0 THEN 0 ELSE birth_year - birth_year + (SELECT nextval('pg_temp.s')) END": func(n int64) int64 {
			return n
		},
	} {
		q := analyzed(t, clinic(t), "SELECT "+key+", count(*) FROM patients GROUP BY 1")
		for range 2 {
			values := evaluate(t, conn, q, nil, nil)
			var n int64
			var groups [][]string
			for i, f := range q.Folds() {
				switch {
				case f.Derived:
					if err := json.Unmarshal(values[i].Bytes, &groups); err != nil {
						t.Fatal(err)
					}
				case len(values[i].Bytes) == 8:
					n = int64(binary.BigEndian.Uint64(values[i].Bytes))
				}
			}
			if len(groups) == 0 || groups[0][0] != strconv.FormatInt(want(n), 10) {
				t.Errorf("%s, where the constant is %d: the groups are %v", key, n, groups[:min(3, len(groups))])
			}
		}
	}
}
