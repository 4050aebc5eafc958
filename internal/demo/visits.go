package demo

import (
	"iter"
	"math"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// The clinic's books: the first day and how many days follow, up to 2024-12-31.
var firstDay = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

const openDays = 1827

// The limits of a visit's cost. The policy declares a range around them.
const (
	minCost = 5
	maxCost = 20_000
)

// A diagnosis has the law of its patients and of its cost.
type diagnosis struct {
	name string
	// share is its weight at 45 years; growth is the change of its logarithm in a decade.
	share, growth float64
	// smoking multiplies the share of smokers.
	smoking float64
	// cost is the median at 45 years; spread is the sigma of its logarithm.
	cost, spread float64
}

var diagnoses = []diagnosis{
	{"checkup", 20, 0, 0.8, 70, 0.4},
	{"infection", 14, -0.05, 1.2, 110, 0.7},
	{"hypertension", 12, 0.35, 1.2, 130, 0.5},
	{"injury", 10, -0.15, 1.1, 380, 1.0},
	{"diabetes", 9, 0.25, 1.2, 210, 0.6},
	{"asthma", 7, -0.10, 1.4, 160, 0.6},
	{"depression", 7, -0.10, 1.4, 190, 0.5},
	{"heart disease", 6, 0.50, 1.9, 1_400, 1.0},
	{"cancer", 4, 0.40, 2.0, 2_900, 1.1},
	{"copd", 3, 0.45, 5.0, 620, 0.8},
}

func diagnosisNames() []string {
	names := make([]string, len(diagnoses))
	for i, k := range diagnoses {
		names[i] = k.name
	}
	return names
}

// recurrence is how much likelier a patient's main diagnosis is than for others.
const recurrence = 5

// A visit is a row of visits, with its diagnosis as an index.
type visit struct {
	id        int32
	hospital  int32
	day       time.Time
	diagnosis int
	cents     int64
}

func (g *Generator) visitTable() Table {
	return Table{
		Name: "visits",
		Columns: []Column{
			{"id", "int NOT NULL"},
			{"patient_id", "int NOT NULL"},
			{"hospital_id", "int NOT NULL"},
			{"day", "date NOT NULL"},
			{"diagnosis", "text NOT NULL"},
			{"cost", "numeric(10,2) NOT NULL"},
		},
		Keys: []string{
			"PRIMARY KEY (id)",
			"FOREIGN KEY (patient_id) REFERENCES patients",
			"FOREIGN KEY (hospital_id) REFERENCES hospitals",
			"CHECK (day BETWEEN '2020-01-01' AND '2024-12-31')",
			oneOf("diagnosis", diagnosisNames()),
			"CHECK (cost >= 0)",
		},
		Indexed: []string{"patient_id"},
		Total:   int64(g.size.Visits),
		Rows:    withoutError(g.visitRows()),
	}
}

func (g *Generator) visitRows() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		row := make([]any, 6)
		for p, v := range g.visits() {
			cost := pgtype.Numeric{Int: big.NewInt(v.cents), Exp: -2, Valid: true}
			row[0], row[1], row[2], row[3], row[4], row[5] = v.id, p.id, v.hospital, v.day, diagnoses[v.diagnosis].name, cost
			if !yield(row) {
				return
			}
		}
	}
}

// visits yields each visit with its patient, in the order of the patients. Every
// patient gets the visits between two places on one line of all frailties, which is
// why their number comes out exactly as asked without keeping one per patient.
func (g *Generator) visits() iter.Seq2[patient, visit] {
	return func(yield func(patient, visit) bool) {
		total := 0.0
		for p := range g.patients() {
			total += p.frailty
		}
		d, id, sum := g.die(visitStream), int32(0), 0.0
		weights := make([]float64, len(diagnoses))
		for p := range g.patients() {
			sum += p.frailty
			d.restart(p.id)
			weighDiagnoses(d, p, weights)
			for last := int32(math.Round(sum / total * float64(g.size.Visits))); id < last; {
				id++
				if !yield(p, drawVisit(d, p, id, weights)) {
					return
				}
			}
		}
	}
}

// weighDiagnoses fills in how likely each diagnosis is at a visit of this patient.
func weighDiagnoses(d die, p patient, weights []float64) {
	decades := float64(2022-p.birthYear-45) / 10
	for i, k := range diagnoses {
		weights[i] = k.share * math.Exp(k.growth*decades)
		if p.smokes() {
			weights[i] *= k.smoking
		}
	}
	weights[d.pick(weights)] *= recurrence
}

func drawVisit(d die, p patient, id int32, weights []float64) visit {
	v := visit{id: id, hospital: drawHospital(d, p), day: drawDay(d), diagnosis: d.pick(weights)}
	k := diagnoses[v.diagnosis]
	age := float64(int32(v.day.Year()) - p.birthYear)
	cost := d.logNormal(k.cost*(1+0.008*(age-45)), k.spread)
	v.cents = int64(math.Round(100 * clamp(cost, minCost, maxCost)))
	return v
}

// drawHospital stays in the patient's region six times in seven, and prefers the
// region's larger hospitals.
func drawHospital(d die, p patient) int32 {
	region := p.region
	if d.chance(1.0 / 7) {
		region = d.pick(regionWeights)
	}
	u := d.Float64()
	return hospitalID(region, int(u*u*float64(len(hospitalKinds))))
}

// drawDay draws a weekend's day again, once: fewer people come then.
func drawDay(d die) time.Time {
	day := firstDay.AddDate(0, 0, d.IntN(openDays))
	if w := day.Weekday(); w == time.Saturday || w == time.Sunday {
		day = firstDay.AddDate(0, 0, d.IntN(openDays))
	}
	return day
}
