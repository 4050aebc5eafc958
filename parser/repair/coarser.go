package repair

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// A statement whose groups are too small to be shown is answered. Statements with larger groups follow from what is known of its keys.

// Coarser returns statements that ask for the groups of a SELECT by coarser keys; none if it is not grouped by so many. Each key has the
// name of a period by which it is taken, [LeftOut], or nothing if it stays.
func Coarser(sql string, schema Schema, keys []string) []Candidate {
	t, ok := read(sql)
	if !ok {
		return nil
	}
	if rest, _, shorter := withoutErrors(t, -1); shorter {
		if t, ok = read(rest); !ok {
			return nil
		}
	}
	r := newRefused(t, -1, schema)
	if r.query == nil || r.Op != pg.SetOperation_SETOP_NONE || len(r.GroupClause) != len(keys) ||
		len(r.keys(r.SelectStmt)) != len(keys) {
		return nil
	}
	coarserKeys(r, keys)
	return r.found
}

// coarserKeys groups by longer periods, or by fewer keys:
//
//	SELECT kind, day, count(*) FROM t GROUP BY kind, day ORDER BY kind, day
//	SELECT kind, date_trunc('month', day) AS day, count(*) FROM t GROUP BY kind, date_trunc('month', day)
//
// The order and LIMIT are lost.
func coarserKeys(r *refused, keys []string) {
	var shown, list []string
	all := r.keys(r.SelectStmt)
	as := func(i int) string {
		if keys[i] == "" {
			return r.text(all[i])
		}
		x := all[i]
		if f := x.GetFuncCall(); nameOf(x) == "date_trunc" && len(f.Args) == 2 {
			x = f.Args[1]
		}
		return "date_trunc('" + keys[i] + "', " + r.text(x) + ")"
	}
	for i := range all {
		if keys[i] != LeftOut {
			list = append(list, as(i))
		}
	}
	for j, t := range r.TargetList {
		text, name := r.edited(r.items()[j]), t.GetResTarget().GetName()
		for i, k := range all {
			if !same(valueOf(t), k) || keys[i] == "" {
				continue
			}
			if text = ""; keys[i] != LeftOut {
				if name == "" {
					name = columnOf(valueOf(t))
				}
				text = strings.TrimSuffix(as(i)+" AS "+ident(name), " AS "+ident(""))
			}
		}
		if text != "" {
			shown = append(shown, text)
		}
	}
	d := r.with(from, where, having)
	d.set(targets, strings.Join(shown, ", "))
	d.set(groups, strings.Join(list, ", "))
	if len(shown) > 0 && len(list) > 0 {
		r.ask(d.String())
	}
}

// LeftOut is the name for a key that is left out.
const LeftOut = "-"
