package demo

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// The columns of the study's files, as R names them.
var (
	personHeader = []string{"id", "age", "male", "weight", "height", "bmi", "case.id", "futime", "status"}
	labHeader    = []string{"id", "days", "test", "value"}
	eventHeader  = []string{"id", "days", "event"}
)

// adult is the age from which the study took people, and the first age group's start.
const adult = 18

// people yields one row a record of nafld1, or nil for a record that is dropped: one
// that lacks a value of the table, repeats an id, or is about a child, of whom the
// study has none.
func (s *Study) people() iter.Seq2[[]any, error] {
	return s.rows("nafld1.csv", personHeader, func() func(*record) []any {
		seen := map[int32]bool{}
		return func(r *record) []any {
			id, age, male := r.integer(0), r.integer(1), r.integer(2)
			futime, status := r.integer(7), r.integer(8)
			if id == nil || age == nil || male == nil || futime == nil || status == nil || *age < adult || seen[*id] {
				return nil
			}
			seen[*id] = true
			return []any{
				*id, *age, ageGroup(*age), *male == 1, r.number(3), r.number(4), r.number(5), r.integer(6), *futime, *status,
			}
		}
	})
}

// labs yields one row a record of nafld2, or nil for a record that is dropped: one
// without a day or a test, or of a person who is not loaded. A value may be missing,
// and a record that repeats another is kept.
func (s *Study) labs() iter.Seq2[[]any, error] {
	return s.rows("nafld2.csv", labHeader, func() func(*record) []any {
		var last int32
		return func(r *record) []any {
			person, days, test := r.integer(0), r.integer(1), r.fields[2]
			if person == nil || s.ages[*person] == 0 || days == nil || test == "" {
				return nil
			}
			last++
			return []any{last, *person, ageGroup(s.ages[*person]), *days, test, r.number(3)}
		}
	})
}

// events yields one row a record of nafld3, or nil for a record that is dropped, by
// the rules of labs.
func (s *Study) events() iter.Seq2[[]any, error] {
	return s.rows("nafld3.csv", eventHeader, func() func(*record) []any {
		var last int32
		return func(r *record) []any {
			person, days, event := r.integer(0), r.integer(1), r.fields[2]
			if person == nil || s.ages[*person] == 0 || days == nil || event == "" {
				return nil
			}
			last++
			return []any{last, *person, *days, event}
		}
	})
}

// ageGroup returns the ten years that an adult's age falls into; the first group has
// twelve and the last has no end.
func ageGroup(age int32) string {
	switch {
	case age < 30:
		return "18-29"
	case age >= 80:
		return "80+"
	default:
		return fmt.Sprintf("%d-%d", age/10*10, age/10*10+9)
	}
}

// rows reads a file from its beginning each time it is ranged over. newParse makes a
// function that turns a record into a row and may remember earlier records.
func (s *Study) rows(name string, header []string, newParse func() func(*record) []any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		file, err := os.Open(filepath.Join(s.dir, name))
		if err != nil {
			yield(nil, fmt.Errorf("demo: %w", err))
			return
		}
		defer func() { _ = file.Close() }() // it was only read
		reader := csv.NewReader(file)
		reader.ReuseRecord = true
		if first, err := reader.Read(); !slices.Equal(first, header) {
			yield(nil, errors.Join(fmt.Errorf("demo: %s has the columns %q, expected are %q", name, first, header), err))
			return
		}
		yieldRecords(reader, name, newParse(), yield)
	}
}

func yieldRecords(reader *csv.Reader, name string, parse func(*record) []any, yield func([]any, error) bool) {
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		r := record{fields: fields, err: err}
		var row []any
		if err == nil {
			row = parse(&r)
		}
		if r.err != nil {
			line, _ := reader.FieldPos(0)
			yield(nil, fmt.Errorf("demo: %s, line %d: %w", name, line, r.err))
			return
		}
		if !yield(row, nil) {
			return
		}
	}
}

// A record is one line of a file. Its methods return nil for an empty field and keep
// the first error.
type record struct {
	fields []string
	err    error
}

func (r *record) integer(i int) *int32 {
	if r.fields[i] == "" {
		return nil
	}
	n, err := strconv.ParseInt(r.fields[i], 10, 32)
	r.fail(err)
	value := int32(n)
	return &value
}

func (r *record) number(i int) *float64 {
	if r.fields[i] == "" {
		return nil
	}
	value, err := strconv.ParseFloat(r.fields[i], 64)
	r.fail(err)
	return &value
}

func (r *record) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
