package demo

import (
	"iter"
	"math"
)

// The years that a patient of the clinic can be born in. The policy declares them.
const (
	firstBirthYear = 1920
	lastBirthYear  = 2010
)

var (
	sexes      = []string{"f", "m", "x"}
	sexWeights = []float64{0.515, 0.475, 0.010}
	firstNames = [][]string{
		{"Ada", "Berta", "Clara", "Dora", "Emma", "Frida", "Greta", "Hanna", "Ida", "Johanna", "Karla", "Lina"},
		{"Anton", "Bruno", "Carl", "David", "Emil", "Felix", "Georg", "Hugo", "Ivan", "Jakob", "Konrad", "Leo"},
		{"Alex", "Charlie", "Kim", "Luca", "Noor", "Robin", "Sascha", "Toni"},
	}
	lastNames = []string{
		"Ackermann", "Bauer", "Castillo", "Dubois", "Eriksen", "Fischer", "Garcia", "Hoffmann", "Ivanova", "Jensen",
		"Kowalski", "Lehmann", "Moreau", "Novak", "Olsen", "Petrov", "Quint", "Rossi", "Schmidt", "Tanaka",
		"Ulrich", "Vogel", "Weber", "Xu", "Yilmaz", "Zimmermann",
	}
)

// A patient is a row of patients and the causes of the patient's visits.
type patient struct {
	id        int32
	name      string
	sex       string
	birthYear int32
	region    int
	smoker    *bool // nil when nobody asked
	// frailty is the patient's share of all visits, up to a common factor.
	frailty float64
}

func (p patient) smokes() bool { return p.smoker != nil && *p.smoker }

func (g *Generator) patientTable() Table {
	return Table{
		Name: "patients",
		Columns: []Column{
			{"id", "int NOT NULL"},
			{"name", "text NOT NULL"},
			{"sex", "text NOT NULL"},
			{"birth_year", "int NOT NULL"},
			{"region", "text NOT NULL"},
			{"smoker", "boolean"},
		},
		Keys: []string{
			"PRIMARY KEY (id)",
			oneOf("sex", []string{"f", "m", "x"}),
			"CHECK (birth_year BETWEEN 1920 AND 2010)",
			oneOf("region", regions),
		},
		Total: int64(g.size.Patients),
		Rows:  withoutError(g.patientRows()),
	}
}

func (g *Generator) patientRows() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		row := make([]any, 6)
		for p := range g.patients() {
			row[0], row[1], row[2], row[3], row[4], row[5] = p.id, p.name, p.sex, p.birthYear, regions[p.region], p.smoker
			if !yield(row) {
				return
			}
		}
	}
}

func (g *Generator) patients() iter.Seq[patient] {
	return func(yield func(patient) bool) {
		d := g.die(patientStream)
		for id := int32(1); int(id) <= g.size.Patients; id++ {
			d.restart(id)
			if !yield(drawPatient(d, id)) {
				return
			}
		}
	}
}

func drawPatient(d die, id int32) patient {
	p := patient{id: id, region: d.pick(regionWeights), birthYear: drawBirthYear(d)}
	sex := d.pick(sexWeights)
	p.sex = sexes[sex]
	p.name = firstNames[sex][d.IntN(len(firstNames[sex]))] + " " + lastNames[d.IntN(len(lastNames))]
	p.smoker = drawSmoker(d, p)
	// The old come more often. A sigma of 1.2 makes half of all patients share about
	// a ninth of the visits, and one in a thousand come forty times the median.
	ageFactor := math.Exp(0.012 * float64(1975-p.birthYear))
	p.frailty = d.logNormal(ageFactor, 1.2)
	return p
}

// drawBirthYear draws again a year that falls outside, so that no year is piled up at an end.
func drawBirthYear(d die) int32 {
	for {
		year := int32(math.Round(d.normal(1973, 21)))
		if year >= firstBirthYear && year <= lastBirthYear {
			return year
		}
	}
}

// drawSmoker leaves one in sixteen unknown; the young and the very old smoke less.
func drawSmoker(d die, p patient) *bool {
	if d.chance(1.0 / 16) {
		return nil
	}
	rate := 0.21
	if p.sex == "m" {
		rate = 0.26
	}
	if p.birthYear > 2004 || p.birthYear < 1945 {
		rate /= 3
	}
	smokes := d.chance(rate)
	return &smokes
}
