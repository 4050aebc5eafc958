package mirror

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// A Problem is a relation of the real database that is not what the plan takes it for.
type Problem struct {
	Table catalog.Name
	// Key is the key of the policy that says so: view or partitions.
	Key     string
	Message string
}

// Problems compares the views and the partitions of the plan with what [Plan.Read]
// read. A view that names a relation of which the policy says nothing could show rows
// of anybody.
func (p Plan) Problems(s *catalog.Schema) []Problem {
	var found []Problem
	for _, t := range p.Protected {
		if t.PartitionOf == (catalog.Name{}) {
			continue
		}
		if has := s.Tables[t.Name]; has == nil || has.PartitionOf != t.PartitionOf {
			found = append(found, Problem{t.PartitionOf, "partitions", fmt.Sprintf("%v is no partition of %v", t.Name, t.PartitionOf)})
		}
	}
	for _, v := range p.Views {
		if why := p.unfitView(s.Tables[v.Name]); why != "" {
			found = append(found, Problem{v.Name, "view", why})
		}
	}
	return found
}

func (p Plan) unfitView(v *catalog.Table) string {
	switch {
	case v == nil:
		return "the view does not exist in the database, or may not be read"
	case v.Kind == 'm':
		return "this is a materialised view, whose rows are copies: name the tables it is made from"
	case v.Kind != 'v':
		return "this is no view"
	}
	protected := false
	for _, n := range v.Reads {
		if !slices.Contains(p.names(), n) {
			return fmt.Sprintf("the view reads %v, which is not in the policy", n)
		}
		protected = protected || slices.Contains(p.barred(), n)
	}
	if !protected {
		return "the view reads nothing protected: say public: true instead"
	}
	return ""
}

func viewKey(n catalog.Name) key { return key{"view", n.String()} }

// relationKey is the key of the object that a relation of the plan is.
func (p Plan) relationKey(n catalog.Name) key {
	if slices.ContainsFunc(p.Views, func(v View) bool { return v.Name == n }) {
		return viewKey(n)
	}
	return tableKey(n)
}

// viewObjects are the views of the plan, each after those that it reads.
func (p Plan) viewObjects(s *catalog.Schema) []object {
	var objects []object
	for _, v := range p.Views {
		objects = append(objects, p.viewObject(v, s.Tables[v.Name], s))
	}
	return afterNeeds(objects)
}

// viewObject is a view with the columns of t. Either way it runs with the rights of
// whoever reads it, so that the row security of what it reads holds for him too.
func (p Plan) viewObject(v View, t *catalog.Table, s *catalog.Schema) object {
	name := quote.Name(v.Name)
	o := object{key: viewKey(v.Name), needs: []key{protectedFunction}}
	var columns, shape []string
	for _, c := range t.Columns {
		columns, shape = append(columns, c.Name), append(shape, c.Name+" "+c.Type.Display)
		o.needs = append(o.needs, neededBy(c, s)...)
	}
	query := stubSQL(t)
	if v.Shown && len(v.Hidden) == 0 {
		query = t.View
		for _, n := range t.Reads {
			o.needs = append(o.needs, p.relationKey(n))
		}
	}
	as := func(query string) string {
		return fmt.Sprintf("CREATE VIEW %s (%s) WITH (security_invoker = true) AS\n%s;\nALTER VIEW %s OWNER TO %s;\n",
			name, quote.Idents(columns), query, name, Owner)
	}
	o.create = as(query)
	if v.Shown {
		o.otherwise, o.loss = as(stubSQL(t)), "its definition is not shown"
	}
	o.drop = fmt.Sprintf("DROP VIEW %s CASCADE", name)
	o.state = fmt.Sprintf(`SELECT c.relowner::regrole::text, c.reloptions @> '{security_invoker=true}'
			AND %[2]s = coalesce((SELECT string_agg(format('%%s %%s', attname, format_type(atttypid, atttypmod)), E'\n' ORDER BY attnum)
				FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped), '')
		FROM pg_class c WHERE c.oid = to_regclass(%[1]s) AND c.relkind = 'v'`, quote.Literal(name), quote.Literal(strings.Join(shape, "\n")))
	return o
}

// stubSQL is a query with the columns of a view that tells nothing of the view's own:
// that may hold constants, and names of tables and columns, that no analyst shall see.
// Its condition is what the row security of a protected table calls: the planner
// evaluates it, so that the query can be described and not read.
func stubSQL(t *catalog.Table) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = "CAST(NULL AS " + c.Type.Display + ")"
		if c.Collation != (catalog.Name{}) {
			columns[i] += " COLLATE " + quote.Name(c.Collation)
		}
	}
	return fmt.Sprintf("SELECT %s\nWHERE dp.protected(%s)", strings.Join(columns, ", "), quote.Literal(t.Name.String()))
}

// commentObject says on the mirror what the policy says of a view.
func (v View) commentObject() object {
	name := quote.Name(v.Name)
	return object{
		key: key{"comments", v.Name.String()}, needs: []key{viewKey(v.Name)},
		create: fmt.Sprintf("COMMENT ON VIEW %s IS %s;\n", name, quote.Literal(v.Comment)),
		state: fmt.Sprintf(`SELECT relowner::regrole::text, coalesce(obj_description(oid, 'pg_class'), '') = %s
			FROM pg_class WHERE oid = to_regclass(%s)`, quote.Literal(v.Comment), quote.Literal(name)),
	}
}
