package suggest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// YAML is the policy, with a comment wherever something is still to be said.
func (d *Draft) YAML() string {
	w := &writer{d: d}
	w.head()
	w.line(0, "")
	w.line(0, "tables:")
	for _, t := range d.Tables {
		w.table(t)
	}
	for _, n := range d.Views {
		w.line(1, "%s: {view: true}", name(n))
	}
	for _, n := range d.Public {
		w.line(1, "%s: {public: true}", name(n))
	}
	w.unrelated()
	w.ambiguous()
	w.leftOut()
	w.analyst()
	return w.b.String()
}

type writer struct {
	d *Draft
	b strings.Builder
}

func (w *writer) line(depth int, format string, args ...any) {
	w.b.WriteString(strings.TrimRight(strings.Repeat("  ", depth)+fmt.Sprintf(format, args...), " ") + "\n")
}

func (w *writer) head() {
	s := w.d.choices.Service
	w.line(0, "# A first policy for the database %s, from its catalogue alone: dpproxy has read no row. What this file says",
		oneLine(w.d.survey.Database))
	w.line(0, "# is what is protected: read it line by line. What is not in it does not exist for analysts.")
	w.line(0, "")
	w.line(0, "listen: %s", scalar(s.Listen))
	w.line(0, "data: %s", scalar(s.Data))
	w.line(0, "# A Postgres of its own, for what analysts may see; it gets none of the protected rows.")
	w.line(0, "mirror: %s", scalar(s.Mirror))
	w.line(0, "ledger: {dir: %s}", scalar(s.Ledger))
	w.line(0, "")
	w.line(0, "# The guarantee: what all analysts together may ever learn of one %s.", oneLine(w.d.UnitName))
	w.line(0, "privacy_unit:")
	w.line(1, "name: %s", scalar(w.d.UnitName))
	w.line(1, "# units: ? about how many there are, if everybody may know; say it where they are few")
	w.line(1, "budget: {epsilon: %s, delta: 1e-6}", w.d.choices.Epsilon)
}

func (w *writer) table(t *Table) {
	n := t.Source.Name
	if t.Distance == 0 {
		w.line(1, "# A row for each %s: %s.", oneLine(w.d.UnitName), tablesRefer(w.d.Unit.Referring))
	}
	w.line(1, "%s:", name(n))
	if t.Unit != "" {
		w.line(2, "unit: %s", scalar(t.Unit))
	} else {
		w.line(2, "unit: %s", t.path())
	}
	if ends := w.d.nobody(t); ends != "" {
		w.line(2, "# Rows that belong to no %s are left out of every answer: %s.", oneLine(w.d.UnitName), oneLine(ends))
		if countable(t) {
			w.line(2, "# nobody: rows would count them: of each the row is protected, not a person.")
		}
	}
	switch rows := w.d.choices.Rows[n]; {
	case t.OnePerUnit:
	case rows == "" || rows == "auto":
		w.line(2, "max_rows_per_group: auto")
	default:
		w.line(2, "max_rows_per_group: %s", rows)
		w.line(2, "max_groups_contributed: 1")
	}
	if t.NotProtected != nil {
		w.line(2, "not_protected: [%s] # the people behind: a row protects one %s", strings.Join(quoted(t.NotProtected), ", "),
			oneLine(w.d.UnitName))
	}
	if len(t.Source.Children) > 0 {
		w.line(2, "# partitions: ? analysts may ask about the whole; name those that they may ask about alone: [%s]",
			firstOf(t.Source.Children))
	}
	w.line(2, "columns:")
	for _, c := range t.Columns {
		note := c.Note
		if note != "" {
			note = " # " + oneLine(note)
		}
		w.line(3, "%s: %s%s", scalar(c.Source.Name), c.Policy, note)
	}
}

// path writes a way through another table.
func (t *Table) path() string {
	if len(t.Via) > 1 {
		return fmt.Sprintf("{via: [%s], to: %s}", strings.Join(quoted(t.Via), ", "), scalar(shortName(t.To)))
	}
	return fmt.Sprintf("{via: %s, to: %s}", scalar(t.Via[0]), scalar(shortName(t.To)+"."+t.At[0]))
}

func tablesRefer(n int) string {
	switch n {
	case 0:
		return "no table refers to it"
	case 1:
		return "a table refers to it"
	}
	return fmt.Sprintf("%d tables refer to it", n)
}

