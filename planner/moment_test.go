package planner_test

import (
	"strings"
	"testing"

	"dpproxy/planner"
)

// TestMoments holds that a statement says if the time of day makes it another question, and not if the time is rounded before it matters.
func TestMoments(t *testing.T) {
	cat, conn := store(t), storeMirror(t)
	for condition, anew := range map[string]bool{
		"ordered_at > timestamptz '2023-06-01' + (now() - date_trunc('minute', now()))": true,
		"ordered_at > localtimestamp": true,
		"ordered_at::timestamptz > timestamptz '2023-06-01' + (CURRENT_TIMESTAMP - date_trunc('minute', now()))": true,
		"d > timestamptz '2023-06-01' + (now() - date_trunc('minute', now()))":                                   false,
		"d > now() - interval '7 days'":                                           false,
		"d > now()::date - 7":                                                     false,
		"d >= current_date":                                                       false,
		"ordered_at > current_date - 7":                                           false,
		"ordered_at > date_trunc('hour', now())":                                  false,
		"ordered_at > timestamp '2023-01-01 10:00:00.5'":                          false,
		"qty > 3 AND now() > timestamptz '2020-01-01'":                            false,
		"extract(year FROM ordered_at) = extract(year FROM now())":                false,
		"note <> 'now()' AND ordered_at < timestamptz '2023-01-01 10:00:00.5+00'": false,
	} {
		p := planWith(t, conn, cat, "SELECT count(*) FROM orders WHERE "+condition, func(*planner.Settings) {})
		said := strings.Contains(strings.Join(p.Remarks(), "\n"), "another question each second")
		if said != anew {
			t.Errorf("%s: it says that it is another question each time: %t", condition, said)
		}
	}
}
