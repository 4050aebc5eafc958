package frugal_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dpproxy/internal/frugal"
)

// TestAlarm holds that an alarm rings when it was set for, whatever it was set for before, once, and not
// once it is cleared.
func TestAlarm(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []int // seconds to set it for, 0 to clear it, or negative ones to let pass
		want  []int
	}{
		{"set", []int{3, -10}, []int{3}},
		{"cleared", []int{3, -2, 0, -10}, nil},
		{"cleared and set again before its timer ends", []int{3, -2, 0, 3, -10}, []int{5}},
		{"cleared and set again behind that", []int{3, -2, 0, -2, 3, -10}, []int{7}},
		{"set for later", []int{3, -2, 3, -10}, []int{5}},
		{"set for earlier", []int{9, -2, 3, -10}, []int{5}},
		{"set for earlier, cleared, and set again", []int{9, 3, 0, 4, -10}, []int{4}},
		{"set again when it has rung", []int{3, -4, 3, -10}, []int{3, 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var rung []int
				a := frugal.NewAlarm(func() { rung = append(rung, int(time.Since(start)/time.Second)) })
				for _, step := range tt.steps {
					switch {
					case step == 0:
						a.Clear()
					case step > 0:
						a.Set(time.Duration(step) * time.Second)
					default:
						time.Sleep(time.Duration(-step) * time.Second)
						synctest.Wait()
					}
				}
				if !slices.Equal(rung, tt.want) {
					t.Errorf("it rang at %v, want %v", rung, tt.want)
				}
			})
		})
	}
}
