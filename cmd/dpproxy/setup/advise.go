package setup

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"dpproxy/advice"
	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/listing"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
	"dpproxy/planner/policy"
)

// Advise prints advice for fast reads of the protected tables.
type Advise struct {
	Policy string `arg:"" help:"Policy file." type:"path"`
	Output string `short:"o" help:"sql, to be run on the protected database, or json." enum:"sql,json" default:"sql"`
}

// Run implements the command.
func (c *Advise) Run(ctx context.Context) error {
	p, err := config.Load(c.Policy)
	if err != nil {
		return err
	}
	s := &site.Site{Policy: p}
	conn, err := s.ConnectData(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	cat, err := s.ReadCatalog(ctx, conn)
	if err != nil {
		return err
	}
	tables := advised(p, cat)
	names := make([]catalog.Name, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	relations, err := advice.Read(ctx, conn, names)
	if err != nil {
		return err
	}
	steps := advice.Steps(tables, relations)
	if c.Output == "json" {
		return listing.WriteJSON(append([]advice.Step{}, steps...))
	}
	for _, step := range steps {
		fmt.Printf("-- %s: %s\n%s;\n", step.Table, step.Reason, step.SQL)
	}
	if len(steps) == 0 {
		fmt.Fprintln(os.Stderr, "the tables of the policy have what makes them fast")
	}
	return nil
}

// advised lists the protected tables for advice; a partition is stored as its table is.
func advised(p *config.Policy, cat *policy.Model) []advice.Table {
	var tables []advice.Table
	for _, t := range policy.Stated(p.Tables, cat).Tables {
		if _, partition := p.PartitionOf[t.Name]; t.Public || t.Reference || partition {
			continue
		}
		a := advice.Table{Name: t.Name, Unit: t.UnitColumn, Via: t.Via, To: t.To.Table, Key: t.To.Column, OneRow: t.MaxRows == 1}
		if t.ViaKey != nil {
			a.Via, a.Used = t.ViaKey[0], slices.Clone(t.ViaKey[1:])
		}
		for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
			if c := t.Columns[name]; !c.Hidden && (c.Bounds != nil || c.Values != nil || c.EnumValues) {
				a.Used = append(a.Used, name)
			}
		}
		tables = append(tables, a)
	}
	return tables
}
