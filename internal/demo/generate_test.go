package demo_test

import (
	"maps"
	"slices"
	"testing"

	"dpproxy/internal/demo"
)

// smallDigest is the small clinic of seed 1. A change of it changes every
// demonstration, so it is to be made knowingly.
const smallDigest = "8e603b99c91dffd9093cfc1b6dc496174ea2c229dcec5e394b82a983655fd7f1"

func TestGenerateIsDeterministic(t *testing.T) {
	g := small(t, 1)
	if first, again := digest(t, g), digest(t, g); first != smallDigest || again != first {
		t.Errorf("seed 1 gives %s, then %s, want %s both times", first, again, smallDigest)
	}
	if digest(t, small(t, 2)) == smallDigest {
		t.Error("seed 2 gives the rows of seed 1")
	}
}

func TestGenerateRefusesImpossibleSizes(t *testing.T) {
	for _, size := range []demo.Size{
		{},
		{Patients: 0, Visits: 1, Labs: 1},
		{Patients: 1, Visits: 0, Labs: 1},
		{Patients: 1, Visits: 1, Labs: 0},
		{Patients: 1, Visits: 1, Labs: 1 << 31},
	} {
		if _, err := demo.Generate(1, size); err == nil {
			t.Errorf("size %+v is accepted", size)
		}
	}
}

// TestGenerateTotals has sizes in which rounding or the last patient could lose a row.
func TestGenerateTotals(t *testing.T) {
	for _, size := range []demo.Size{
		{Patients: 1, Visits: 1, Labs: 1},
		{Patients: 7, Visits: 3, Labs: 50},
		{Patients: 3, Visits: 500, Labs: 2},
		{Patients: 999, Visits: 10_007, Labs: 20_011},
	} {
		g, err := demo.Generate(3, size)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		eachRow(t, g, func(table demo.Table, row []any) {
			got[table.Name]++
			if id := row[0].(int32); table.Name != "hospitals" && int(id) != got[table.Name] {
				t.Fatalf("%+v: row %d of %s has the id %d", size, got[table.Name], table.Name, id)
			}
		})
		want := map[string]int{"hospitals": 40, "patients": size.Patients, "visits": size.Visits, "labs": size.Labs}
		if !maps.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
	}
}

// TestGenerateIsSkewed looks at the skew on which contribution bounding is shown: ten visits a
// patient in the mean, half as many in the median, hundreds for a few.
func TestGenerateIsSkewed(t *testing.T) {
	visits := make([]int, demo.SmallSize.Patients)
	eachRow(t, small(t, 1), func(table demo.Table, row []any) {
		if table.Name == "visits" {
			visits[row[1].(int32)-1]++
		}
	})
	slices.Sort(visits)
	if most := visits[len(visits)-1]; most <= 100 {
		t.Errorf("the most visits of a patient are %d, want more than 100", most)
	}
	if visits[0] != 0 {
		t.Errorf("everybody has at least %d visits", visits[0])
	}
	if median := visits[len(visits)/2]; median < 3 || median > 6 {
		t.Errorf("the median patient has %d visits", median)
	}
	if few, _ := slices.BinarySearch(visits, 6); few < len(visits)*4/10 {
		t.Errorf("only %d of %d patients have five visits or fewer", few, len(visits))
	}
}

// TestGenerateRelations compares means whose order is a story that the data tell.
func TestGenerateRelations(t *testing.T) {
	smoker, birthYear := map[int32]bool{}, map[int32]int32{}
	var copdSmokers, injurySmokers, cancerCost, checkupCost, oldChol, youngChol mean
	patientOf := map[int32]int32{}
	eachRow(t, small(t, 1), func(table demo.Table, row []any) {
		switch table.Name {
		case "patients":
			id := row[0].(int32)
			birthYear[id], smoker[id] = row[3].(int32), row[5] == true
		case "visits":
			patient, cost := row[1].(int32), row[5].(float64)
			patientOf[row[0].(int32)] = patient
			switch row[4] {
			case "copd":
				copdSmokers.add(truth(smoker[patient]))
			case "injury":
				injurySmokers.add(truth(smoker[patient]))
			case "cancer":
				cancerCost.add(cost)
			case "checkup":
				checkupCost.add(cost)
			}
		case "labs":
			value, known := row[3].(float64)
			switch born := birthYear[patientOf[row[1].(int32)]]; {
			case row[2] != "chol" || !known:
			case born < 1960:
				oldChol.add(value)
			case born > 1990:
				youngChol.add(value)
			}
		}
	})
	atLeast(t, "smokers with copd against injuries", copdSmokers, injurySmokers, 1.5)
	atLeast(t, "cost of cancer against a checkup", cancerCost, checkupCost, 10)
	atLeast(t, "cholesterol of the old against the young", oldChol, youngChol, 1.1)
}

type mean struct{ sum, n float64 }

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// atLeast fails unless a's mean is at least factor times b's. A mean of nothing is
// NaN, for which it fails too.
func atLeast(t *testing.T, what string, a, b mean, factor float64) {
	t.Helper()
	if ratio := (a.sum / a.n) / (b.sum / b.n); !(ratio >= factor) {
		t.Errorf("%s: %.3f, want at least %.3f", what, ratio, factor)
	}
}
