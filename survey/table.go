package survey

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"dpproxy/accountant"
	"dpproxy/accountant/realized"
)

// A Survey is a question with the answers of all objects.
type Survey struct {
	Header
	// Digest is that of the file in the ledger.
	Digest  string
	answers *packed
}

// A Table has the answers of a local table's objects. It is not safe for concurrent use.
type Table struct {
	// Name is schema.table.
	Name    string
	dir     directory
	keys    *keys
	written int64 // bytes of the file of keys
	public  *public
	surveys []*Survey
	epoch   int64
	frozen  error
	// unproved says that it is not known whether the last survey is in the ledger.
	unproved bool
	// lost is the loss of each object after the first lostBy surveys; nil before it was asked for.
	lost   *Losses
	lostBy int
}

// ErrFrozen is wrapped where the answers of a table are not those that the ledger has. Nothing may be asked any more.
var ErrFrozen = errors.New("survey: the answers are not those of the ledger")

// Open reads the answers of a table whose public columns are shown: their names, each with a NUL and what tells it from another column of
// that name. Surveys and epoch are those of the ledger. Files that no
// survey of the ledger has are deleted, unless only is set: then nothing is written. Where a file of the ledger is missing or another
// one, the table is frozen, and [Table.Frozen] tells why.
func Open(dir, name string, shown []string, surveys []accountant.Survey, epoch int64, only bool) (*Table, error) {
	t := &Table{Name: name, epoch: epoch}
	var err error
	if only && len(surveys) == 0 {
		t.keys, t.public = newKeys(), newPublic(shown)
		return t, nil
	}
	if t.dir, err = openDirectory(dir, only); err != nil {
		if only && errors.Is(err, fs.ErrNotExist) {
			t.frozen = fmt.Errorf("%w: the folder %s is missing", ErrFrozen, dir)
			return t, nil
		}
		return nil, fmt.Errorf("survey: %w", err)
	}
	text, err := t.dir.read(keysName)
	if err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	if err := t.load(text, surveys); err != nil {
		if !errors.Is(err, ErrFrozen) {
			return nil, err
		}
		t.frozen = err
		return t, nil
	}
	if file, err := t.dir.read(publicName); err == nil {
		if t.public, err = readPublic(shown, file); err != nil {
			t.public = newPublic(shown)
		}
	}
	if t.public == nil {
		t.public = newPublic(shown)
	}
	if only {
		return t, nil
	}
	if err := errors.Join(t.dir.deleteAfter(int64(len(surveys))), t.dir.extend(keysName, t.written, nil)); err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	return t, nil
}

// load reads the surveys of the ledger.
func (t *Table) load(text []byte, surveys []accountant.Survey) error {
	for _, s := range surveys {
		file, err := t.dir.read(surveyName(s.Number))
		if err != nil {
			return fmt.Errorf("survey: %w", err)
		}
		if file == nil {
			return fmt.Errorf("%w: the file %s is missing", ErrFrozen, surveyName(s.Number))
		}
		if digest(file) != s.Digest {
			return fmt.Errorf("%w: the file %s is another one", ErrFrozen, surveyName(s.Number))
		}
		h, answers, err := decode(file)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFrozen, err)
		}
		own := accountant.Survey{
			Table: h.Table, Number: h.Number, Question: h.Question, Where: h.Where, EpsilonPico: h.EpsilonPico, Epoch: h.Epoch,
			Analyst: s.Analyst, Objects: h.Objects, Digest: s.Digest,
		}
		if own != s || h.Table != t.Name {
			return fmt.Errorf("%w: the file %s is of another survey", ErrFrozen, surveyName(s.Number))
		}
		t.surveys = append(t.surveys, &Survey{*h, s.Digest, answers})
	}
	return t.loadKeys(text)
}

// loadKeys reads the keys that surveys are of. Keys behind them were never shown.
func (t *Table) loadKeys(text []byte) error {
	if len(t.surveys) == 0 {
		t.keys = newKeys()
		return nil
	}
	t.written = t.surveys[len(t.surveys)-1].KeysBytes
	if t.written < 0 || int64(len(text)) < t.written {
		return fmt.Errorf("%w: the file of keys is missing, or too short", ErrFrozen)
	}
	var err error
	if t.keys, err = readKeys(text[:t.written]); err != nil {
		return fmt.Errorf("%w: %w", ErrFrozen, err)
	}
	for _, s := range t.surveys {
		if s.KeysBytes < t.keys.digests || s.KeysBytes > t.written || t.keys.sum(s.KeysBytes) != s.KeysDigest {
			return fmt.Errorf("%w: the keys of survey %d are others", ErrFrozen, s.Number)
		}
	}
	if t.keys.count() != t.surveys[len(t.surveys)-1].Objects {
		return fmt.Errorf("%w: the file of keys has another number of objects", ErrFrozen)
	}
	return nil
}

// Frozen returns why nothing may be asked, nil if it may.
func (t *Table) Frozen() error { return t.frozen }

// Freeze has nothing asked any more, until the table is opened again.
func (t *Table) Freeze(why error) {
	if t.frozen == nil {
		t.frozen = why
	}
}

// Surveys returns the surveys in their order.
func (t *Table) Surveys() []*Survey { return slices.Clone(t.surveys) }

// Objects is the number of objects.
func (t *Table) Objects() int64 { return t.keys.count() }

// Epoch is the number of the epoch that is open.
func (t *Table) Epoch() int64 { return t.epoch }

// Known returns the survey that asked the same question with the same ε of the objects with the same condition in this epoch, nil
// if there is none. Its answers are the answers. A question about a column that had other values or bounds then is another one,
// whatever its text.
func (t *Table) Known(q *Question, where string, epsilonPico int64) *Survey {
	return Known(t.surveys, t.epoch, q, where, epsilonPico)
}

// Known returns the survey among some that [Table.Known] returns.
func Known(surveys []*Survey, epoch int64, q *Question, where string, epsilonPico int64) *Survey {
	for _, s := range surveys {
		same := s.Question == q.Text && slices.EqualFunc(s.Columns, q.Columns, Column.equal)
		if same && s.Where == where && s.EpsilonPico == epsilonPico && s.Epoch == epoch {
			return s
		}
	}
	return nil
}

// Named reports whether a survey has the name.
func (t *Table) Named(name string) bool {
	return slices.ContainsFunc(t.surveys, func(s *Survey) bool { return s.Name == name })
}

// Key returns the key of an object.
func (t *Table) Key(object int64) []byte { return t.keys.key(object) }

// Public returns a public column of an object; ok is false for NULL.
func (t *Table) Public(object int64, column int) (text string, ok bool) {
	return t.public.at(object, column)
}

// Answer returns the text of an object's answer, of a set that of an array; ok is false if it has none.
func (s *Survey) Answer(object int64) (text string, ok bool) {
	y := s.answers.answer(object)
	switch {
	case y.Value == realized.Unasked:
		return "", false
	case s.Kind == Set:
		return s.array(y.Bits), true
	}
	return s.Answers[y.Value], true
}

// array writes the values of a set as Postgres reads an array.
func (s *Survey) array(members []byte) string {
	out := []byte("{")
	for v, text := range s.Answers {
		if members[v/8]>>(v%8)&1 == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, '"')
		for i := range len(text) {
			if text[i] == '"' || text[i] == '\\' {
				out = append(out, '\\')
			}
			out = append(out, text[i])
		}
		out = append(out, '"')
	}
	out = append(out, '}')
	return string(out)
}
