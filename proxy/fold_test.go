package proxy_test

import (
	"testing"

	"dpproxy/proxy"
)

// TestFoldMemory holds that statements are answered whose rows do not fit into memory, so that they are read once more.
func TestFoldMemory(t *testing.T) {
	w := newWorldWith(t, func(cfg *proxy.Config) { cfg.Sharing.Memory, cfg.Defaults.DeltaAtto = 1, 1e9 }, large(t))
	exec(t, w.data, "SET session_replication_role = replica; DELETE FROM labs; DELETE FROM visits; "+
		"INSERT INTO visits SELECT g, 1 + g % 1000, 1 + g % 42, date '2020-01-01' + g % 10, 'flu', g / 1000 % 3 * 100 "+
		"FROM generate_series(1, 42000) g")
	ana := connect(t, w.url("ana"))
	for sql, want := range map[string]string{
		"SELECT round(count(DISTINCT id), -2)::text FROM visits":                          "10000", // 10 of each patient count
		"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY cost)::int::text FROM visits": "100",
		"SELECT mode() WITHIN GROUP (ORDER BY diagnosis)::text FROM visits":               "flu",
		// The rows that groups are selected by do not fit, those of some days do.
		"SELECT CASE WHEN avg(m) BETWEEN 50 AND 150 THEN 'near' END FROM (SELECT count(*), sum(cost), avg(cost), " +
			"percentile_disc(0.5) WITHIN GROUP (ORDER BY cost) FILTER (WHERE day > '2020-01-09') AS m " +
			"FROM visits GROUP BY hospital_id) t": "near",
	} {
		var got string
		if err := ana.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", sql, got, err, want)
		}
	}
	if in, err := w.ledger.Incidents(t.Context()); err != nil || len(in) > 0 {
		t.Errorf("incidents: %v, %v", in, err)
	}
}
