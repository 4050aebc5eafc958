package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// checkDomain says what is wrong with declared values of a column of that type
// and family, or returns "". Values are compared and shown in their canonical
// spelling, so that only that spelling is taken.
func checkDomain(oid uint32, fam scalar.Family, values []string) string {
	if values == nil {
		return ""
	}
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Sprintf("%q is listed twice", v)
		}
		switch fam {
		case scalar.TextFamily, scalar.EnumFamily:
			if oid == pgtype.Bpchar && strings.HasSuffix(v, " ") {
				return fmt.Sprintf("%q ends with blanks, which mean nothing in a character(n): write it without them", v)
			}
		case scalar.BoolFamily:
			if v != "true" && v != "false" {
				return fmt.Sprintf("%q is no boolean: write true or false", v)
			}
		case scalar.IntFamily:
			if n, err := strconv.ParseInt(v, 10, intBits(oid)); err != nil || strconv.FormatInt(n, 10) != v {
				return fmt.Sprintf("%q is no integer of the column's type in its plain spelling", v)
			}
		case scalar.DateFamily:
			if d, err := time.Parse(time.DateOnly, v); err != nil || d.Year() < 1 {
				return fmt.Sprintf("%q is no date like 2024-12-31", v)
			}
		case scalar.NoFamily, scalar.NumericFamily, scalar.FloatFamily, scalar.InstantFamily, scalar.TimeFamily, scalar.IntervalFamily, scalar.UUIDFamily:
			return "a column of this type cannot have declared values"
		}
	}
	return ""
}

// intBits returns the size of an integer type.
func intBits(oid uint32) int {
	switch oid {
	case pgtype.Int2:
		return 16
	case pgtype.Int4:
		return 32
	}
	return 64
}
