package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/planner"
)

// syncCommand makes or refreshes the mirror.
type syncCommand struct {
	Policy string `arg:"" help:"Policy file." type:"path"`
}

// Run implements the command.
func (c *syncCommand) Run(ctx context.Context) error {
	s, err := openSite(c.Policy)
	if err != nil {
		return err
	}
	changes := 0
	err = s.sync(ctx, func(change string) {
		changes++
		fmt.Println(change)
	})
	if err == nil {
		fmt.Fprintf(os.Stderr, "the mirror is in order, %d changes\n", changes)
	}
	return err
}

// sync checks the policy against the database, makes the mirror, and proves that
// no protected relation can be read there.
func (s *site) sync(ctx context.Context, report func(string)) error {
	if _, err := s.readCatalog(ctx); err != nil {
		return err
	}
	up, err := s.connectData(ctx)
	if err != nil {
		return err
	}
	defer up.Close(ctx)
	down, err := s.connectMirror(ctx)
	if err != nil {
		return err
	}
	defer down.Close(ctx)
	return mirror.Sync(ctx, up, down, s.mirrorPlan(), report)
}

func (s *site) mirrorPlan() mirror.Plan {
	var plan mirror.Plan
	public := map[catalog.Name]bool{}
	for _, t := range s.policy.Tables.Tables {
		if t.Public {
			plan.Public = append(plan.Public, t.Name)
			public[t.Name] = true
			continue
		}
		plan.Protected = append(plan.Protected, s.protected(t))
	}
	for _, v := range s.policy.Views {
		plan.Views = append(plan.Views, mirror.View{
			Name: v.Name, Shown: v.Shown, Comment: "a view over protected tables: aggregates only",
		})
	}
	for _, a := range s.policy.Analysts {
		m := mirror.Analyst{Name: a.Name, Password: s.mirrorPassword(a.Name), Settings: a.Settings}
		for _, t := range a.Tables {
			if !public[t] {
				m.Tables = append(m.Tables, t)
			}
		}
		plan.Analysts = append(plan.Analysts, m)
	}
	return plan
}

// protected describes a table to analysts: \d+ shows these texts.
func (s *site) protected(t planner.TablePolicy) mirror.Protected {
	unit := t.UnitColumn
	if unit == "" {
		unit = fmt.Sprintf("%s -> %s.%s", t.Via, t.To.Table.Name, t.To.Column)
	}
	parts := []string{fmt.Sprintf("protected: aggregates only; privacy unit %s by %s", s.policy.Tables.Unit, unit)}
	if t.MaxRows > 0 {
		parts = append(parts, fmt.Sprintf("at most %d rows of one %s count in a group", t.MaxRows, s.policy.Tables.Unit))
	}
	if t.MaxPartitions > 0 {
		parts = append(parts, fmt.Sprintf("one %s counts in at most %d groups", s.policy.Tables.Unit, t.MaxPartitions))
	}
	table := t.Name
	if parent, ok := s.policy.PartitionOf[t.Name]; ok {
		table = parent
		parts = append(parts, "a partition of "+parent.String()+", with its budget")
	}
	if b, ok := s.policy.TableBudgets[table]; ok {
		parts = append(parts, fmt.Sprintf("budget epsilon %s, delta %s", dp.Decimal(b.EpsilonPico, 12), dp.Scientific(b.DeltaAtto, 18)))
	}
	if len(t.NotProtected) > 0 {
		parts = append(parts, "people behind "+strings.Join(t.NotProtected, ", ")+" are not protected by this table")
	}
	p := mirror.Protected{
		Name: t.Name, PartitionOf: s.policy.PartitionOf[t.Name], Comment: strings.Join(parts, "; "), Columns: map[string]mirror.Column{},
	}
	for name, c := range t.Columns {
		p.Columns[name] = mirrorColumn(c)
	}
	return p
}

func mirrorColumn(c planner.ColumnPolicy) mirror.Column {
	m := mirror.Column{Hidden: c.Hidden, Labels: c.Values, AllLabels: c.EnumValues}
	switch {
	case c.Hidden:
		m.Comment = "hidden: cannot be used"
	case c.Bounds != nil:
		m.Comment = fmt.Sprintf("values are clamped to [%s, %s]", c.Bounds.LowText, c.Bounds.HighText)
	}
	if len(c.Values) > 0 {
		m.Comment = strings.TrimPrefix(m.Comment+"; public values: "+strings.Join(c.Values, ", "), "; ")
	}
	if c.EnumValues {
		m.Comment = "public values: the labels of the type"
	}
	return m
}
