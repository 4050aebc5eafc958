package policy

import (
	"dpproxy/catalog"
	"dpproxy/planner/constraint"
	"dpproxy/planner/scalar"
)

// prove notes whether the database's own constraints admit nothing but the declared values and bounds of a column.
func prove(t *catalog.Table, c *Column) {
	if c.Hidden || c.Values == nil && c.Bounds == nil {
		return
	}
	said := constraint.On(t, &c.Column, c.Labels)
	if said == nil {
		return
	}
	c.Only = c.Values != nil && said.Only(c.Values)
	if b := c.Bounds; b != nil {
		low, high := b.Low, b.High
		if low == nil {
			low, _ = scalar.Instant(b.LowText)
			high, _ = scalar.Instant(b.HighText)
		}
		c.Within = low != nil && high != nil && said.Within(low, high)
	}
}
