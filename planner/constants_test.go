package planner_test

import (
	"bytes"
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
		"birth_year + CAST((SELECT nextval('pg_temp.s')) AS bigint)":              func(n int64) int64 { return 1920 + n },
		"birth_year - birth_year + CAST((SELECT nextval('pg_temp.s')) AS bigint)": func(n int64) int64 { return n },
	} {
		q := analyzed(t, clinic(t), "SELECT "+key+", count(*) FROM patients GROUP BY 1")
		for range 2 {
			values := evaluate(t, conn, q, nil, nil)
			var n int64
			var groups [][]string
			for _, v := range values[:len(q.Folds())] {
				if len(v.Bytes) == 8 && v.Bytes[7] != 0 {
					n = int64(binary.BigEndian.Uint64(v.Bytes))
				}
			}
			_, list, _ := bytes.Cut(values[len(q.Folds())].Bytes, []byte("i"))
			if err := json.Unmarshal(list, &groups); err != nil {
				t.Fatal(err)
			}
			if len(groups) == 0 || groups[0][0] != strconv.FormatInt(want(n), 10) {
				t.Errorf("%s, where the constant is %d: the groups are %v", key, n, groups[:min(3, len(groups))])
			}
		}
	}
}
