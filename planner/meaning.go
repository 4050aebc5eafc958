package planner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"dpproxy/planner/scalar"
	"dpproxy/planner/work"
)

// This file writes which exact numbers a block releases, for the questions under which answers are remembered: the SQL that DATA would be
// asked for each part alone, with conditions in their normal form ([scalar.NormalForms]) and constants in the places of parameters.

// alone returns the set with a part as all that is released.
func (p part) alone(a *aggregation) *aggregation {
	own := *a
	own.statistics, own.Measures = p.statistics, nil
	if p.measure != nil {
		own.Measures = []*Measure{p.measure}
	}
	return &own
}

// A meaner writes what a block reads, in so many steps at most for each part.
type meaner struct {
	*specializer
	most int64
}

// means implements [meanings]. The work is counted for each part by itself, and no client's leaving ends it: a plan is kept for others.
func (sp meaner) means(g *GroupingSet, p part) []string {
	texts, err := sp.measured().meaning(sp.unfiltered(g, p))
	if err != nil { // a normal form would be too large: all that is read with the part, and which part of that it is
		texts = []string{"as written", strconv.Itoa(p.among(partsOf(&g.aggregation)))}
		for _, r := range g.Reads {
			texts = append(texts, sp.written(r)...)
		}
	}
	return texts
}

// among returns the place of a part in a list.
func (p part) among(list []part) int {
	return slices.IndexFunc(list, func(o part) bool { return slices.Equal(o.statistics, p.statistics) })
}

// measured returns a meaner whose work is counted.
func (sp meaner) measured() meaner {
	own, env := *sp.specializer, *sp.env
	env.Work, own.env = work.New(context.Background(), sp.most), &env
	return meaner{&own, sp.most}
}

// reads implements [meanings].
func (sp meaner) reads(g *GroupingSet) ([]*Read, error) { return sp.read(&g.aggregation) }

func (sp meaner) meaning(a *aggregation, where []scalar.Expr) (texts []string, err error) {
	err = sp.eachRead(a, func(read *Read) error {
		r := &reader{sp: sp.specializer, set: a, where: where}
		r.inline = sp.inlined
		r.w = &scalar.Writer{Env: sp.env, Fold: r.fold, Query: sp.b.source.WriteQuery, Normal: scalar.NormalForms{}}
		q, err := r.query(read)
		if err != nil {
			return err
		}
		texts = append(texts, q.Meaning(), r.listing())
		if read.Fold != nil {
			texts = append(texts, read.Fold.Lines()...)
		}
		return nil
	})
	if spent := sp.env.Work.Err(); err == nil {
		err = spent // bounds are missing then
	}
	return texts, err
}

// unfiltered returns a part over the rows that its filter keeps, and the conditions that these meet: a filter that all of its statistics
// have is a condition of its rows, unless rows that it does not keep decide which groups there are.
func (sp meaner) unfiltered(g *GroupingSet, p part) (of *aggregation, where []scalar.Expr) {
	all := p.alone(&g.aggregation)
	if len(p.statistics) == 0 || p.statistics[0].filter == nil || g.Private() || g.Top != nil || !sp.b.source.Filters() {
		return all, nil
	}
	filter := p.statistics[0].filter
	if len(scalar.Queries(filter)) > 0 || slices.ContainsFunc(all.read(), func(s *statistic) bool {
		return s.filter == nil || !scalar.Equal(s.filter, filter) || s.own() != nil
	}) {
		return all, nil
	}
	of = &only(g, []part{p}).aggregation
	for _, s := range of.read() {
		s.filter = nil
	}
	return of, scalar.Conjuncts(filter)
}

// longInline is the length from which on a digest stands for a parameter.
const longInline = 64

// inlined writes a parameter with its value.
func (sp meaner) inlined(p Param) string {
	value := p.Text
	if p.Kind == FoldParam {
		value = constantText(sp.env.Values[p.Fold])
	}
	if len(value) > longInline {
		sum := sha256.Sum256([]byte(value))
		value = "digest " + string(sum[:])
	}
	return "<" + strconv.Itoa(int(p.Kind)) + " " + hex.EncodeToString([]byte(value)) + " " + p.Type + ">"
}

// constantText writes the value of a constant.
func constantText(v scalar.Value) string {
	form := "value"
	switch {
	case v.Unknown: // nothing that was released is its answer
		form = "unknown"
	case v.Bytes == nil:
		form = "null"
	case v.Binary:
		form = "binary"
	}
	return strings.Join([]string{strconv.FormatUint(uint64(v.OID), 10), form, string(v.Bytes)}, " ")
}

// written returns what is read as it is written for DATA.
func (sp meaner) written(r *Read) (texts []string) {
	if r.Fold != nil {
		texts = append(texts, r.Fold.Lines()...)
	}
	for _, st := range r.statements() {
		texts = append(texts, st.SQL)
		for _, p := range st.Params {
			texts = append(texts, sp.inlined(p))
		}
	}
	return texts
}
