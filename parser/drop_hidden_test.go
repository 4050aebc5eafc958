package parser_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/parser"
)

// hiddenColumns are those of patients and of a view over them.
func hiddenColumns(schema, name string) []string {
	switch schema + "." + name {
	case "public.patients":
		return []string{"name", "ssn"}
	case "public.adults":
		return []string{"called"}
	}
	return nil
}

// TestWithhold draws the query of a view without the columns that show hidden ones, and
// their places, or why there is none.
func TestWithhold(t *testing.T) {
	datadriven.Walk(t, "testdata/hidden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			rest, withheld, err := parser.DropHidden(d.Input, hiddenColumns)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return fmt.Sprintf("%v\n%s\n", withheld, rest)
		})
	})
}
