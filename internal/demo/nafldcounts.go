package demo

import (
	"fmt"
)

// StudyCounts counts the rows of a Study.
type StudyCounts struct {
	People, Labs, Events TableCounts
	// MostLabs is the largest number of labs rows of one person.
	MostLabs int64
	// RepeatedLabs counts rows that equal an earlier one in person, day, test and
	// value. They are loaded: the study's own count includes them.
	RepeatedLabs int64
	// StrayCases counts people whose case_id is nobody's id. They are loaded, which is
	// why case_id is no foreign key.
	StrayCases int64
	// Twins counts measurements that another test repeats.
	Twins []Twin
}

// TableCounts are the rows of a table that are loaded and the records that are not.
type TableCounts struct{ Loaded, Dropped int64 }

// A Twin is a pair of tests that should be independent, and how many of the
// distinct measurements (person, day, value) of Test stand under Other as well.
// In survival 3.5 all of them do.
type Twin struct {
	Test, Other         string
	Equal, Measurements int64
}

// Notes returns sentences about all that a reader of the data should know.
func (c StudyCounts) Notes() []string {
	notes := []string{
		fmt.Sprintf("people: %d loaded, %d dropped", c.People.Loaded, c.People.Dropped),
		fmt.Sprintf("labs: %d loaded, %d dropped; at most %d of one person; %d repeat another row and are kept",
			c.Labs.Loaded, c.Labs.Dropped, c.MostLabs, c.RepeatedLabs),
		fmt.Sprintf("events: %d loaded, %d dropped", c.Events.Loaded, c.Events.Dropped),
		fmt.Sprintf("%d people have a case_id that is nobody's id", c.StrayCases),
	}
	for _, t := range c.Twins {
		if t.Equal > 0 {
			notes = append(notes, fmt.Sprintf("%d of %d measurements of %s stand under %s too: the source's defect, loaded as it is",
				t.Equal, t.Measurements, t.Test, t.Other))
		}
	}
	return notes
}

// survey reads the files once, remembers the ages and counts.
func (s *Study) survey() error {
	if err := s.surveyPeople(); err != nil {
		return err
	}
	if err := s.surveyLabs(); err != nil {
		return err
	}
	for row, err := range s.events() {
		if err != nil {
			return err
		}
		s.Counts.Events.add(row)
	}
	return nil
}

func (c *TableCounts) add(row []any) {
	if row == nil {
		c.Dropped++
		return
	}
	c.Loaded++
}

func (s *Study) surveyPeople() error {
	s.ages = map[int32]int32{}
	var cases []int32
	for row, err := range s.people() {
		if err != nil {
			return err
		}
		if s.Counts.People.add(row); row == nil {
			continue
		}
		s.ages[row[0].(int32)] = row[1].(int32)
		if id := row[7].(*int32); id != nil {
			cases = append(cases, *id)
		}
	}
	for _, id := range cases {
		if s.ages[id] == 0 {
			s.Counts.StrayCases++
		}
	}
	return nil
}

// A measurement is a lab row without its test; missing is set when it has no value.
type measurement struct {
	person, days int32
	value        float64
	missing      bool
}

// surveyLabs keeps each distinct measurement, some 30 MB for the whole study, only
// until it has counted.
func (s *Study) surveyLabs() error {
	perPerson := map[int32]int64{}
	byTest := map[string]map[measurement]bool{}
	for row, err := range s.labs() {
		if err != nil {
			return err
		}
		if s.Counts.Labs.add(row); row == nil {
			continue
		}
		m, test := measurement{person: row[1].(int32), days: row[3].(int32), missing: true}, row[4].(string)
		if value := row[5].(*float64); value != nil {
			m.value, m.missing = *value, false
		}
		if byTest[test] == nil {
			byTest[test] = map[measurement]bool{}
		}
		if byTest[test][m] {
			s.Counts.RepeatedLabs++
		}
		byTest[test][m] = true
		perPerson[m.person]++
		s.Counts.MostLabs = max(s.Counts.MostLabs, perPerson[m.person])
	}
	s.Counts.Twins = []Twin{twin("chol", "hdl", byTest), twin("sbp", "dbp", byTest)}
	return nil
}

func twin(test, other string, byTest map[string]map[measurement]bool) Twin {
	t := Twin{Test: test, Other: other, Measurements: int64(len(byTest[test]))}
	for m := range byTest[test] {
		if byTest[other][m] {
			t.Equal++
		}
	}
	return t
}
