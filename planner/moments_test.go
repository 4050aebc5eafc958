package planner_test

import (
	"errors"
	"testing"

	"dpproxy/pgerr"
)

// Local time at the end of time is out of range in zones east of UTC: one row would make
// the read fail.
func TestKeyOfUnboundedTime(t *testing.T) {
	err := specializeDefault(t, clinic(t), "SELECT date_trunc('month', at), count(*) FROM visits GROUP BY 1")
	if refusal, ok := errors.AsType[*pgerr.Error](err); !ok || refusal.Code != pgerr.NoBounds {
		t.Errorf("an unbounded time is grouped by: %v", err)
	}
}
