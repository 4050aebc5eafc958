package history

import "dpproxy/accountant"

// The JSON of what a policy says of budgets, of decisions about their names, and of tables.
type policyJSON struct {
	Limits []amount   `json:"limits"`
	Links  []linkJSON `json:"links,omitempty"`
}

type linkJSON struct {
	Kind  string    `json:"kind"`
	Name  string    `json:"name"`
	Table tableJSON `json:"table"`
}

type tableJSON struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
}

type renameJSON struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	ToKind string `json:"to_kind"`
	ToName string `json:"to_name"`
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

type retireJSON struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

func toTables(all []accountant.Table) (tables []tableJSON) {
	for _, t := range all {
		tables = append(tables, tableJSON(t))
	}
	return tables
}

func tablesIn(all []tableJSON) (tables []accountant.Table) {
	for _, t := range all {
		tables = append(tables, accountant.Table(t))
	}
	return tables
}

func toPolicy(e PolicyEntry) *policyJSON {
	j := &policyJSON{Limits: []amount{}}
	for _, l := range e.Limits {
		j.Limits = append(j.Limits, toAmount(l.Scope, l.Loss))
	}
	for _, l := range e.Links {
		j.Links = append(j.Links, linkJSON{string(l.Scope.Kind), l.Scope.Name, tableJSON(l.Table)})
	}
	return j
}

func (j *policyJSON) policy() (e PolicyEntry, err error) {
	limits, err := toDebits(j.Limits)
	for _, l := range limits {
		e.Limits = append(e.Limits, accountant.Limit(l))
	}
	for _, l := range j.Links {
		e.Links = append(e.Links, l.link())
	}
	return e, err
}

func (l linkJSON) link() accountant.Link {
	return accountant.Link{
		Scope: accountant.Scope{Kind: accountant.ScopeKind(l.Kind), Name: l.Name}, Table: accountant.Table(l.Table),
	}
}

// namesJSON is what a snapshot has of the names of budgets; nothing of it before the format was raised.
type namesJSON struct {
	Format  int          `json:"format,omitempty"`
	Ruled   bool         `json:"ruled,omitempty"`
	Links   []linkJSON   `json:"links,omitempty"`
	Renamed []formerJSON `json:"renamed,omitempty"`
	Kept    []scopeJSON  `json:"kept,omitempty"`
}

type scopeJSON struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type formerJSON struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Now  string `json:"now"`
}
