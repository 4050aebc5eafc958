package mirror

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
)

// A replacer puts texts in the places of types that the mirror neither has nor is given,
// such as those of an extension that is not installed there.
type replacer struct {
	lacking []string
	// warnings name the types that were replaced, by the object that they are part of.
	warnings map[ddl.Key][]string
}

// standIns returns the schema with texts for lacking types, and warnings of them. Keys and
// indexes that are about such a column are left out: of texts they would say something else.
func standIns(ctx context.Context, to pgx.Tx, s *catalog.Schema) (*catalog.Schema, map[ddl.Key][]string, error) {
	lacking, err := lackingTypes(ctx, to, s)
	if err != nil || len(lacking) == 0 {
		return s, nil, err
	}
	r := &replacer{lacking, map[ddl.Key][]string{}}
	rest := *s
	rest.Tables, rest.Types = map[catalog.Name]*catalog.Table{}, map[catalog.Name]*catalog.Type{}
	for n, t := range s.Types {
		made := *t
		r.replace(ddl.TypeKey(n), "what it is made of", &made.Base)
		made.Attributes, _ = r.columns(ddl.TypeKey(n), t.Attributes)
		rest.Types[n] = &made
	}
	replaced := map[catalog.Name][]string{}
	for n, t := range s.Tables {
		made := *t
		made.Columns, replaced[n] = r.columns(ddl.RelationKey(n, s), t.Columns)
		rest.Tables[n] = &made
	}
	for n, t := range rest.Tables {
		rest.Tables[n] = apart(t, func(n catalog.Name) []string { return replaced[n] })
	}
	return &rest, r.warnings, nil
}

// columns returns the columns with texts for lacking types, and the names of those.
func (r *replacer) columns(of ddl.Key, columns []catalog.Column) (made []catalog.Column, replaced []string) {
	made = slices.Clone(columns)
	for i := range made {
		if r.replace(of, "column "+made[i].Name, &made[i].Type) {
			replaced = append(replaced, made[i].Name)
		}
	}
	return made, replaced
}

func (r *replacer) replace(of ddl.Key, what string, t *catalog.TypeRef) bool {
	if !slices.Contains(r.lacking, t.Display) {
		return false
	}
	r.warnings[of] = append(r.warnings[of], fmt.Sprintf(
		"%v: %s is of type %s, as the mirror has no type %s", of, what, ddl.StandIn, t.Display))
	t.Display = ddl.StandIn
	return true
}

// lackingTypes returns the texts of the types that are used, not made by us, and not on the
// mirror. The type of a table's rows is as good as lacking: it comes and goes with the table.
func lackingTypes(ctx context.Context, to pgx.Tx, s *catalog.Schema) ([]string, error) {
	var used, lacking []string
	use := func(t catalog.TypeRef) {
		if t.Display != "" && len(ddl.TypesIn(t.Display, s.Types)) == 0 {
			used = append(used, t.Display)
		}
	}
	for _, t := range s.Types {
		use(t.Base)
		for _, a := range t.Attributes {
			use(a.Type)
		}
	}
	for _, t := range s.Tables {
		for _, c := range t.Columns {
			use(c.Type)
		}
	}
	for _, d := range used {
		for n := range s.Tables {
			if ddl.Mentions(d, n) {
				lacking = append(lacking, d)
			}
		}
	}
	rows, err := to.Query(ctx, "SELECT DISTINCT d FROM unnest($1::text[]) AS d WHERE to_regtype(d) IS NULL", used)
	if err != nil {
		return nil, err
	}
	others, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return append(lacking, others...), err
}
