package mirror

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// digest is of everything that Sync derives from the policy: the kind of each relation, the columns, definitions and labels that
// analysts see, and who may name what. Passwords, settings and comments change nothing that is shown.
func digest(p Plan) string {
	type relation struct {
		Kind       string
		Hidden     []string
		Definition bool
		Labels     map[string][]string
		AllLabels  []string
		Columns    []string `json:",omitempty"` // of the local model
	}
	all := map[string]relation{}
	for _, t := range p.Protected {
		r := relation{Kind: "protected", Hidden: p.hidden(t.Name), Labels: map[string][]string{}}
		for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
			if c := t.Columns[name]; c.AllLabels {
				r.AllLabels = append(r.AllLabels, name)
			} else if c.Labels != nil {
				r.Labels[name] = c.Labels
			}
		}
		all[t.Name.String()] = r
	}
	for _, v := range p.Views {
		all[v.Name.String()] = relation{Kind: "view", Hidden: v.Hidden, Definition: v.whole()}
	}
	for _, n := range p.Public {
		all[n.String()] = relation{Kind: "public", Hidden: p.hidden(n)}
	}
	for _, l := range p.Local {
		all[l.Name.String()] = relation{Kind: "local", Columns: l.Columns}
	}
	grants := map[string][]string{}
	for _, a := range p.Analysts {
		tables := []string{}
		for _, n := range a.Tables {
			tables = append(tables, n.String())
		}
		slices.Sort(tables)
		grants[a.Name] = tables
	}
	text, _ := json.Marshal([]any{all, grants}) // maps and strings have JSON, and the keys of maps are sorted
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
