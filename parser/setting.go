package parser

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// setting recognises an assignment to a dp. setting, whose name and value the
// proxy checks: Postgres takes any dotted name.
func setting(st *Statement, v *pg.VariableSetStmt, l *locator) {
	name := lex.Lower(v.GetName())
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
		if l.toks.Kind(i+1) == lex.Dot && strings.EqualFold(strings.Trim(l.text[t.Start:t.End], `"`), "dp") {
			return t.Start
		}
	}
	return 0
}

// An Assignment sets a setting within a statement that is no SET: by a call of set_config, or by the option SET of a function.
type Assignment struct {
	// Name is in lower case; it is not Given if it is computed. Value is not Given if it is computed, NULL or DEFAULT.
	Name, Value Argument
	Local       bool // for the transaction, or while the function runs
	At          int
}

// assignments returns those anywhere in a statement, but for the body of a function that is a text.
func assignments(l *locator, stmt *pg.Node) []Assignment {
	text := strings.ToLower(l.text)
	function := stmt.GetCreateFunctionStmt() != nil || stmt.GetAlterFunctionStmt() != nil
	if !function && !strings.Contains(text, "set_config") && !strings.Contains(text, `u&"`) {
		return nil
	}
	var found []Assignment
	var equal map[string]*pg.Node // of the SELECT that is visited
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		if f := n.GetFuncCall(); f != nil {
			if schema, name := pgtree.Callee(f); name == "set_config" && (schema == "" || schema == "pg_catalog") {
				found = append(found, assignmentBy(l, f, equal, stmt.GetPrepareStmt() != nil))
			}
		}
		if v := n.GetVariableSetStmt(); v != nil && function {
			at := l.settingAt()
			found = append(found, Assignment{Name: Argument{Text: lex.Lower(v.Name), Given: true, At: at}, Local: true, At: at})
		}
		if sel := n.GetSelectStmt(); sel != nil {
			outer := equal
			equal = equalities(sel)
			pgtree.Others(sel.ProtoReflect(), visit)
			equal = outer
			return
		}
		pgtree.Children(n, visit)
	}
	pgtree.Visit(stmt, visit)
	return found
}

// equalities returns the columns of the table of a SELECT that its WHERE makes equal to a value, as in pg_dump's
// SELECT set_config(name, ...) FROM pg_settings WHERE name = '...'.
func equalities(sel *pg.SelectStmt) map[string]*pg.Node {
	if len(sel.FromClause) != 1 || sel.FromClause[0].GetRangeVar() == nil {
		return nil
	}
	equal := map[string]*pg.Node{}
	for _, c := range pgtree.Conjuncts(sel.WhereClause) {
		e := c.GetAExpr()
		if e.GetKind() != pg.A_Expr_Kind_AEXPR_OP || pgtree.OperatorName(e) != "=" {
			continue
		}
		if name, ok := pgtree.ColumnName(e.Lexpr); ok {
			equal[name] = e.Rexpr
		}
	}
	return equal
}

// assignmentBy reads a call of set_config, by position or by name. Equal has values for columns. A parameter of PREPARE is known to
// EXECUTE alone.
func assignmentBy(l *locator, f *pg.FuncCall, equal map[string]*pg.Node, prepared bool) Assignment {
	a := Assignment{At: l.client(int(f.Location) - l.base)}
	names := []string{"setting_name", "new_value", "is_local"}
	for i, n := range f.Args {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		if named := n.GetNamedArgExpr(); named != nil {
			name, n = named.Name, named.Arg
		}
		if column, ok := pgtree.ColumnName(n); ok && equal[column] != nil {
			n = equal[column]
		}
		arg, ok := boundArgument(l, n)
		if !ok || arg.Param > 0 && prepared {
			arg = Argument{At: a.At}
		}
		switch name {
		case names[0]:
			arg.Text = lex.Lower(arg.Text)
			a.Name = arg
		case names[1]:
			a.Value = arg
		case names[2]:
			a.Local = n.GetAConst().GetBoolval().GetBoolval()
		}
	}
	return a
}
