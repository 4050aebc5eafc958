package sqlgen

import (
	"fmt"
	"strings"
)

// expr writes an expression of a kind over columns. Where the columns have none of the
// kind, it is a constant.
func (a *above) expr(s scope, k kind, depth int) string {
	if depth == 0 || a.chance(30) {
		if own := s.ofKinds(k); len(own) > 0 {
			return choose(a, own...).name
		}
		return constant(k)
	}
	switch k {
	case integer:
		return a.integer(s, depth-1)
	case decimal:
		return a.decimal(s, depth-1)
	case text:
		return a.text(s, depth-1)
	case boolean:
		return a.condition(s, depth-1)
	case mood:
		return a.mood(s, depth-1)
	case date, instant, span, float, composite, array, unit:
	}
	return constant(k)
}

func constant(k kind) string {
	return map[kind]string{
		integer: "7::bigint", decimal: "1.50", text: "'text'::text", boolean: "true", mood: "'ok'::mood", date: "date '2020-02-29'",
	}[k]
}

func (a *above) integer(s scope, depth int) string {
	x, y := a.expr(s, integer, depth), a.expr(s, integer, depth)
	switch a.r.IntN(14) {
	case 0:
		return "(" + x + choose(a, " + ", "+", " - ", "/*+*/-") + y + ")"
	case 1:
		return "-(" + x + ")"
	case 2:
		return "(" + x + ") * 2"
	case 3:
		return "abs(" + x + ")"
	case 4:
		return "(" + x + ")%7"
	case 5:
		return "CASE WHEN " + a.expr(s, boolean, depth) + " THEN " + x + " ELSE " + y + " END"
	case 6:
		return "CASE " + x + " WHEN 3 THEN " + y + " END"
	case 7:
		return "coalesce(nullif(" + x + ", 3), " + y + ")"
	case 8:
		return choose(a, "greatest", "least") + "(" + x + ", " + y + ")"
	case 9:
		return "length(" + a.expr(s, text, depth) + ")::bigint"
	case 10:
		return "(" + x + " + " + a.param(choose(a, "1", "-3", "12")) + choose(a, "::int", "::bigint", "") + ")"
	case 11:
		return "(" + a.expr(s, boolean, depth) + ")::int::bigint"
	case 12:
		if a.chance(15) {
			a.use("division by zero")
			return "(" + x + " / (" + y + " - " + y + "))"
		}
		return "(" + x + " / nullif(" + y + ", 0))"
	}
	return "CAST(" + x + " AS bigint)"
}

func (a *above) decimal(s scope, depth int) string {
	x := a.expr(s, integer, depth)
	return choose(a,
		"round("+x+" / 3.0, 2)",
		"round("+x+" * "+a.param("1.25")+"::numeric, 2)",
		"CAST("+x+" AS numeric(12,2))",
		"("+a.expr(s, decimal, depth)+" + 0.25)",
		"("+x+")::numeric(14, 2)")
}

func (a *above) text(s scope, depth int) string {
	t, x := a.expr(s, text, depth), a.expr(s, integer, depth)
	switch a.r.IntN(12) {
	case 0:
		return "upper(" + t + ")"
	case 1:
		return "(" + t + " || " + choose(a, "'-'", `U&'\00e4'`, `E'\t'`, "'it''s'", "$q$ FROM ( $q$") + ")"
	case 2:
		return "substring(" + t + " FROM 1 FOR 2)"
	case 3:
		return "trim(BOTH 'e' FROM " + t + ")"
	case 4:
		return "(" + x + ")::text"
	case 5:
		return "to_char(" + x + ", 'FM9990')"
	case 6:
		// A CASE has no typmod, and the result that is left when its condition is folded has:
		// Postgres shows either, as its plan happens to be.
		return "CASE WHEN " + a.expr(s, boolean, depth) + " THEN (" + t + ")::text END"
	case 7:
		return "coalesce(" + t + ", " + a.param("none") + ")"
	case 8:
		return "format('%s-%s', " + t + ", " + x + ")"
	case 9:
		return "(" + a.expr(s, mood, depth) + ")::text"
	case 10:
		return "(" + t + " COLLATE \"C\")"
	}
	return "CAST(" + t + " AS varchar(3))"
}

func (a *above) condition(s scope, depth int) string {
	x, y, t := a.expr(s, integer, depth), a.expr(s, integer, depth), a.expr(s, text, depth)
	switch a.r.IntN(13) {
	case 0:
		return "(" + x + choose(a, " > ", " <= ", "<>", " = ", ">=") + y + ")"
	case 1:
		return "(" + x + " > " + a.param(choose(a, "0", "96", "1000")) + ")"
	case 2:
		return "(" + x + " BETWEEN 10 AND " + y + ")"
	case 3:
		return "(" + x + " IN (96, 192, " + y + "))"
	case 4:
		return "(" + t + " LIKE " + choose(a, "'e%'", "'%o_'", a.param("n%"), "'a!%' ESCAPE '!'") + ")"
	case 5:
		return "(" + a.expr(s, boolean, depth) + choose(a, " AND ", " OR ") + a.expr(s, boolean, depth) + ")"
	case 6:
		return "(NOT " + a.expr(s, boolean, depth) + ")"
	case 7:
		return "(" + x + " IS" + choose(a, " NULL", " NOT NULL", "  DISTINCT FROM "+y, " NOT DISTINCT FROM "+y) + ")"
	case 8:
		return "((" + a.expr(s, boolean, depth) + ") IS " + choose(a, "TRUE", "NOT TRUE", "UNKNOWN", "NOT FALSE") + ")"
	case 9:
		return "(" + t + " = ANY (ARRAY['f', 'east', " + t + "]))"
	case 10:
		return "((" + x + ", " + t + ") >= (" + y + ", 'm'))"
	case 11:
		return "(" + a.expr(s, mood, depth) + " > 'sad')"
	}
	return "(" + t + " < " + a.param("m") + ")"
}

func (a *above) mood(s scope, depth int) string {
	m := a.expr(s, mood, depth)
	return choose(a,
		"greatest("+m+", 'ok')",
		"CASE WHEN "+a.expr(s, boolean, depth)+" THEN "+m+" ELSE 'happy' END",
		"coalesce("+m+", 'sad'::mood)",
		"nullif("+m+", 'happy')")
}

// disguise puts comments, line ends and other cases of letters into a text, between its
// words and never inside a quoted one.
func (a *above) disguise(sql string) string {
	if a.chance(50) {
		return sql
	}
	a.use("comments")
	var out strings.Builder
	quoted := rune(0)
	for i, c := range sql {
		switch {
		case quoted == 0 && strings.HasPrefix(sql[i:], "$q$"):
			quoted = '$'
		case quoted == '$' && strings.HasPrefix(sql[i:], "$q$"):
			quoted = 0
		case quoted == 0 && (c == '\'' || c == '"'):
			quoted = c
		case quoted == c:
			quoted = 0
		}
		if c != ' ' || quoted != 0 || !a.chance(15) {
			out.WriteRune(c)
			continue
		}
		out.WriteString(choose(a, "\n", "  ", " /* SELECT ( ' */ ", "\t", " --)' FROM people\n", " /* /* nested */ count(*) */",
			fmt.Sprintf("\n/* %d */\n", i)))
	}
	return out.String()
}