func firstOf(names []catalog.Name) string {
	var list []string
	for _, n := range names[:min(len(names), 3)] {
		list = append(list, oneLine(shortName(n)))
	}
	if len(names) > 3 {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}

func (w *writer) unrelated() {
	if len(w.d.Unrelated) == 0 {
		return
	}
	w.line(0, "")
	w.line(1, "# public: ? No foreign key leads from these to a %s. The rows of a public table are copied to the mirror, for all",
		oneLine(w.d.UnitName))
	w.line(1, "# analysts to read. Are they nobody's secret? Then take the # away.")
	for _, n := range w.d.Unrelated {
		w.line(1, "# %s: {public: true}%s", name(n), w.personal(n))
	}
}

// personal warns of columns that are called as those of people are.
func (w *writer) personal(n catalog.Name) string {
	var found []string
	for _, c := range w.d.survey.Tables[n].Columns {
		if words := wordsOf(c.Name); slices.ContainsFunc(words, func(word string) bool { return slices.Contains(personal, word) }) {
			found = append(found, oneLine(c.Name))
		}
	}
	if found == nil {
		return ""
	}
	return " # it has " + strings.Join(found, ", ") + ": are these people?"
}

// personal are words that columns about people are called by.
var personal = []string{
	"address", "birth", "birthdate", "birthday", "born", "email", "forename", "iban", "mail", "phone", "salary", "ssn", "surname",
}

func (w *writer) ambiguous() {
	for _, a := range w.d.Ambiguous {
		w.line(0, "")
		w.line(1, "# unit: ? A row of %s refers to several rows of people, by %s. It can protect one %s:",
			oneLine(shortName(a.Table)), alternatives(a.Columns), oneLine(w.d.UnitName))
		w.line(1, "# choose, and the others behind not_protected are knowingly not protected by this table's rows; or leave it out.")
		for _, way := range a.Ways {
			t := &Table{Way: way}
			unit := scalar(way.Unit)
			if way.Unit == "" {
				unit = t.path()
			}
			w.line(1, "# %s: {unit: %s, not_protected: [%s]}", name(a.Table), unit, strings.Join(quoted(a.without(way)), ", "))
		}
	}
}

// without are the columns of the other ways.
func (a Ambiguity) without(w Way) []string {
	var others []string
	for _, columns := range a.Columns {
		for _, c := range columns {
			if c != w.Unit && !slices.Contains(w.Via, c) && !slices.Contains(others, c) {
				others = append(others, c)
			}
		}
	}
	return others
}

func alternatives(columns [][]string) string {
	var all []string
	for _, list := range columns {
		all = append(all, oneLine(strings.Join(list, ", ")))
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

func (w *writer) leftOut() {
	var lines []string
	for _, n := range slices.SortedFunc(maps.Keys(w.d.LeftOut), catalog.Name.Compare) {
		if why := w.d.LeftOut[n]; why != "" {
			lines = append(lines, oneLine(shortName(n)+": "+why))
		}
	}
	for _, n := range w.d.survey.Unreadable {
		lines = append(lines, oneLine(shortName(n)+": the role may not read it (GRANT SELECT)"))
	}
	if lines == nil {
		return
	}
	w.line(0, "")
	w.line(1, "# Left out:")
	for _, l := range lines {
		w.line(1, "# %s", l)
	}
}

func (w *writer) analyst() {
	s := w.d.choices.Service
	var names []string
	for _, t := range w.d.Tables {
		names = append(names, scalar(shortName(t.Source.Name)))
	}
	for _, n := range w.d.Views {
		names = append(names, scalar(shortName(n)))
	}
	w.line(0, "")
	mark, analyst, verifier := "# ", "ana", "SCRAM-SHA-256$..."
	if s.Analyst != "" {
		mark, analyst, verifier = "", scalar(s.Analyst), scalar(s.Verifier)
	} else {
		w.line(0, "# Nobody can log in yet: dpproxy verifier makes what stands for a password here.")
	}
	w.line(0, "%sanalysts:", mark)
	w.line(0, "%s  %s:", mark, analyst)
	w.line(0, "%s    password: %s", mark, verifier)
	w.line(0, "%s    tables: [%s]", mark, strings.Join(names, ", "))
}

// name writes a relation's name as a key.
func name(n catalog.Name) string { return scalar(shortName(n)) }

var (
	plain    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.$/:@=?&%+-]*$|^/[A-Za-z0-9_./-]*$|^[0-9.]+:[0-9]+$`)
	reserved = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
)

// scalar writes a text so that YAML reads that text.
func scalar(s string) string {
	if plain.MatchString(s) && !slices.Contains(reserved, strings.ToLower(s)) && !strings.HasSuffix(s, ":") {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be encoded
	return strings.TrimSpace(b.String())
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = scalar(s)
	}
	return out
}

// oneLine keeps a text inside a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) || r == 0x2028 || r == 0x2029 || r == 0x85 {
			return ' '
		}
		return r
	}, s)
}
