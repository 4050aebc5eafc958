package parser

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A SurveyCall is the call of dp.survey that a SELECT has in FROM, with its arguments: constants alone.
type SurveyCall struct {
	Table, Question Argument
	// Epsilon is the text of a number, empty if there is none.
	Epsilon     string
	Name, Where Argument
	At          int
	// Explained says that the SELECT stands in EXPLAIN.
	Explained bool
}

// An Argument is a text that the client gave.
type Argument struct {
	Text  string
	Given bool
	// At is where the text begins in the statement, and Plain says that the bytes there are the text's own.
	At    int
	Plain bool
	// Param is the parameter of the statement that has the text, 0 where it is a constant.
	Param int
}

// Place returns where a byte of the text stands in the statement, or the text as a whole if its spelling differs.
func (a Argument) Place(at int) int {
	if !a.Plain || at < 0 || at > len(a.Text) {
		return a.At
	}
	return a.At + at
}

const surveyHint = "Write SELECT * FROM dp.survey('people', 'smoker', epsilon => 1)."

// surveyCall returns the call of dp.survey of a statement, or of one in EXPLAIN, nil if it has none. A call in another place than
// in FROM of the statement itself is left to Postgres: the function on the mirror raises.
func surveyCall(l *locator, stmt *pg.Node) (*SurveyCall, *pgerr.Error) {
	if !strings.Contains(strings.ToLower(l.text), "survey") {
		return nil, nil
	}
	explained, prepared := stmt.GetExplainStmt(), stmt.GetPrepareStmt()
	switch {
	case explained != nil:
		stmt = explained.Query
	case prepared != nil:
		stmt = prepared.Query
	}
	sel := stmt.GetSelectStmt()
	if sel == nil {
		return nil, nil
	}
	var found *pg.RangeFunction
	for _, item := range sel.FromClause {
		if f := item.GetRangeFunction(); isSurvey(f) {
			found = f
		}
	}
	if found == nil {
		return nil, nil
	}
	call := found.Functions[0].GetList().Items[0].GetFuncCall()
	at := l.client(int(call.Location) - l.base)
	refuse := func(text, hint string) (*SurveyCall, *pgerr.Error) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "%s", text).At(at).WithHint("%s", hint)
	}
	switch {
	case prepared != nil:
		return refuse("dp.survey cannot be prepared by PREPARE: it asks once, and its answers are permanent", surveyHint)
	case explained != nil && pgtree.Executes(explained):
		return refuse("EXPLAIN ANALYZE of dp.survey would ask", "EXPLAIN without ANALYZE shows who would be asked, and what it costs.")
	case len(sel.FromClause) != 1 || sel.WithClause != nil || sel.IntoClause != nil || found.Lateral || found.Ordinality ||
		found.IsRowsfrom || len(found.Coldeflist) > 0 || len(sel.LockingClause) > 0:
		return refuse("dp.survey stands alone in FROM of a statement of its own",
			surveyHint+" The answers are in a table: SELECT * FROM local.people.")
	}
	s := &SurveyCall{At: at, Explained: explained != nil}
	if err := s.read(l, call); err != nil {
		return nil, err
	}
	return s, nil
}

func isSurvey(f *pg.RangeFunction) bool {
	if f == nil || len(f.Functions) != 1 || len(f.Functions[0].GetList().GetItems()) == 0 {
		return false
	}
	call := f.Functions[0].GetList().Items[0].GetFuncCall()
	if call == nil {
		return false
	}
	schema, name := pgtree.Callee(call)
	return schema == "dp" && name == "survey"
}

// read reads the arguments, by position or by name.
func (s *SurveyCall) read(l *locator, call *pg.FuncCall) *pgerr.Error {
	refuse := func(text string) *pgerr.Error {
		return pgerr.New(pgerr.InvalidParameterValue, "%s", text).At(s.At).WithHint("%s", surveyHint)
	}
	const constants = "dp.survey takes constants: a table, a question, epsilon, and perhaps a name and a condition on public columns"
	if len(call.Args) > 5 || call.AggDistinct || call.AggStar || len(call.AggOrder) > 0 || call.FuncVariadic {
		return refuse(constants)
	}
	names := []string{"table", "question", "epsilon", "name", "where"}
	seen := map[string]bool{}
	for i, n := range call.Args {
		name := names[i]
		if named := n.GetNamedArgExpr(); named != nil {
			name, n = named.Name, named.Arg
		}
		if seen[name] {
			return refuse("dp.survey is given " + strconv.Quote(name) + " twice")
		}
		seen[name] = true
		text, isNull, ok := constantText(n)
		switch {
		case !ok:
			return refuse(constants)
		case isNull && (name == "name" || name == "where"):
			continue
		case isNull:
			return refuse("dp.survey needs " + name)
		}
		a := argumentOf(l, n, text)
		switch name {
		case "table":
			s.Table = a
		case "question":
			s.Question = a
		case "epsilon":
			s.Epsilon = text
		case "name":
			s.Name = a
		case "where":
			s.Where = a
		default:
			return refuse("dp.survey has no argument " + strconv.Quote(name))
		}
	}
	if !s.Table.Given || !s.Question.Given || s.Epsilon == "" {
		return refuse("dp.survey needs a table, a question and epsilon")
	}
	return nil
}

// constantText returns the text of a constant, which may be cast to a type that leaves it as it is.
func constantText(n *pg.Node) (text string, isNull, ok bool) {
	if cast := n.GetTypeCast(); cast != nil {
		names := cast.TypeName.GetNames()
		if len(names) == 0 || len(cast.TypeName.Typmods) > 0 || len(cast.TypeName.ArrayBounds) > 0 ||
			!slices.Contains([]string{"text", "varchar", "numeric"}, names[len(names)-1].GetString_().GetSval()) {
			return "", false, false
		}
		return constantText(cast.Arg)
	}
	c := n.GetAConst()
	if c == nil {
		return "", false, false
	}
	if c.Isnull {
		return "", true, true
	}
	switch x := c.Val.(type) {
	case *pg.A_Const_Ival:
		return strconv.Itoa(int(x.Ival.GetIval())), false, true
	case *pg.A_Const_Fval:
		return x.Fval.GetFval(), false, true
	case *pg.A_Const_Sval:
		return x.Sval.GetSval(), false, true
	}
	return "", false, false
}

// argumentOf says where the text of a constant stands.
func argumentOf(l *locator, n *pg.Node, text string) Argument {
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().Arg
	}
	start := int(n.GetAConst().GetLocation()) - l.base
	a := Argument{Text: text, Given: true, At: l.client(start)}
	for _, opening := range []string{"'", "$$"} {
		from := start + len(opening)
		if start >= 0 && from+len(text) <= len(l.text) && l.text[start:from] == opening && l.text[from:from+len(text)] == text {
			return Argument{Text: text, Given: true, At: l.client(from), Plain: true}
		}
	}
	return a
}
