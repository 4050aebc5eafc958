package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
)

// A Plan lists the relations that the mirror shall hold, and its analysts. It is made from the policy.
type Plan struct {
	// Protected relations get no rows and the backstop.
	Protected []Protected
	// Views over protected relations stand for their queries.
	Views []View
	// Public relations are copied with their rows, and all analysts read them.
	Public []catalog.Name
	// Withheld are the columns of public relations that are not copied, and do not exist on the mirror.
	Withheld map[catalog.Name][]string
	// Local are the tables of the local model, whose answers are on the mirror ([ShowLocal]).
	Local []Local
	// Analysts get a login role each.
	Analysts []Analyst
	// Site names the dpproxy whose mirror it is: another one's is refused, unless TakeOver is set.
	Site     string
	TakeOver bool
	// Known are relations as they were confirmed: what came since is left out (introspect.Relations).
	Known map[catalog.Name]*catalog.Table
	// Published opens the record of a published table: it returns the tables of its statement that an analyst needs a right to, none if it
	// is no record of this dpproxy.
	Published func(record string) []catalog.Name
	// keepsPublished says that the mirror has the schema of published tables.
	keepsPublished bool
	// Accept is asked whether Sync may take the schema that it has read; nil accepts what fits.
	Accept func(*catalog.Schema) error
}

// A Protected relation. Upstream comments are never copied: Comment and those of
// the columns show the policy.
type Protected struct {
	Name    catalog.Name
	Comment string
	Columns map[string]Column
	// HidesUnlisted says that the mirror has none of the columns that Columns lacks.
	HidesUnlisted bool
	// Reference says that its rows are nobody's in particular: public relations may refer to them. On the mirror they refer to nothing.
	Reference bool
	// PartitionOf is the protected relation that it is a partition of, if the policy
	// lists it as one. On the mirror it is a table of its own.
	PartitionOf catalog.Name
}

// A Local is a table of the local model. Of its rows the mirror has these columns beside answers: the key and the public ones.
type Local struct {
	Name    catalog.Name
	Columns []string
}

// A View over protected relations can be described and not read: dpproxy puts its
// query in its place.
type View struct {
	Name    catalog.Name
	Comment string
	// Shown gives the view its definition on the mirror; otherwise, and where columns are
	// hidden, the mirror has a view with the same columns that tells nothing.
	Shown bool
	// Hidden are columns that the mirror does not have, since they show hidden columns
	// of tables.
	Hidden []string
}

// whole reports whether the mirror has the definition of the view.
func (v View) whole() bool { return v.Shown && len(v.Hidden) == 0 }

// showsDefinition reports whether the mirror has the definition of the view of that name.
func showsDefinition(p Plan, view catalog.Name) bool {
	return slices.ContainsFunc(p.Views, func(v View) bool { return v.Name == view && v.whole() })
}

// A Column of a protected relation, as far as the policy speaks of it.
type Column struct {
	Comment string
	// Hidden columns do not exist on the mirror.
	Hidden bool
	// Labels are those of the column's enum type that the mirror may show. A type
	// gets the labels that any of its columns lists, in upstream order; without
	// any it is an enum without labels. AllLabels lists all of them.
	Labels    []string
	AllLabels bool
}

