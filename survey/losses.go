package survey

import (
	"encoding/binary"
	"slices"

	"dpproxy/accountant/realized"
)

// losses are those of objects by the surveys of a table. They decide which objects may be asked the next question.
//
// The loss of an object is the sum of ε over surveys without a promise, and of the realized losses of each epoch with one. Objects with
// the same answers have lost the same, so that each transcript is looked at once.
type losses struct {
	t *Table
	// sums are surveys that count with their whole ε, and epochs those that count together.
	sums   []int
	epochs []*epoch
	// next is the question that is asked, and filter whom it is asked.
	next   *Inquiry
	open   *epoch // next is its last question
	filter *realized.Filter
	rhos   []int64 // of each survey

	spent    map[string]realized.Spent
	admitted map[string]bool
	key      []byte
	answers  []realized.Answer
}

// An epoch has surveys during which values did not change.
type epoch struct {
	surveys []int
	account *realized.Account
}

// maxTranscripts bounds the transcripts that are remembered.
const maxTranscripts = 1 << 18

// losses returns those of the table, before a question or, without one, as they are.
func (t *Table) losses(next *Inquiry) (*losses, error) {
	l := &losses{t: t, next: next, spent: map[string]realized.Spent{}, admitted: map[string]bool{}}
	var asked []int
	stretches := t.stretches()
	for i, s := range t.surveys {
		if !s.Never {
			l.sums = append(l.sums, i)
		}
		rho, err := realized.Rho(s.EpsilonPico)
		if err != nil {
			return nil, err
		}
		l.rhos = append(l.rhos, rho)
	}
	if next != nil && next.Never && t.Promised() {
		last := len(stretches) - 1
		asked, stretches = stretches[last], stretches[:last]
	}
	for _, surveys := range stretches {
		e, err := t.account(surveys, nil)
		if err != nil {
			return nil, err
		}
		l.epochs = append(l.epochs, e)
	}
	if next == nil {
		return l, nil
	}
	var err error
	if l.open, err = t.account(asked, next); err != nil {
		return nil, err
	}
	l.filter, err = realized.NewFilter(next.Budget)
	return l, err
}

// stretches groups the surveys that are about the same values: those that follow each other in one epoch under the promise that
// values do not change. One under the other rule lies between values that may differ, as the end of an epoch does.
func (t *Table) stretches() (all [][]int) {
	for i, s := range t.surveys {
		if !s.Never {
			continue
		}
		if i == 0 || !t.surveys[i-1].Never || t.surveys[i-1].Epoch != s.Epoch {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], i)
	}
	return all
}

// Promised reports whether the next survey can be about the same values as the last one: that was asked in the epoch that is open, under
// the promise that values do not change.
func (t *Table) Promised() bool {
	n := len(t.surveys)
	return n > 0 && t.surveys[n-1].Never && t.surveys[n-1].Epoch == t.epoch
}

// Realized reports whether the loss of an object depends on its answers: a survey was taken under the promise that values do not change.
func (t *Table) Realized() bool {
	return slices.ContainsFunc(t.surveys, func(s *Survey) bool { return s.Never })
}

// account returns the account of surveys about values that did not change, and perhaps one more question.
func (t *Table) account(surveys []int, next *Inquiry) (*epoch, error) {
	var all columns
	var err error
	for _, i := range surveys {
		if all, err = all.with(t.surveys[i].Columns); err != nil {
			return nil, err
		}
	}
	mode := realized.Never
	if next != nil {
		if all, err = all.with(next.Columns); err != nil {
			return nil, err
		}
		if !next.Never {
			mode = realized.Sum
		}
	}
	d, err := all.domain()
	if err != nil {
		return nil, err
	}
	var questions []realized.Question
	for _, i := range surveys {
		q, err := t.surveys[i].question().realized(all, d, t.surveys[i].EpsilonPico)
		if err != nil {
			return nil, err
		}
		questions = append(questions, q)
	}
	if next != nil {
		q, err := next.realized(all, d, next.EpsilonPico)
		if err != nil {
			return nil, err
		}
		questions = append(questions, q)
	}
	a, err := realized.NewAccount(d, questions, mode)
	return &epoch{surveys, a}, err
}

// question is the one that was asked.
func (h *Header) question() *Question {
	q := &Question{Text: h.Question, Kind: h.Kind, Columns: h.Columns}
	if h.Kind == Number {
		q.Low, q.High = float(h.Answers[0]), float(h.Answers[1])
	} else {
		q.Values = h.Answers
	}
	return q
}

// transcript writes all that the losses of an object follow from: its answers, or only that it gave one where that is counted as a whole.
func (l *losses) transcript(object int64) []byte {
	l.key = l.key[:0]
	for _, s := range l.t.surveys {
		switch asked := s.answers.asked(object); {
		case !asked:
			l.key = append(l.key, 0)
		case !s.Never:
			l.key = append(l.key, 1)
		default:
			y := s.answers.answer(object)
			l.key = append(binary.AppendUvarint(l.key, uint64(y.Value+1)), y.Bits...)
		}
	}
	return l.key
}

// of returns the loss of an object; before a question, but for the surveys that count together with that.
func (l *losses) of(object int64) (realized.Spent, error) {
	key := l.transcript(object)
	if spent, ok := l.spent[string(key)]; ok {
		return spent, nil
	}
	known := string(key)
	var spent realized.Spent
	for _, i := range l.sums {
		if s := l.t.surveys[i]; s.answers.asked(object) {
			spent.LossPico += s.EpsilonPico
			spent.RhoPico += l.rhos[i]
		}
	}
	for _, e := range l.epochs {
		loss, err := e.account.Loss(l.given(e, object))
		if err != nil {
			return spent, err
		}
		spent.LossPico += loss
		for _, i := range e.surveys {
			if l.t.surveys[i].answers.asked(object) {
				spent.RhoPico += l.rhos[i]
			}
		}
	}
	if len(l.spent) >= maxTranscripts {
		clear(l.spent)
	}
	l.spent[known] = spent
	return spent, nil
}

// given are the answers of an object in an epoch.
func (l *losses) given(e *epoch, object int64) []realized.Answer {
	l.answers = l.answers[:0]
	for _, i := range e.surveys {
		l.answers = append(l.answers, l.t.surveys[i].answers.answer(object))
	}
	return l.answers
}

// admits reports whether an object may be asked the next question.
func (l *losses) admits(object int64) (bool, error) {
	if l.next.EpsilonPico > l.next.Budget.EpsilonPico {
		return false, nil
	}
	key := l.transcript(object)
	if yes, ok := l.admitted[string(key)]; ok {
		return yes, nil
	}
	known := string(key)
	base, err := l.of(object)
	if err != nil {
		return false, err
	}
	yes, err := l.filter.Admits(l.open.account, base, l.given(l.open, object))
	if err != nil {
		return false, err
	}
	if len(l.admitted) >= maxTranscripts {
		clear(l.admitted)
	}
	l.admitted[known] = yes
	return yes, nil
}
