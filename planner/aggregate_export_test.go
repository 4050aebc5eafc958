package planner

import (
	"maps"
	"slices"
)

// AggregateNames lists the aggregates that there are.
func AggregateNames() []string { return slices.Sorted(maps.Keys(functions)) }
