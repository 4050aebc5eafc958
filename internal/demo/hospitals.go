package demo

import (
	"fmt"
	"iter"
)

// hospitalCount is a multiple of the number of regions, so that each has as many.
const hospitalCount = 40

var (
	regions       = []string{"north", "south", "east", "west", "centre"}
	regionWeights = []float64{0.30, 0.20, 0.15, 0.10, 0.25}
	hospitalKinds = []string{"General", "University", "City", "County", "Riverside", "Hill", "Memorial", "Children's"}
)

// hospitalID numbers the hospitals by region in turn: rank 0 is a region's largest.
func hospitalID(region, rank int) int32 { return int32(rank*len(regions) + region + 1) }

func hospitalTable() Table {
	return Table{
		Name:    "hospitals",
		Columns: []Column{{"id", "int NOT NULL"}, {"name", "text NOT NULL"}, {"region", "text NOT NULL"}},
		Keys:    []string{"PRIMARY KEY (id)", oneOf("region", regions)},
		Total:   hospitalCount,
		Rows:    withoutError(hospitalRows()),
	}
}

func hospitalRows() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for rank, kind := range hospitalKinds {
			for region, name := range regions {
				if !yield([]any{hospitalID(region, rank), fmt.Sprintf("%s Hospital %s", kind, name), name}) {
					return
				}
			}
		}
	}
}
