package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpproxy/planner/pgtype"
)

// checkDomain says why a policy cannot have the declared values of a column of that type
// and family, or returns "". Values are compared and shown in their canonical
// spelling, so that only that spelling is taken.
func checkDomain(oid uint32, fam pgtype.Family, values []string) string {
	if values == nil {
		return ""
	}
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Sprintf("%q is listed twice", v)
		}
		switch fam {
		case pgtype.TextFamily, pgtype.EnumFamily:
			if oid == pgtype.Bpchar && strings.HasSuffix(v, " ") {
				return fmt.Sprintf("%q ends with blanks, which mean nothing in a character(n): write it without them", v)
			}
		case pgtype.BoolFamily:
			if v != "true" && v != "false" {
				return fmt.Sprintf("%q is no boolean: write true or false", v)
			}
		case pgtype.IntFamily:
			if n, err := strconv.ParseInt(v, 10, pgtype.Bits(oid)); err != nil || strconv.FormatInt(n, 10) != v {
				return fmt.Sprintf("%q is no integer of the column's type in its plain spelling", v)
			}
		case pgtype.DateFamily:
			if d, err := time.Parse(time.DateOnly, v); err != nil || d.Year() < 1 {
				return fmt.Sprintf("%q is no date like 2024-12-31", v)
			}
		case pgtype.NoFamily, pgtype.NumericFamily, pgtype.FloatFamily, pgtype.InstantFamily, pgtype.TimeFamily,
			pgtype.IntervalFamily, pgtype.UUIDFamily:
			return "a column of this type cannot have declared values"
		}
	}
	return ""
}
