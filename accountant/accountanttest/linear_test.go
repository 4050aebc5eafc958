package accountanttest_test

import (
	"testing"
	"time"

	"dpproxy/accountant/accountanttest"
)

// TestCheckLinearizable judges histories of one budget of 10.
func TestCheckLinearizable(t *testing.T) {
	type call = accountanttest.Call
	take := func(pico int64) accountanttest.Amounts { return accountanttest.Amounts{pico} }
	full := call{Start: 1, End: 2, Take: take(10)}
	tooMuch := call{Start: 1, End: 2, Take: take(1), Denied: true}
	for name, test := range map[string]struct {
		calls []call
		want  bool
	}{
		"one after the other":          {[]call{full, {Start: 3, End: 4, Take: take(1), Denied: true}}, true},
		"too much":                     {[]call{full, {Start: 3, End: 4, Take: take(1)}}, false},
		"too much at once":             {[]call{full, {Start: 1, End: 2, Take: take(1)}}, false},
		"denied without a reason":      {[]call{{Start: 1, End: 2, Take: take(10), Denied: true}}, false},
		"denied by what came later":    {[]call{tooMuch, {Start: 3, End: 4, Take: take(10)}}, false},
		"denied by what is concurrent": {[]call{{Start: 1, End: 4, Take: take(1), Denied: true}, {Start: 3, End: 5, Take: take(10)}}, true},
		"room that was given back":     {[]call{full, {Start: 3, End: 4, Take: take(-4)}, {Start: 5, End: 6, Take: take(4)}}, true},
		"given back too late":          {[]call{full, {Start: 5, End: 6, Take: take(-4)}, {Start: 3, End: 4, Take: take(4)}}, false},
		"given back twice":             {[]call{full, {Start: 3, End: 4, Take: take(-10)}, {Start: 5, End: 6, Take: take(-10)}}, false},
		"room after a raise":           {[]call{full, {Start: 3, End: 4, Raise: take(5)}, {Start: 5, End: 6, Take: take(5)}}, true},
		"more room than the raise":     {[]call{full, {Start: 3, End: 4, Raise: take(5)}, {Start: 5, End: 6, Take: take(6)}}, false},
	} {
		err := accountanttest.CheckLinearizable(take(10), test.calls, time.Minute)
		if (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