// An Analyst is a login role on the mirror. Only dpproxy knows the password: it is
// not the one that the analyst types, but a key of 256 bits.
type Analyst struct {
	Name, Password string
	// AsidePassword is that of the role of [AsideRole]; empty makes none.
	AsidePassword string
	// ConnectionLimit of the role; 0 is no limit.
	ConnectionLimit int
	// Settings are the role's session defaults, such as statement_timeout,
	// temp_file_limit or dp.epsilon.
	Settings map[string]string
	// Tables are the protected relations, views over them included, that the analyst
	// may name.
	Tables []catalog.Name
	// Publishes lets the analyst make tables in the schema of published tables.
	Publishes bool
}

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$`)

// names returns all relations of the plan, protected ones first.
func (p Plan) names() []catalog.Name { return append(p.barred(), p.Public...) }

// referencesOf returns the reference tables of a plan.
func referencesOf(p Plan) (names []catalog.Name) {
	for _, t := range p.Protected {
		if t.Reference {
			names = append(names, t.Name)
		}
	}
	return names
}

// tables returns those that are tables on the mirror.
func (p Plan) tables() []catalog.Name {
	var names []catalog.Name
	for _, t := range p.Protected {
		names = append(names, t.Name)
	}
	return append(names, p.Public...)
}

// local returns the tables of the local model.
func (p Plan) local() []catalog.Name {
	var names []catalog.Name
	for _, l := range p.Local {
		names = append(names, l.Name)
	}
	return names
}

// barred returns the relations that nobody may read on the mirror, views last.
func (p Plan) barred() []catalog.Name {
	var names []catalog.Name
	for _, t := range p.Protected {
		names = append(names, t.Name)
	}
	for _, v := range p.Views {
		names = append(names, v.Name)
	}
	return names
}

// kindOf says of a relation that is not public what the policy has it as.
func (p Plan) kindOf(n catalog.Name) string {
	switch {
	case slices.ContainsFunc(p.Protected, func(t Protected) bool { return t.Name == n }):
		return "which the policy protects"
	case slices.ContainsFunc(p.Views, func(v View) bool { return v.Name == n }):
		return "which is a view over protected tables in the policy"
	case slices.Contains(p.local(), n):
		return "which is of the local model in the policy"
	}
	return "which the policy does not list"
}

// check refuses a plan that contradicts itself or names relations and roles that are not ours to make.
func (p Plan) check() error {
	seen := map[catalog.Name]bool{}
	for _, n := range append(p.names(), p.local()...) {
		if seen[n] {
			return fmt.Errorf("table %v is listed twice", n)
		}
		seen[n] = true
		if slices.Contains([]string{ddl.Reserved, ddl.Records, "information_schema"}, n.Schema) || strings.HasPrefix(n.Schema, "pg_") {
			return fmt.Errorf("table %v: schema %s cannot be mirrored", n, n.Schema)
		}
	}
	roles := map[string]bool{ddl.Owner: true}
	for _, a := range p.Analysts {
		if err := a.check(p, roles); err != nil {
			return fmt.Errorf("analyst %s: %w", a.Name, err)
		}
		roles[a.Name] = true
		for _, role := range a.aside() {
			if roles[role.Name] {
				return fmt.Errorf("analyst %s: the role is reserved", role.Name)
			}
			roles[role.Name] = true
		}
	}
	return nil
}

func (a Analyst) check(p Plan, taken map[string]bool) error {
	switch {
	case taken[a.Name]:
		return fmt.Errorf("the role is listed twice or reserved")
	case a.Name == "" || a.Password == "":
		return fmt.Errorf("a name and a password are needed")
	case a.ConnectionLimit < 0:
		return fmt.Errorf("connection limit %d", a.ConnectionLimit)
	}
	for name := range a.Settings {
		if !settingName.MatchString(name) {
			return fmt.Errorf("setting name %q", name)
		}
	}
	for _, n := range a.Tables {
		if !slices.Contains(p.barred(), n) {
			return fmt.Errorf("table %v is not a protected table of the plan", n)
		}
	}
	return nil
}

// AsideSessions is how many sessions the role of [AsideRole] can have.
const AsideSessions = 2

// AsideRole names the role with which dpproxy computes values for an analyst that they may not see. It may
// log in and take the role of that analyst, and has no other right: in its sessions, text that
// undoes SET ROLE is left with less than the analyst has. The analyst can neither see its
// statements nor end them.
func AsideRole(analyst string) string {
	name := asidePrefix + analyst
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(analyst))
	return asidePrefix + hex.EncodeToString(sum[:16])
}

const asidePrefix = "dpproxy_aside_"

// maxName is the length of the longest name that Postgres keeps whole.
const maxName = 63

// aside is that role as a login, nil for a plan without views.
func (a Analyst) aside() []Analyst {
	if a.AsidePassword == "" {
		return nil
	}
	return []Analyst{{Name: AsideRole(a.Name), Password: a.AsidePassword, ConnectionLimit: AsideSessions}}
}
