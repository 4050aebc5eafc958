package planner

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// BareTexts lists the texts of any length that a read of the plan mentions otherwise than to
// read their beginning, to look whether they are NULL, or to hand them on; and counts all
// mentions.
func BareTexts(p *Plan) (bare []string, mentions int) {
	for _, b := range p.Blocks {
		if b.block == nil {
			continue
		}
		texts := longTexts(b.block.source)
		for _, set := range b.Sets {
			for _, r := range set.Reads {
				for _, x := range texts {
					mentions += strings.Count(r.SQL, x)
					if at := strings.Index(handled(r.SQL, x), x); at >= 0 {
						bare = append(bare, x+" in "+r.SQL)
					}
				}
			}
		}
	}
	return bare, mentions
}

// longTexts lists how the columns that may be long are written: where they are in scope, and,
// in functions of the cut of a relation, by their names alone.
func longTexts(s *source.Source) []string {
	var all []string
	s.Computed(func(...scalar.Expr) {}, func(c *scalar.Column) {
		if c.Reach != scalar.Beginning {
			return
		}
		name := ast.QuoteIdent(c.Name)
		if len(c.Of) > 0 { // of a derived table
			_, name, _ = strings.Cut(c.SQL, ".")
		}
		all = append(all, c.SQL, "("+name, "CAST("+name)
	})
	slices.Sort(all)
	return slices.Compact(all)
}

var (
	nulls0  = regexp.MustCompile(`num_nulls\([^()]*\)`)
	cutList = regexp.MustCompile(`SELECT t\d+\.\S+ AS "?u_*"?(, t\d+\.[^,()\n]+)+, pg_catalog\.count\(\*\) OVER`)
)

// handled leaves out the mentions of x that read no more than its beginning.
func handled(sql, x string) string {
	bracket, column := "", x
	for _, before := range []string{"CAST(", "("} {
		if rest, ok := strings.CutPrefix(x, before); ok {
			bracket, column = before, rest
			break
		}
	}
	sql = cutList.ReplaceAllString(nulls0.ReplaceAllString(sql, ""), "")
	for _, n := range []int{1 << 10, 1 << 14} {
		limit := strconv.Itoa(n)
		sql = strings.ReplaceAll(sql, "CASE WHEN pg_catalog.octet_length("+column+") OPERATOR(pg_catalog.>) "+limit+
			" THEN pg_catalog.left("+column+", "+limit+") ELSE "+column+" END", "")
	}
	for _, after := range []string{" IS NULL", " IS NOT NULL"} {
		sql = strings.ReplaceAll(sql, "("+column+after+")", "")
	}
	if bracket != "" {
		return sql
	}
	sql = strings.ReplaceAll(sql, "pg_catalog.count("+column+")", "")
	return regexp.MustCompile(regexp.QuoteMeta(column)+` AS c\d+`).ReplaceAllString(sql, "")
}
