package mirror

import (
	"maps"
	"slices"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
)

// objects returns everything that stands on the mirror, in the order in which it is made: s is the
// schema as the mirror shows it, without hidden columns and with stand-ins.
func (p Plan) objects(s *catalog.Schema, database string) ([]ddl.Object, error) {
	labels, err := shownLabels(p, s)
	if err != nil {
		return nil, err
	}
	return slices.Concat(
		roles(p.Analysts), ddl.Backstop(), ddl.State(), publication(p),
		schemas(p, s), collations(p, s), ddl.Types(s.Types, labels), tables(p, s), foreignKeys(p, s), views(p, s),
		comments(p, s), grants(p, s, database),
	), nil
}

// roles are those of the analysts, each with the one beside it.
func roles(analysts []Analyst) (objects []ddl.Object) {
	for _, a := range analysts {
		objects = append(objects, ddl.Role(a.Name))
		for _, beside := range a.aside() {
			objects = append(objects, ddl.MemberRole(beside.Name, a.Name))
		}
	}
	return objects
}

// publication is the schema of published tables.
func publication(p Plan) []ddl.Object {
	if !p.keepsPublished {
		return nil
	}
	return ddl.Publication()
}

func schemas(p Plan, s *catalog.Schema) (objects []ddl.Object) {
	for _, name := range schemaNames(p, s) {
		if name != "public" { // every database has it
			objects = append(objects, ddl.Schema(name))
		}
	}
	return objects
}

// schemaNames are those of all relations, types and collations.
func schemaNames(p Plan, s *catalog.Schema) []string {
	names := slices.AppendSeq(p.names(), maps.Keys(s.Types))
	for _, l := range usedCollations(p, s) {
		names = append(names, l.Name)
	}
	schemas := map[string]bool{}
	for _, n := range names {
		schemas[n.Schema] = true
	}
	delete(schemas, "pg_catalog")
	delete(schemas, ddl.Reserved)
	delete(schemas, ddl.Records)
	return slices.Sorted(maps.Keys(schemas))
}

func collations(p Plan, s *catalog.Schema) (objects []ddl.Object) {
	for _, l := range usedCollations(p, s) {
		objects = append(objects, ddl.Collation(l))
	}
	return objects
}

// usedCollations returns those that columns of the plan's relations have.
func usedCollations(p Plan, s *catalog.Schema) []*catalog.Collation {
	used := map[catalog.Name]*catalog.Collation{}
	for _, n := range p.names() {
		for _, c := range s.Tables[n].Columns {
			if l := s.Collations[c.Collation]; l != nil {
				used[l.Name] = l
			}
		}
	}
	var list []*catalog.Collation
	for _, n := range slices.SortedFunc(maps.Keys(used), catalog.Name.Compare) {
		list = append(list, used[n])
	}
	return list
}

func tables(p Plan, s *catalog.Schema) (objects []ddl.Object) {
	for _, t := range p.Protected {
		objects = append(objects, ddl.Table(s.Tables[t.Name], s, true))
	}
	for _, n := range p.Public {
		objects = append(objects, ddl.Table(s.Tables[n], s, false))
	}
	return objects
}

func foreignKeys(p Plan, s *catalog.Schema) (objects []ddl.Object) {
	for _, n := range p.tables() {
		objects = append(objects, ddl.ForeignKeys(withMatches(p, s.Tables[n]), s)...)
	}
	return objects
}

// withMatches is a table without the foreign keys that its rows on the mirror break: those of public rows to reference tables, which have
// none there.
func withMatches(p Plan, t *catalog.Table) *catalog.Table {
	if !slices.Contains(p.Public, t.Name) {
		return t
	}
	rest := *t
	rest.Foreign = slices.DeleteFunc(slices.Clone(t.Foreign), func(f catalog.ForeignKey) bool {
		return slices.Contains(referencesOf(p), f.References)
	})
	return &rest
}

// views are the views of the plan, each after those that it reads.
func views(p Plan, s *catalog.Schema) (objects []ddl.Object) {
	for _, v := range p.Views {
		objects = append(objects, ddl.View(s.Tables[v.Name], s, v.whole()))
	}
	return ddl.AfterNeeds(objects)
}

// comments show the policy, and tell of the views of dp.
func comments(p Plan, s *catalog.Schema) (objects []ddl.Object) {
	for _, t := range p.Protected {
		columns := map[string]string{}
		for name, c := range t.Columns {
			columns[name] = c.Comment
		}
		objects = append(objects, ddl.TableComments(s.Tables[t.Name], t.Comment, columns))
	}
	for _, v := range p.Views {
		objects = append(objects, ddl.ViewComment(v.Name, v.Comment))
	}
	return append(objects, ddl.StateComments()...)
}

// grants let each analyst connect, make temporary tables, use the schemas, read the views of dp,
// the named protected tables and the public ones, and nothing else. The role beside theirs may
// connect.
func grants(p Plan, s *catalog.Schema, database string) (objects []ddl.Object) {
	schemas := append(schemaNames(p, s), ddl.Reserved)
	if p.keepsPublished {
		schemas = append(schemas, ddl.Published)
	}
	slices.Sort(schemas)
	for _, a := range p.Analysts {
		objects = append(objects, ddl.GrantSession(a.Name, database))
		for _, schema := range schemas {
			objects = append(objects, ddl.GrantUsage(a.Name, schema))
		}
		if a.Publishes {
			objects = append(objects, ddl.GrantPublish(a.Name))
		}
		for _, n := range ddl.StateViews() {
			objects = append(objects, ddl.GrantRead(a.Name, n, ddl.ViewKey(n)))
		}
		for _, n := range slices.Concat(a.Tables, p.Public) {
			objects = append(objects, ddl.GrantRead(a.Name, n, ddl.RelationKey(n, s)))
		}
		for _, beside := range a.aside() {
			objects = append(objects, ddl.GrantConnect(beside.Name, database))
		}
	}
	return objects
}
