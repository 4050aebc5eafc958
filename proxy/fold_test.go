package proxy_test

import (
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// TestFoldMemory holds that statements are answered whose rows do not fit into memory, so that they are read once more.
func TestFoldMemory(t *testing.T) {
	w := newWorldWith(t, func(cfg *proxy.Config) { cfg.Sharing.Memory = 1 }, limit(t, accountant.UnitScope, "patient", dp.ZCDP, 9_000_000))
	exec(t, w.data, "SET session_replication_role = replica; DELETE FROM labs; DELETE FROM visits; "+
		"INSERT INTO visits SELECT g, 1 + g % 100, 1, '2020-01-01', 'flu', g / 100 % 3 * 100 FROM generate_series(1, 42000) g")
	ana := connect(t, w.url("ana"))
	for sql, want := range map[string]string{
		"SELECT round(count(DISTINCT id), -2)::text FROM visits":                          "1000", // 10 of each patient count
		"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY cost)::int::text FROM visits": "100",
		"SELECT mode() WITHIN GROUP (ORDER BY diagnosis)::text FROM visits":               "flu",
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
