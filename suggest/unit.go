package suggest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/pgtype"
)

// A Candidate is a table that may have one row for each privacy unit.
type Candidate struct {
	Table catalog.Name
	// Column is the key of the table that others refer to.
	Column string
	// Referring are how many tables refer to it.
	Referring int
	score     int
}

// people are words for somebody whose rows need protection.
var people = []string{
	"applicant", "citizen", "client", "contact", "customer", "donor", "driver", "employee", "guest", "human", "individual", "inhabitant",
	"insured", "member", "participant", "passenger", "patient", "person", "player", "pupil", "resident", "respondent", "student",
	"subject", "subscriber", "user", "visitor", "voter", "worker",
}

// Candidates are the tables that can be the unit's, the likeliest first: those that most foreign keys
// lead to, directly or by others, where the name of a person weighs threefold. It is empty
// if no table has a key of one column.
func Candidates(s *introspect.Survey) []Candidate {
	referring := map[catalog.Name]map[catalog.Name]bool{}
	for _, t := range s.Tables {
		for _, fk := range foreignKeys(t) {
			if fk.References != t.Name {
				if referring[fk.References] == nil {
					referring[fk.References] = map[catalog.Name]bool{}
				}
				referring[fk.References][t.Name] = true
			}
		}
	}
	var all []Candidate
	for n, t := range s.Tables {
		if column := unitKey(s, t); column != "" && protectable(t) == "" {
			direct := len(referring[n])
			weight := weightOf(n.Name)
			score := weight*(3*direct+reach(n, referring)) + weight
			all = append(all, Candidate{n, column, direct, score})
		}
	}
	slices.SortFunc(all, func(a, b Candidate) int { return cmp.Or(b.score-a.score, a.Table.Compare(b.Table)) })
	return preferWhole(s, all)
}

// preferWhole puts a table of people in front of those that have one row for some of its rows: a
// student is a person.
func preferWhole(s *introspect.Survey, all []Candidate) []Candidate {
	for range all {
		part := s.Tables[all[0].Table]
		i := slices.IndexFunc(all, func(c Candidate) bool {
			return weightOf(c.Table.Name) > 1 && slices.ContainsFunc(foreignKeys(part), func(fk catalog.ForeignKey) bool {
				return fk.References == c.Table && c.Table != part.Name && slices.Equal(fk.Columns, []string{all[0].Column})
			})
		})
		if i < 0 {
			return all
		}
		whole := all[i]
		all = slices.Insert(slices.Delete(all, i, i+1), 0, whole)
	}
	return all
}

// reach is how many tables lead to the one of that name.
func reach(n catalog.Name, referring map[catalog.Name]map[catalog.Name]bool) int {
	seen := map[catalog.Name]bool{n: true}
	for open := []catalog.Name{n}; len(open) > 0; open = open[1:] {
		for from := range referring[open[0]] {
			if !seen[from] {
				seen[from] = true
				open = append(open, from)
			}
		}
	}
	return len(seen) - 1
}

// weightOf is 3 of a name that is a word for people, 2 of one that ends with such a word, else 1.
func weightOf(name string) int {
	words := wordsOf(name)
	switch {
	case len(words) == 0 || !slices.Contains(people, singular(words[len(words)-1])):
		return 1
	case len(words) == 1:
		return 3
	}
	return 2
}

// wordsOf splits a name at underscores, blanks and capitals, into words of small letters.
func wordsOf(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// singular is an English plural's singular, as far as names of tables need it.
func singular(word string) string {
	switch {
	case word == "people":
		return "person"
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && len(word) > 3:
		return word[:len(word)-1]
	}
	return word
}

// unitName is the word for a row of the table.
func unitName(table string) string {
	words := wordsOf(table)
	if len(words) == 0 {
		return "person"
	}
	return singular(words[len(words)-1])
}

// unitKey returns the column that identifies a row and can identify a unit: the one that most foreign keys
// refer to, the primary key first; "" if there is none.
func unitKey(s *introspect.Survey, t *catalog.Table) string {
	best, most := "", -1
	for _, k := range t.Keys { // the primary key is the first
		if len(k.Columns) != 1 {
			continue
		}
		if c, ok := t.Column(k.Columns[0]); !ok || !c.NotNull || !identifies(c) {
			continue
		}
		n := 0
		for _, other := range s.Tables {
			for _, fk := range foreignKeys(other) {
				if fk.References == t.Name && slices.Equal(fk.Target, k.Columns) {
					n++
				}
			}
		}
		if n > most {
			best, most = k.Columns[0], n
		}
	}
	return best
}

// identifies reports whether a column can be the unit.
func identifies(c *catalog.Column) bool {
	fam := familyOf(c)
	return (fam == pgtype.IntFamily || fam == pgtype.TextFamily || fam == pgtype.UUIDFamily) && c.Deterministic && !c.Virtual
}

func familyOf(c *catalog.Column) pgtype.Family {
	return pgtype.OfColumn(c.Type, c.Collation, c.Deterministic).Family()
}

// foreignKeys are those that say which rows belong together, whether they hold or not.
func foreignKeys(t *catalog.Table) []catalog.ForeignKey { return slices.Concat(t.Foreign, t.Loose) }

// protectable says why the rows of a relation cannot be protected; "" if they can.
func protectable(t *catalog.Table) string {
	switch {
	case t.Kind == 'm':
		return "a materialised view holds copies of rows: ask the tables that it is made from"
	case t.Kind == 'f':
		return "a foreign table: its keys prove nothing"
	case t.Kind != 'r' && t.Kind != 'p':
		return "no table"
	case t.RowSecurity:
		return "under row security for the role that reads: grant it BYPASSRLS, or drop the policies"
	case slices.ContainsFunc(t.Stored, func(s catalog.Storage) bool { return s.Kind == 'f' }):
		return "has partitions that are foreign tables: keys and bounds are not enforced where their rows are"
	case slices.ContainsFunc(t.Stored, func(s catalog.Storage) bool { return s.Method != "heap" }):
		return "is stored by an access method of which nothing is proved"
	case t.Kind == 'r' && len(t.Children) > 0:
		return "has inheritance children, so that its keys prove nothing"
	case slices.ContainsFunc([]string{t.Name.Schema, t.Name.Name}, func(s string) bool { return strings.ContainsAny(s, `."`) }):
		return "its name cannot be written in a policy"
	}
	return ""
}
