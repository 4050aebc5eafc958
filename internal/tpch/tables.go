package tpch

import "dpproxy/internal/demo"

var _ demo.Source = (*Generator)(nil)

// Tables returns the eight tables, each after the tables that it references.
func (g *Generator) Tables() []demo.Table {
	return []demo.Table{
		regionTable(), nationTable(), g.supplierTable(), g.partTable(), g.supplyTable(),
		g.customerTable(), g.orderTable(), g.lineTable(),
	}
}
