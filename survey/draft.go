package survey

import (
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/accountant/realized"
	"dpproxy/mechanisms"
)

// An Inquiry is a question as it is asked.
type Inquiry struct {
	*Question
	// Name is that of the column of answers.
	Name string
	// Where is the text of the condition on public columns, empty if there is none.
	Where       string
	EpsilonPico int64
	// Budget is the most that each object may lose in all.
	Budget realized.Limit
	// Never says that values are promised not to change.
	Never bool
}

// A Draft has the answers to a question while they are drawn. Nobody has seen them before the ledger has the survey.
type Draft struct {
	t          *Table
	h          Header
	answers    *packed
	losses     *losses
	respondent *Respondent
	refused    []int64 // objects that were asked and have too little left
	digest     string  // of the file
}

// Draft begins a survey. Which objects will be asked follows from answers alone.
func (t *Table) Draft(q Inquiry, source mechanisms.Source) (*Draft, error) {
	switch {
	case t.frozen != nil:
		return nil, t.frozen
	case t.unproved:
		return nil, fmt.Errorf("%w: it is not known whether survey %d is in the ledger", ErrFrozen, len(t.surveys)+1)
	}
	respondent, err := q.Respondent(q.EpsilonPico, source)
	if err != nil {
		return nil, err
	}
	before, err := t.losses(&q)
	if err != nil {
		return nil, err
	}
	answers, err := newPacked(q.Kind, len(q.Answers()), t.keys.count())
	if err != nil {
		return nil, err
	}
	return &Draft{
		t: t, losses: before, respondent: respondent, answers: answers,
		h: Header{
			Table: t.Name, Number: int64(len(t.surveys)) + 1, Name: q.Name, Question: q.Text, Where: q.Where, Kind: q.Kind,
			Columns: q.Columns, Answers: q.Answers(), EpsilonPico: q.EpsilonPico, Never: q.Never, Epoch: t.epoch,
		},
	}, nil
}

// Object takes the next object of the table with its public columns, and whether the condition holds for it. If it is to be asked, it
// draws its answer for the values of the question's columns.
func (d *Draft) Object(key []byte, public [][]byte, asked bool, values []float64) error {
	i, err := d.t.keys.find(key)
	if err != nil {
		return err
	}
	d.t.public.set(i, public)
	if err := d.answers.grow(i + 1); err != nil || !asked {
		return err
	}
	if d.answers.asked(i) {
		return fmt.Errorf("survey: an object stands twice in the table")
	}
	d.h.Asked++
	admitted, err := d.losses.admits(i)
	if err != nil {
		return err
	}
	if !admitted {
		d.refused = append(d.refused, i)
		return nil
	}
	answer, err := d.respondent.Answer(values)
	if err != nil {
		return err
	}
	d.answers.set(i, answer)
	d.h.Answered++
	return nil
}

// Counts returns how many objects were asked, and how many of these answered.
func (d *Draft) Counts() (asked, answered int64) { return d.h.Asked, d.h.Answered }

// Fitting returns the largest ε, of few digits, of a question that half of those who did not answer surely would: 0 where all answered,
// or most have nothing left. It follows from answers alone.
func (d *Draft) Fitting() (pico int64, err error) {
	if len(d.refused) == 0 {
		return 0, nil
	}
	losses, err := d.t.Losses()
	if err != nil {
		return 0, err
	}
	left := make([]int64, len(d.refused))
	for i, object := range d.refused {
		left[i] = d.losses.filter.Remaining(losses.distinct[losses.of[object]])
	}
	slices.Sort(left)
	const digits = 1000 // three of them
	unit := int64(1)
	for pico = left[len(left)/2]; pico/unit >= digits; {
		unit *= 10
	}
	return pico / unit * unit, nil
}

// Write writes the files durably, and returns the survey for the ledger.
func (d *Draft) Write() (accountant.Survey, error) {
	t := d.t
	if err := t.dir.extend(keysName, t.written, t.keys.text[t.written:]); err != nil {
		return accountant.Survey{}, fmt.Errorf("survey: %w", err)
	}
	t.written = int64(len(t.keys.text))
	if err := d.answers.grow(t.keys.count()); err != nil {
		return accountant.Survey{}, err
	}
	d.h.Objects, d.h.KeysBytes, d.h.KeysDigest = t.keys.count(), t.written, t.keys.sum(t.written)
	if err := t.dir.write(publicName, t.public.encode()); err != nil {
		return accountant.Survey{}, fmt.Errorf("survey: %w", err)
	}
	file, err := d.h.encode(d.answers)
	if err != nil {
		return accountant.Survey{}, err
	}
	if err := t.dir.write(surveyName(d.h.Number), file); err != nil {
		return accountant.Survey{}, fmt.Errorf("survey: %w", err)
	}
	t.unproved, d.digest = true, digest(file)
	return accountant.Survey{
		Table: d.h.Table, Number: d.h.Number, Question: d.h.Question, Where: d.h.Where, EpsilonPico: d.h.EpsilonPico, Epoch: d.h.Epoch,
		Objects: d.h.Objects, Digest: d.digest,
	}, nil
}

// Recorded says that the ledger has the survey: its answers are the ones that count, and may be shown.
func (d *Draft) Recorded() *Survey {
	s := &Survey{d.h, d.digest, d.answers}
	d.t.surveys, d.t.unproved = append(d.t.surveys, s), false
	return s
}

// Refused says that the ledger does not have the survey, and never will: its answers are deleted.
func (d *Draft) Refused() error {
	if err := d.t.dir.deleteAfter(int64(len(d.t.surveys))); err != nil {
		return err
	}
	d.t.unproved = false
	return nil
}
