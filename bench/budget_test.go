package bench_test

import (
	"testing"

	"dpproxy/brdp"
	"dpproxy/dp"
)

// BenchmarkBudgeting measures the search for recycled noise: afresh, and again with
// a designer that remembers it.
func BenchmarkBudgeting(b *testing.B) {
	one := dp.Sensitivity{L0: 1, LInf: 1}
	loss, err := dp.NewLoss(dp.ZCDP, dp.PicoPerUnit/10, 0)
	if err != nil {
		b.Fatal(err)
	}
	for name, search := range map[string]func(*brdp.Designer) (brdp.Design, error){
		"goal/pure": func(d *brdp.Designer) (brdp.Design, error) {
			return d.Cheapest(brdp.Goal{Sensitivity: one, Boundary: 20, Acceptance: 0.95, Measure: dp.PureDP})
		},
		"goal/zcdp": func(d *brdp.Designer) (brdp.Design, error) {
			return d.Cheapest(brdp.Goal{Sensitivity: one, Boundary: 20, Acceptance: 0.95, Measure: dp.ZCDP})
		},
		"allowance/zcdp": func(d *brdp.Designer) (brdp.Design, error) {
			return d.MostAccepted(brdp.Allowance{Sensitivity: one, Boundary: 1, Loss: loss})
		},
		"allowance/approximate": func(d *brdp.Designer) (brdp.Design, error) {
			return d.MostAcceptedApproximate(brdp.ApproximateAllowance{Sensitivity: one, Boundary: 1, Epsilon: 2, Delta: delta})
		},
	} {
		b.Run(name+"/afresh", func(b *testing.B) {
			for b.Loop() {
				if _, err := search(new(brdp.Designer)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/again", func(b *testing.B) {
			var d brdp.Designer
			for b.Loop() {
				if _, err := search(&d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
