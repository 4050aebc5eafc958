package parser

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// setting recognises an assignment to a dp. setting, whose name and value the
// proxy checks: Postgres takes any dotted name.
func setting(st *Statement, v *pg.VariableSetStmt, l *locator) {
	name := lower(v.GetName())
	if !strings.HasPrefix(name, "dp.") {
		return
	}
	s := &Setting{Name: name, At: l.settingAt(), Local: v.GetIsLocal()}
	switch v.Kind {
	case pg.VariableSetKind_VAR_SET_VALUE:
		values := make([]string, 0, len(v.Args))
		for _, n := range v.Args {
			values = append(values, settingValue(n))
		}
		s.Value = strings.Join(values, ", ")
	case pg.VariableSetKind_VAR_SET_DEFAULT, pg.VariableSetKind_VAR_RESET:
		s.Reset = true
	default:
		return
	}
	st.Class, st.Setting = Set, s
}

func settingValue(n *pg.Node) string {
	switch x := n.GetAConst().GetVal().(type) {
	case *pg.A_Const_Ival:
		return strconv.Itoa(int(x.Ival.GetIval()))
	case *pg.A_Const_Fval:
		return x.Fval.GetFval()
	case *pg.A_Const_Sval:
		return x.Sval.GetSval()
	}
	return ""
}

// settingAt returns where the name dp.something begins.
func (l *locator) settingAt() int {
	for i, t := range l.toks {
		if l.toks.kind(i+1) == dot && strings.EqualFold(strings.Trim(l.text[t.start:t.end], `"`), "dp") {
			return t.start
		}
	}
	return 0
}
