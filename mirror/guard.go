package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/steady"
)

// Check refuses the schemas of the real database that [Sync] refuses, and changes nothing: relations
// that are missing, and those that the rules of ownership cannot hold for.
func Check(ctx context.Context, upstream *pgx.Conn, plan Plan) error {
	from, err := steady.Open(ctx, upstream, plan.names())
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	defer from.Rollback(ctx)
	if _, err := plan.fit(ctx, from); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// fit reads the schema of a real database that the plan fits.
func (p Plan) fit(ctx context.Context, tx pgx.Tx) (*catalog.Schema, error) {
	schema, err := p.read(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := complete(schema, p.names()); err != nil {
		return nil, err
	}
	if err := p.guard(ctx, tx, schema); err != nil || p.Accept == nil {
		return schema, err
	}
	return schema, p.Accept(schema)
}

// guard refuses relations that the rules of ownership cannot hold for.
func (p Plan) guard(ctx context.Context, tx pgx.Tx, s *catalog.Schema) error {
	var faults []error
	for _, t := range p.Protected {
		if why := unfitProtected(s.Tables[t.Name]); why != "" {
			faults = append(faults, fmt.Errorf("protected table %v %s", t.Name, why))
		}
	}
	for _, n := range p.Public {
		if why := unfitPublic(s.Tables[n]); why != "" {
			faults = append(faults, fmt.Errorf("public table %v %s", n, why))
		}
	}
	for _, problem := range p.Problems(s) {
		faults = append(faults, fmt.Errorf("%v: %s", problem.Table, problem.Message))
	}
	derived, err := derived(ctx, tx, p, s)
	for _, d := range derived {
		faults = append(faults, d)
	}
	return errors.Join(append(slices.Clip(faults), err)...)
}

func unfitProtected(t *catalog.Table) string {
	switch {
	case t.Kind == 'm':
		return "is a materialised view: name the tables it is made from"
	case t.Kind == 'f':
		return "is a foreign table"
	case t.RowSecurity:
		return "is under row security for the reader: grant the reading role BYPASSRLS, or drop the policies"
	case t.Kind == 'r' && len(t.Children) > 0:
		return fmt.Sprintf("has inheritance children (%v): keys of the table do not hold for them", t.Children[0])
	}
	return ""
}

func unfitPublic(t *catalog.Table) string {
	switch {
	case t.Kind == 'f':
		return "is a foreign table"
	case t.RowSecurity:
		return "is under row security for the reader: some of its rows would be missing"
	}
	return ""
}

// A Problem is a relation of the real database that is of another kind than the plan takes it for.
type Problem struct {
	Table catalog.Name
	// Key is the key of the policy that says so: view or partitions.
	Key     string
	Message string
}

// Problems compares the views and the partitions of the plan with the schema that [Plan.Read]
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
		switch {
		case slices.Contains(p.local(), n):
			return fmt.Sprintf("the view reads %v, which is of the local model: no statement can name it", n)
		case !slices.Contains(p.names(), n):
			return fmt.Sprintf("the view reads %v, which is not in the policy", n)
		}
		protected = protected || slices.Contains(p.barred(), n)
	}
	if !protected {
		return "the view reads nothing protected: say public: true instead"
	}
	return ""
}
