package planner_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// TestExtremesOfType holds that a numeric column may hold whatever its type can, on both
// sides of its bounds: the integers are those of the bounds, and nothing overflows, be the
// type within int8 or wider.
func TestExtremesOfType(t *testing.T) {
	conn := connect(t)
	for _, precision := range []int{4, 10, 18, 19, 30} {
		s := clinicSchema()
		cost, _ := s.Tables[name("visits")].Column("cost")
		cost.Type = builtin("numeric", fmt.Sprintf("numeric(%d,2)", precision), 1700, int32(precision<<16|2)+4)
		cat := checked(t, s)
		most := strings.Repeat("9", precision-2) + ".99"
		top := int64(2_000_000) // in cents
		if precision == 4 {
			top = 9999
		}
		for value, want := range map[string]int64{
			"'NaN'": 2_000_000, most: top, "12.34": 1234, "0.01": 1, "0": 0, "-0.01": 0, "-" + most: 0,
		} {
			run(t, conn, fmt.Sprintf(`BEGIN; DELETE FROM visits WHERE id <> 1000; UPDATE visits SET patient_id = 3, cost = 0;
				ALTER TABLE visits ALTER COLUMN cost TYPE numeric(%d,2); UPDATE visits SET cost = %s`, precision, value))
			e := plan(t, conn, cat, "SELECT sum(cost) FROM visits").read(t, conn)[0]
			if got := e.Released(e.Uncut()).Rows[0][0]; got.Cmp(big.NewInt(want)) != 0 {
				t.Errorf("%s of numeric(%d,2) counts as %v, want %d", value, precision, got, want)
			}
			run(t, conn, "ROLLBACK")
		}
	}
}
