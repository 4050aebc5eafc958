package proxy

import (
	"context"
	"slices"
	"strings"
	"time"

	"dpproxy/parser"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// told is the account of a part of a statement, and the settings by which it is told.
type told struct {
	account  *account
	settings settings.Settings
}

// tell tells of the answer of an execution. A part of a statement is told with the others.
func tell(ctx context.Context, e *execution, by settings.Settings) []wire.Notice {
	last := stateOf(e.session).last
	if e.part != nil {
		e.part.told = &told{last, by}
		return nil
	}
	return last.notices(ctx, e.p.cashier, e.session, by)
}

// ownRanks is said of a statement that ranks rows by released results.
const ownRanks = "Its ranks are told by released values: tiles are of nearly equal size, and rows of equal value are in the same one."

// ownGroups is said of one that uses a value of each group.
const ownGroups = "Of a group that is not shown there is no value: it is NULL in all its rows."

// tell tells of all parts of the statement together, in one notice.
func (s *evaluation) tell(ctx context.Context, body *part) []wire.Notice {
	var used []*part
	for _, p := range s.parts {
		if p.told != nil {
			used = append(used, p)
		}
	}
	whole := s.whole(used, body)
	if whole == nil {
		return nil
	}
	setLast(s.session, whole.account)
	return whole.account.notices(ctx, s.p.cashier, s.session, whole.settings)
}

// whole is the account of the statement: of its body, and of the results that it uses; nil if nothing was released.
func (s *evaluation) whole(used []*part, body *part) *told {
	switch {
	case len(used) == 0:
		return body.told
	case body.told == nil:
		return &told{togetherWith(used, &account{}, s.text.stmt.Text), used[len(used)-1].told.settings}
	}
	own := *body.told.account
	own.outside = append([]string{"what the noise of " + namesOf(used) + " moves"}, own.outside...)
	own.leftOut = append(slices.Clip(own.leftOut), s.remark(namesOf(used)))
	return &told{togetherWith(used, &own, s.text.stmt.Text), body.told.settings}
}

// remark is said of an answer whose errors do not include those of the results that it uses.
func (s *evaluation) remark(names string) string {
	said := "The answer uses " + names + ", whose errors are stated here too. Which rows they move is not in its own error."
	if s.has(parser.AsGroups) {
		said += " " + ownGroups
	}
	if s.has(parser.AsRanks) {
		said += " " + ownRanks
	}
	return said
}

func (s *evaluation) has(as parser.As) bool {
	return slices.ContainsFunc(s.let.Bindings, func(b parser.Binding) bool { return b.As == as })
}

// namesOf names the columns of released results.
func namesOf(used []*part) string {
	var names []string
	say := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, p := range used {
		if p.unseen {
			say("ranks")
			continue
		}
		for _, c := range p.told.account.columns {
			say(c.name)
		}
		if len(p.told.account.columns) == 0 {
			say("released groups")
		}
	}
	return strings.Join(names, ", ")
}

// togetherWith is the account of a statement, with those of the results that it uses.
func togetherWith(used []*part, own *account, text string) *account {
	w := *own
	w.text = text
	for _, p := range used {
		of := p.told.account
		if w.receipt = cashier.Sum(w.receipt, of.receipt); !p.unseen && len(of.columns) > 0 {
			w.used = append(w.used, of.columns...)
			w.errors = append(slices.Clip(w.errors), of.errors...)
			w.groups = union(w.groups, of.groups)
		}
		if w.mechanism == "" {
			w.mechanism, w.confidence, w.at = of.mechanism, of.confidence, of.at
		}
		w.untold = w.untold.With(of.untold)
		if len(w.relations) == 0 {
			w.asOf = of.asOf
		}
		w.relations, w.rows, w.asOf = union(w.relations, of.relations), w.rows+of.rows, older(w.asOf, of.asOf)
		w.outside, w.leftOut = union(w.outside, of.outside), union(w.leftOut, of.leftOut)
		w.limits, w.how = union(w.limits, of.limits), union(w.how, of.how)
		w.aged = w.aged || of.aged
		w.hidden, w.all = w.hidden+of.hidden, w.all+of.all
	}
	return &w
}

// older is the earlier of two times of releases. The zero time is not known, and before all others.
func older(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// union has all of both lists, each once.
func union[T comparable](all, more []T) []T {
	all = slices.Clip(all)
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
