package demo

import (
	"iter"
	"math"
)

// tests are the measurements of the generated clinic's laboratory; labWeights follows this order.
var tests = []string{"chol", "hdl", "glucose", "hba1c", "crp", "creatinine"}

func (g *Generator) labTable() Table {
	return Table{
		Name: "labs",
		Columns: []Column{
			{"id", "int NOT NULL"},
			{"visit_id", "int NOT NULL"},
			{"test", "text NOT NULL"},
			{"value", "double precision"},
		},
		Keys:    []string{"PRIMARY KEY (id)", "FOREIGN KEY (visit_id) REFERENCES visits", oneOf("test", tests)},
		Indexed: []string{"visit_id"},
		Total:   int64(g.size.Labs),
		Rows:    withoutError(g.labRows()),
	}
}

func (g *Generator) labRows() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		d, id := g.die(labStream), int32(0)
		labs, visits := g.size.Labs, g.size.Visits
		row := make([]any, 4)
		for p, v := range g.visits() {
			n := drawLabCount(d, labs, visits)
			labs, visits = labs-n, visits-1
			for range n {
				id++
				test := tests[d.pick(labWeights(diagnoses[v.diagnosis].name))]
				row[0], row[1], row[2], row[3] = id, v.id, test, drawResult(d, p, v, test)
				if !yield(row) {
					return
				}
			}
		}
	}
}

// drawLabCount draws how many of the labs that are left belong to the first of the
// visits that are left: geometric around their mean, and all of them for the last.
func drawLabCount(d die, labs, visits int) int {
	if visits == 1 {
		return labs
	}
	mean := float64(labs) / float64(visits)
	n := int(math.Log(1-d.Float64()) / math.Log(mean/(1+mean)))
	return min(n, labs)
}

// labWeights says how often each of tests is ordered for a diagnosis.
func labWeights(diagnosis string) []float64 {
	switch diagnosis {
	case "diabetes":
		return []float64{2, 1, 6, 6, 1, 2}
	case "heart disease", "hypertension":
		return []float64{6, 5, 2, 1, 2, 3}
	case "infection", "copd", "asthma":
		return []float64{1, 1, 1, 0.5, 8, 1}
	default:
		return []float64{4, 3, 3, 1, 2, 2}
	}
}

// drawResult returns a float64, or nil for one sample in forty that was lost.
func drawResult(d die, p patient, v visit, test string) any {
	if d.chance(1.0 / 40) {
		return nil
	}
	age := float64(int32(v.day.Year()) - p.birthYear)
	return math.Round(10*drawValue(d, p, diagnoses[v.diagnosis].name, age, test)) / 10
}

// drawValue draws in the units of American laboratories: mg/dl, and % for hba1c,
// mg/l for crp.
func drawValue(d die, p patient, diagnosis string, age float64, test string) float64 {
	switch test {
	case "chol":
		return clamp(d.normal(155+0.8*min(age, 70), 32), 60, 400)
	case "hdl":
		mean := 50.0
		if p.sex == "f" {
			mean = 59
		}
		return clamp(d.normal(mean, 12), 15, 150)
	case "glucose":
		if diagnosis == "diabetes" {
			return clamp(d.logNormal(148, 0.28), 40, 400)
		}
		return clamp(d.logNormal(94, 0.12), 40, 400)
	case "hba1c":
		if diagnosis == "diabetes" {
			return clamp(d.normal(7.4, 1.1), 4, 16)
		}
		return clamp(d.normal(5.4, 0.35), 4, 16)
	case "crp":
		if diagnosis == "infection" {
			return clamp(d.logNormal(24, 0.9), 0, 400)
		}
		return clamp(d.logNormal(2, 0.8), 0, 400)
	default:
		return clamp(d.normal(0.7+0.004*age, 0.15), 0.3, 10)
	}
}
