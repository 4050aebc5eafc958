package suggest

import (
	"maps"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/pgtype"
	"dpproxy/suggest/words"
)

// A catalogue is a survey with the words of its names, and indexes over them.
type catalogue struct {
	*introspect.Survey
	// names are the names of the relations in order: no decision may depend on the order of a map.
	names []catalog.Name
	rels  map[catalog.Name]*relation
	// referring has, by the name of a table, the tables with a foreign key to it.
	referring map[catalog.Name][]*relation
	// spelled has the fields of all tables by the words of their names, joined with blanks.
	spelled map[string][]*field
	// called has the tables by the word for one of their rows.
	called map[string][]*relation
}

// A relation is a relation of the catalogue.
type relation struct {
	*catalog.Table
	words  []string
	fields []*field
	// foreign are the foreign keys that say which rows belong together, enforced or not.
	foreign []catalog.ForeignKey
	people  people
}

// A field is a column of a relation.
type field struct {
	*catalog.Column
	of    *relation
	words []string
	fam   pgtype.Family
	// foreign says that the column is part of a foreign key.
	foreign bool
}

func read(s *introspect.Survey) *catalogue {
	c := &catalogue{
		Survey: s, names: slices.SortedFunc(maps.Keys(s.Tables), catalog.Name.Compare), rels: map[catalog.Name]*relation{},
		referring: map[catalog.Name][]*relation{}, spelled: map[string][]*field{}, called: map[string][]*relation{},
	}
	for _, n := range c.names {
		r := readRelation(s.Tables[n])
		c.rels[n] = r
		for _, f := range r.fields {
			key := strings.Join(f.words, " ")
			c.spelled[key] = append(c.spelled[key], f)
		}
		for _, fk := range r.foreign {
			if fk.References != n && !slices.Contains(c.referring[fk.References], r) {
				c.referring[fk.References] = append(c.referring[fk.References], r)
			}
		}
		if r.HasRows() {
			c.called[r.row()] = append(c.called[r.row()], r)
		}
	}
	return c
}

func readRelation(t *catalog.Table) *relation {
	r := &relation{Table: t, words: words.Split(t.Name.Name), foreign: slices.Concat(t.Foreign, t.Loose)}
	slices.SortStableFunc(r.foreign, func(a, b catalog.ForeignKey) int { return strings.Compare(a.Name, b.Name) })
	for i := range t.Columns {
		col := &t.Columns[i]
		r.fields = append(r.fields, &field{
			Column: col, of: r, words: words.Split(col.Name), fam: familyOf(col),
			foreign: slices.ContainsFunc(r.foreign, func(fk catalog.ForeignKey) bool { return slices.Contains(fk.Columns, col.Name) }),
		})
	}
	r.dropPrefix()
	r.dropSuffix()
	r.people = r.readPeople()
	return r
}

// longestPrefix is the length of a prefix of column names, such as c_ in c_name and c_phone of a table of customers.
const longestPrefix = 3

// dropPrefix removes a short first word that the names of all columns share, since it says nothing about a column.
func (r *relation) dropPrefix() {
	for _, f := range r.fields {
		if len(f.words) < 2 || len(r.fields) < 2 {
			return
		}
		if prefix := f.words[0]; prefix != r.fields[0].words[0] || len(prefix) > longestPrefix || prefix == "id" {
			return
		}
	}
	for _, f := range r.fields {
		f.words = f.words[1:]
	}
}

// dropSuffix removes a last word that half of the columns share and with which the name of the table begins: nom_adh and tel_adh in a table
// of adherents. Identifiers keep it, since other tables have them too.
func (r *relation) dropSuffix() {
	have := map[string]int{}
	for _, f := range r.fields {
		if len(f.words) > 1 {
			have[last(f.words)]++
		}
	}
	for suffix, n := range have {
		short := slices.ContainsFunc(r.words, func(w string) bool { return w != suffix && strings.HasPrefix(w, suffix) })
		if !short || n < 3 || 2*n < len(r.fields) {
			continue
		}
		for _, f := range r.fields {
			if len(f.words) > 1 && last(f.words) == suffix && f.words[0] != "id" {
				f.words = f.words[:len(f.words)-1]
			}
		}
	}
}

// row returns the word for a row of the table: the last word of its name before words such as dimension and record.
func (r *relation) row() string {
	if len(r.words) == 0 {
		return ""
	}
	if before, ok := r.beforeBase(); ok {
		return before
	}
	return r.words[len(r.words)-1]
}

// beforeBase returns the word before a word that says nothing, as in customer_dimension.
func (r *relation) beforeBase() (string, bool) {
	n := len(r.words)
	if n > 1 && words.Is(r.words[n-1], words.Base) {
		return r.words[n-2], true
	}
	return "", false
}

func (r *relation) field(name string) *field {
	i := slices.IndexFunc(r.fields, func(f *field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return r.fields[i]
}

// key returns the columns of the primary key, or of the first other key; nil if there is none.
func (r *relation) key() []string {
	if len(r.Keys) == 0 {
		return nil
	}
	return r.Keys[0].Columns
}
