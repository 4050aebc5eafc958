package ddl

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"dpproxy/mirror/quote"
)

// Owner is the role that owns everything on the mirror. It cannot log in and is
// neither superuser nor BYPASSRLS.
const Owner = "dpproxy_owner"

// Reserved is the schema of dpproxy's own functions and views on the mirror.
const Reserved = "dp"

// Records begins the comments on the large objects in which dpproxy keeps what it has made. It was the schema of tables in which earlier
// versions kept that, and is no schema of a mirror.
const Records = "dpproxy"

// A Kind is one of the kinds of objects; reports and the record of what was made have its text.
type Kind string

// The kinds of objects.
const (
	KindRole       Kind = "role"
	KindFunction   Kind = "function"
	KindSchema     Kind = "schema"
	KindCollation  Kind = "collation"
	KindType       Kind = "type"
	KindTable      Kind = "table"
	KindForeignKey Kind = "foreign key"
	KindView       Kind = "view"
	KindComments   Kind = "comments"
	KindGrant      Kind = "grant"
	// KindEventTrigger looks at what commands have made.
	KindEventTrigger Kind = "event trigger"
)

// A Key identifies an object of the mirror.
type Key struct {
	Kind Kind
	Name string
}

// String writes the key for reports.
func (k Key) String() string { return string(k.Kind) + " " + k.Name }

// An Object is something that stands on the mirror.
type Object struct {
	Key
	// Create and Drop are scripts of one or several statements. Without Drop it goes with an
	// object that it needs.
	Create, Drop string
	// State selects (owner text, sound boolean), or no row if there is no such object. An owner
	// other than [Owner] means that it is not ours.
	State string
	// Needs are objects that are made before it. It is made anew with each of them.
	Needs []Key
	// Adopt keeps an existing object that is ours although the database has no record of it: roles
	// belong to the whole server.
	Adopt bool
	// Otherwise is made where the server cannot make Create, for want of something that is not
	// installed; Loss names the consequence.
	Otherwise, Loss string
	// Share is set of a grant to one role of many, which are looked up and made together.
	Share *Share
	// Among is set of an object whose state is selected with those of others at once.
	Among *Among
	// Beside are made after Create where the server can make them.
	Beside []Definition
}

// A Share is a privilege of one role. Postgres keeps the roles that have it in one list, which each GRANT reads and writes whole.
type Share struct {
	Privilege, Role string
	// Roles selects the names of the roles that have it.
	Roles string
}

// Among is the row of one object in a query of the states of many.
type Among struct {
	// Query selects (place, owner text, sound boolean) for rows of VALUES that are written in place of %s.
	Query string
	// Row is that of the object, behind its place.
	Row string
}

// state is the query for this object alone.
func (a *Among) state() string {
	return "SELECT s.owner, s.sound FROM (" + fmt.Sprintf(a.Query, "(0, "+a.Row+")") + ") AS s (place, owner, sound)"
}

// GrantTo gives a privilege to several roles.
func GrantTo(privilege string, roles []string) string {
	quoted := make([]string, len(roles))
	for i, role := range roles {
		quoted[i] = quote.Ident(role)
	}
	return fmt.Sprintf("GRANT %s TO %s", privilege, strings.Join(quoted, ", "))
}

// A Definition is a script for something of that name.
type Definition struct{ Name, Script string }

// Digest of the scripts, as it is recorded of what was made.
func (o Object) Digest() string {
	scripts := []string{o.Create, o.Drop}
	for _, d := range o.Beside {
		scripts = append(scripts, d.Script)
	}
	sum := sha256.Sum256([]byte(strings.Join(scripts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// AfterNeeds orders objects so that each comes after those it needs, which must not be circular,
// and keeps their order otherwise.
func AfterNeeds(objects []Object) []Object {
	var sorted []Object
	placed := map[Key]bool{}
	var place func(o Object)
	place = func(o Object) {
		if placed[o.Key] {
			return
		}
		placed[o.Key] = true
		for _, need := range o.Needs {
			if i := slices.IndexFunc(objects, func(other Object) bool { return other.Key == need }); i >= 0 {
				place(objects[i])
			}
		}
		sorted = append(sorted, o)
	}
	for _, o := range objects {
		place(o)
	}
	return sorted
}
