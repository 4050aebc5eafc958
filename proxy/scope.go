package proxy

import (
	"slices"

	"dpproxy/catalog"
)

// budgetTables returns the tables whose budgets a read of the tables debits, each once:
// a partition has that of its table.
func (p *Proxy) budgetTables(tables []catalog.Name) []catalog.Name {
	var out []catalog.Name
	for _, t := range tables {
		if source := p.cfg.Catalog.Source(t); source != nil {
			t = source.Scope()
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
