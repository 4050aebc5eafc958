package source_test

import (
	"testing"

	"dpproxy/parser"
	"dpproxy/planner"
)

// BenchmarkJoins analyses a statement of seven tables: whose its rows are, and how many are one unit's.
func BenchmarkJoins(b *testing.B) {
	cat := shop(b)
	script, err := parser.Parse(`SELECT o.status, m.country, count(*), sum(i.qty) FROM customers c JOIN orders o ON o.customer_id = c.id
		JOIN items i ON i.order_id = o.id JOIN parts p ON p.id = i.part_id JOIN makers m ON m.id = p.maker_id
		JOIN defects d ON d.order_id = i.order_id AND d.line = i.line LEFT JOIN profiles r ON r.customer_id = c.id
		WHERE o.day >= '2023-01-01' AND i.qty > 10 AND c.vip GROUP BY 1, 2`, planner.Names(cat))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := planner.Analyze(nil, cat, script.Statements[0], nil); err != nil {
			b.Fatal(err)
		}
	}
}
