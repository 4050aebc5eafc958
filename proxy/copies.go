package proxy

import (
	"slices"

	"dpproxy/planner"
	"dpproxy/proxy/reader"
	"dpproxy/wire"
)

// outdated names the public tables whose copies on the mirror may decide the answer, and that have other rows by now. Groups, and public
// rows that stand as constants in what is read (constants), are those of the copies.
func outdated(d *reader.Data, plan *planner.Plan, constants bool) (names []string) {
	used := planner.Copied(plan)
	for _, n := range d.Outdated() {
		if constants || slices.Contains(used, n) {
			names = append(names, plan.Untold.Name(n))
		}
	}
	return names
}

// newerRows says in a few words what an old copy of a table leaves out.
func newerRows(table string) string {
	return "rows that meet newer ones of " + table + " than its copy has"
}

// olderCopy says it in a sentence.
func olderCopy(table string) string {
	return table + " has changed since it was copied: rows that meet its newer ones can be in no group, and what they add is in no error " +
		"(dpproxy sync copies them)"
}

// age adds what old copies of tables leave out.
func (a *account) age(tables []string) {
	for _, t := range tables {
		a.outside, a.leftOut = append(a.outside, newerRows(t)), append(a.leftOut, olderCopy(t)+".")
	}
}

// aged tells of an answer that is known without reading a row that it is by old copies of tables.
func aged(tables []string) (all []wire.Notice) {
	for _, t := range tables {
		all = append(all, wire.Notice{Code: "00000", Message: leftOutBegins + newerRows(t)})
	}
	return all
}
