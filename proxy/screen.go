package proxy

import (
	"context"
	"strings"

	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// Screen implements wire.Handler: it finds the statements that dpproxy answers
// itself. Text that it misses can do no harm: the mirror holds no protected row,
// and refuses to plan a read of a protected relation.
func (p *Proxy) Screen(s *wire.Session, sql string) ([]wire.Statement, error) {
	named := p.filter.Matches(sql)
	if !named && !parser.Mentions(sql) && !namesState(sql) && !surveyFilter.Matches(sql) {
		return nil, nil
	}
	err := lexable(s.Parameter("client_encoding"), s.Parameter("standard_conforming_strings"))
	var texts []*text
	if err == nil {
		texts, err = p.texts.get(parser.Text{SQL: sql})
	}
	switch {
	case err != nil && !named:
		return nil, nil // nothing protected is named; a prepared statement that is meets the mirror's refusal
	case err != nil:
		return nil, err
	}
	var out []wire.Statement
	intercepted := false
	for _, t := range texts {
		w := wire.Statement{SQL: t.stmt.Text, Offset: t.stmt.Offset}
		p.route(s, t, &w)
		if len(t.stmt.Assigned) > 0 {
			p.checkAssigned(s.User(), t.stmt.Assigned, &w)
		}
		intercepted = intercepted || w.Run != nil
		out = append(out, w)
	}
	if !intercepted {
		return nil, nil
	}
	return out, nil
}

// lexable refuses sessions in which the mirror's lexer and ours would read the
// same bytes differently.
func lexable(encoding, conforming string) error {
	// Postgres keeps the older name of UTF8 as it was given.
	if encoding != "UTF8" && encoding != "UNICODE" {
		return pgerr.New(pgerr.FeatureNotSupported, "protected tables need client_encoding UTF8").
			WithHint("SET client_encoding = UTF8.")
	}
	if conforming != "on" {
		return pgerr.New(pgerr.FeatureNotSupported, "protected tables need standard_conforming_strings on").
			WithHint("SET standard_conforming_strings = on, and write E'...' for strings with escapes.")
	}
	return nil
}

// checkSetting refuses an assignment to a dp. setting that cannot be, and, where a pooler gives the session to others, one that
// would hold for them.
func (p *Proxy) checkSetting(analyst string, set *parser.Setting) error {
	if err := settings.Check(set); err != nil {
		return err
	}
	if !p.analyst(analyst).Pooled || set.Local || set.Reset {
		return nil
	}
	name := strings.TrimPrefix(set.Name, "dp.")
	return pgerr.New(pgerr.FeatureNotSupported,
		"SET %s would hold for other clients too: a pooler gives them the sessions of login %s", set.Name, analyst).At(set.At).
		WithHint("SET LOCAL %s in a transaction holds for that, and /* dp: %s=... */ before a statement for that.", set.Name, name)
}

// checkAssigned has the settings that a statement sets without SET checked before it runs, as SET's are.
func (p *Proxy) checkAssigned(analyst string, assigned []parser.Assignment, w *wire.Statement) {
	run := w.Run
	w.Early = nil // it would set them
	w.Run = func(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
		for _, a := range assigned {
			set, err := bound(a, b)
			if err == nil && strings.HasPrefix(set.Name, "dp.") {
				err = p.checkSetting(analyst, set)
			}
			if err != nil {
				return wire.Rewrite{}, err
			}
		}
		if run == nil {
			return wire.Rewrite{Relay: true}, nil
		}
		return run(ctx, m, b)
	}
}

// bound is what an assignment sets with the parameters of its statement. A NULL in place of the name sets nothing.
func bound(a parser.Assignment, b wire.BindRequest) (*parser.Setting, error) {
	text := func(arg parser.Argument) string {
		if arg.Param > 0 && arg.Param <= len(b.Params) {
			return string(b.Params[arg.Param-1]) // a text is the same in both formats
		}
		return arg.Text
	}
	if !a.Name.Given {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "set_config takes the name as a constant or a parameter here").At(a.At).
			WithHint("Write the name: set_config('dp.epsilon', '0.5', false). A misspelt one would be a setting that nothing reads.")
	}
	return &parser.Setting{Name: strings.ToLower(text(a.Name)), Value: text(a.Value), Local: a.Local, At: a.Name.At}, nil
}

// route says how a statement is run.
func (p *Proxy) route(s *wire.Session, t *text, w *wire.Statement) {
	e := &execution{p: p, session: s, analyst: s.User(), text: t}
	switch t.stmt.Class {
	case parser.Release:
		w.Describe, w.Utility = t.stmt.InnerText(), t.stmt.Form == parser.Utility
		w.Run, w.Early = func(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
			return keep(ctx, e, m, b)
		}, e.early
	case parser.Explain:
		w.Describe = t.stmt.Text
		w.Run, w.Early = explanation{e, t.stmt.Verbose}.explain, e.early
	case parser.Refused:
		w.Describe, w.Run = t.stmt.Text, refusal{e}.refuse
		if t.stmt.OnlyRows {
			w.Run = refusal{e}.refuseRows
		}
	case parser.Empty:
		w.Describe = t.stmt.Text
		w.Run = probe{e}.empty
	case parser.Execution:
		if t.stmt.Execute.Explained || !t.stmt.Execute.Created {
			w.Describe = t.stmt.Text
		}
		w.Run = executeStatement{e}.run
	case parser.Set:
		w.Run = func(context.Context, *wire.Asker, wire.BindRequest) (wire.Rewrite, error) {
			return wire.Rewrite{Relay: true}, p.checkSetting(s.User(), t.stmt.Setting)
		}
	case parser.Relay:
		if t.stmt.Survey != nil {
			w.Describe, w.Run = t.stmt.Text, surveying{e}.ask
			if t.stmt.Survey.Explained {
				w.Run = forecast{surveying{e}}.explain
			}
			return
		}
		if mentionsState(t.stmt.Text) {
			w.Run = stateView{e}.show
		}
		if _, ok := parser.Prepared(t.stmt.Text); ok {
			s.NotePrepare()
		}
	}
}

// Prepared implements [wire.Preparer].
func (*Proxy) Prepared(text, name string) (query string, ok bool) {
	return parser.PreparedText(text, name)
}
