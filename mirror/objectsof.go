package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// This file binds tables of answers, and copied rows, to the tables of the real database whose objects and partitions they show. A table
// of answers is made by the dpproxy that has the answers, and not by Sync, but for what the record of the mirror says.

// ofObjects reports whether it is a column of objects that a plan with these local tables permits beside answers.
func (x showing) ofObjects(local []Local) bool {
	return slices.ContainsFunc(local, func(l Local) bool {
		return x.of == catalog.Name{Schema: LocalSchema, Name: l.Name.Name} && (x.objects == "" || x.objects == l.Name.String()) &&
			slices.Contains(l.Columns, x.label)
	})
}

// objectsIn returns what a record has of the table that the objects beside answers are of, nil if it has none.
func (x showing) objectsIn(was *catalog.Schema) *catalog.Table {
	for n, t := range was.Local {
		if n.String() == x.objects {
			return t
		}
	}
	return nil
}

// ofOthers describes a column of objects of another table than its name stands for by now, or another column of it; empty if there is no
// other.
func (x showing) ofOthers(was *catalog.Schema, now Origins) string {
	t := x.objectsIn(was)
	if t == nil {
		return ""
	}
	if became := now.relation(t, false); became != "" {
		return fmt.Sprintf("objects in %v of %v, %s", x.of, t.Name, became)
	}
	if c, ok := t.Column(x.label); ok && now.renamedColumn(t, *c) {
		return fmt.Sprintf("column %q of objects in %v, which has another name in the real database by now", x.label, x.of)
	}
	return ""
}

// within describes rows of a partition, of which the plan says something else by the name that the partition has by now: it may have been
// detached since its rows were copied with those of its table. It is empty if there are none.
func (x showing) within(p Plan, was *catalog.Schema, now Origins) string {
	var t *catalog.Table
	switch x.kind {
	case "rows":
		t = was.Tables[x.of]
	case "answers":
		t = x.objectsIn(was)
	}
	if t == nil {
		return ""
	}
	for i := range t.Children {
		child := now.child(t, i)
		switch {
		case !slices.Contains(p.barred(), child) && !slices.Contains(p.local(), child):
		case x.kind == "answers":
			return fmt.Sprintf("objects in %v of %v, %s", x.of, child, p.kindOf(child))
		default:
			return fmt.Sprintf("rows of %v, %s, with those of %v", child, p.kindOf(child), x.of)
		}
	}
	return ""
}

// withFormer adds to local tables the partitions that they had by a record: objects of these have answered, too.
func (r confirmation) withFormer(local map[catalog.Name]*catalog.Table) {
	for n, t := range local {
		was := r.local(n.String())
		if was == nil {
			continue
		}
		for i, oid := range was.ChildOIDs {
			if !slices.Contains(t.ChildOIDs, oid) {
				t.Children, t.ChildOIDs = append(t.Children, was.Children[i]), append(t.ChildOIDs, oid)
			}
		}
	}
}

// sameColumns reports whether two are the same table with the same shown columns.
func sameColumns(was, is *catalog.Table) bool {
	same := func(a, b catalog.Column) bool { return a.Name == b.Name && a.Number == b.Number }
	return was.OID == is.OID && slices.EqualFunc(was.Columns, is.Columns, same)
}

// ErrMadeForAnother says that the mirror was made for another policy than that of a table of answers, or from another table.
var ErrMadeForAnother = errors.New("the last dpproxy sync made the mirror for another policy, or from another table")

// permitAnswers refuses a table of answers that the record of the mirror has otherwise, or not at all: the dpproxy that shows it may have
// been started before the last Sync.
func permitAnswers(ctx context.Context, tx pgx.Tx, t LocalTable) error {
	r, err := recordOf(ctx, tx)
	if err != nil || r.Local == nil {
		return err // an earlier version has not noted it
	}
	if was := r.local(t.Of.Name.String()); was == nil || !sameColumns(was, t.Of) {
		return ErrMadeForAnother
	}
	return nil
}

// dropAnswers drops the tables of answers that show more of their objects than the plan permits, or objects of other tables than the
// schema has by now. The dpproxy that has the answers shows them anew.
func dropAnswers(
	ctx context.Context, tx pgx.Tx, p Plan, all []showing, was confirmation, s *catalog.Schema, now Origins, report func(string),
) error {
	dropped := map[catalog.Name]bool{}
	for _, x := range all {
		if x.kind != "answers" || dropped[x.of] {
			continue
		}
		if x.ofObjects(p.Local) {
			before, is := was.local(x.objects), x.objectsIn(s)
			if before != nil && is != nil && sameColumns(before, is) && x.within(p, s, now) == "" {
				continue
			}
		}
		dropped[x.of] = true
		if _, err := tx.Exec(ctx, "DROP TABLE "+quote.Name(x.of)+" CASCADE"); err != nil {
			return err
		}
		report(fmt.Sprintf("drop the answers %v: they show columns or objects that are not those of the policy", x.of))
	}
	return nil
}
