package site

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/planner/policy"
)

// MirrorPlan is the plan of the mirror by the policy alone.
func (s *Site) MirrorPlan() mirror.Plan { return s.planOf(s.Policy.Tables) }

// planOf is the plan of a mirror, with the policy of the tables, in which columns may state their bounds.
func (s *Site) planOf(tables policy.Policy) mirror.Plan {
	plan := mirror.Plan{Site: s.Secret.mirrorSite(), TakeOver: s.TakesOver, Withheld: map[catalog.Name][]string{}}
	plan.Published = func(record string) []catalog.Name {
		of, _ := s.Secret.Publications().Open(record)
		return of.Tables
	}
	for _, t := range s.Policy.Local {
		plan.Local = append(plan.Local, mirror.Local{Name: t.Name, Columns: append([]string{t.Key}, t.Public...)})
	}
	public := map[catalog.Name]bool{}
	for _, t := range tables.Tables {
		if t.Public {
			plan.Public = append(plan.Public, t.Name)
			plan.Withheld[t.Name] = t.Hidden()
			public[t.Name] = true
			continue
		}
		plan.Protected = append(plan.Protected, s.protected(t))
	}
	for _, v := range s.Policy.Views {
		plan.Views = append(plan.Views, mirror.View{
			Name: v.Name, Shown: v.Shown, Comment: "a view over protected tables: aggregates only",
		})
	}
	for _, a := range s.Policy.Analysts {
		m := mirror.Analyst{Name: a.Name, Password: s.Secret.MirrorPassword(a.Name), Settings: a.Settings, Publishes: a.Publishes}
		if len(s.Policy.Views) > 0 {
			m.AsidePassword = s.Secret.AsidePassword(a.Name)
		}
		for _, t := range a.Tables {
			if !public[t] {
				m.Tables = append(m.Tables, t)
			}
		}
		plan.Analysts = append(plan.Analysts, m)
	}
	return plan
}

// MirrorPlanOf is the plan with more from the catalogue: the columns of views that show hidden ones, which rows are nobody's,
// the bounds that columns have by default, and that those are hidden that the policy does not list.
func (s *Site) MirrorPlanOf(cat *policy.Model) mirror.Plan {
	plan := s.planOf(policy.Stated(s.Policy.Tables, cat))
	for i, t := range plan.Protected {
		if ends := cat.Table(t.Name).LeftOut(); ends != "" {
			plan.Protected[i].Comment += fmt.Sprintf("; rows that belong to no %s (%s) are left out", cat.Unit(), ends)
		}
		if counted := policy.Counted(cat.Table(t.Name)); counted != "" {
			plan.Protected[i].Comment += fmt.Sprintf("; rows that belong to no %s count (%s)", cat.Unit(), counted)
		}
	}
	for _, t := range plan.Protected {
		commentBounded(t, cat.Table(t.Name))
	}
	for i, v := range plan.Views {
		plan.Views[i].Hidden = cat.Withheld(v.Name)
	}
	return plan
}

// commentBounded tells in the comments of columns which expressions over them have bounds.
func commentBounded(p mirror.Protected, t *policy.Table) {
	for _, b := range t.Bounded {
		said := fmt.Sprintf("%s: values of %s are clamped to [%s, %s]", b.Name, b.Text, b.Bounds.LowText, b.Bounds.HighText)
		for _, c := range b.Expr().Columns() {
			m := p.Columns[c.Name]
			m.Comment = strings.TrimPrefix(m.Comment+"; "+said, "; ")
			p.Columns[c.Name] = m
		}
	}
}

// protected describes a table to analysts: \d+ shows these texts.
func (s *Site) protected(t policy.TablePolicy) mirror.Protected {
	parts := []string{"protected: aggregates only; privacy unit " + s.Policy.Tables.Unit + s.unitOf(t)}
	if t.Reference {
		parts = []string{"a reference table: rows are looked up by those that refer to them; aggregates only"}
	} else {
		parts = append(parts, limitsOf(t, s.Policy.Tables.Unit)...)
	}
	table := t.Name
	if parent, ok := s.Policy.PartitionOf[t.Name]; ok {
		table = parent
		parts = append(parts, "a partition of "+parent.String()+", with its budget")
	}
	if b, ok := s.Policy.TableBudgets[table]; ok {
		parts = append(parts, fmt.Sprintf("budget epsilon %s, delta %s", dp.Decimal(b.EpsilonPico, 12), dp.Scientific(b.DeltaAtto, 18)))
	}
	if others := s.shown(t.Name, t.NotProtected...); len(others) > 0 {
		parts = append(parts, "people behind "+strings.Join(others, ", ")+" are not protected by this table")
	}
	p := mirror.Protected{
		Name: t.Name, Reference: t.Reference, PartitionOf: s.Policy.PartitionOf[t.Name],
		Comment: strings.Join(parts, "; "), Columns: map[string]mirror.Column{}, HidesUnlisted: t.HidesUnlisted,
	}
	for name, c := range t.Columns {
		p.Columns[name] = mirrorColumn(c)
	}
	return p
}

// limitsOf says how much of one unit counts.
func limitsOf(t policy.TablePolicy, unit string) (parts []string) {
	switch {
	case t.MaxRows > 0:
		parts = append(parts, fmt.Sprintf("at most %d rows of one %s count in a group", t.MaxRows, unit))
	case t.AutoRows > 0:
		parts = append(parts, fmt.Sprintf("how much of one %s counts is chosen, up to %d rows in each group", unit, t.AutoRows))
	default:
		parts = append(parts, fmt.Sprintf("how much of one %s counts is chosen where keys do not tell", unit))
	}
	if t.MaxPartitions > 0 {
		parts = append(parts, fmt.Sprintf("one %s counts in at most %d groups", unit, t.MaxPartitions))
	}
	return parts
}

// unitOf says by which columns a row reaches its unit, as far as the policy shows them.
func (s *Site) unitOf(t policy.TablePolicy) string {
	switch {
	case t.ViaKey != nil && len(s.shown(t.Name, t.ViaKey...)) == len(t.ViaKey):
		return fmt.Sprintf(" by (%s) -> %s", strings.Join(t.ViaKey, ", "), t.To.Table.Name)
	case t.Via != "" && len(s.shown(t.Name, t.Via)) > 0 && len(s.shown(t.To.Table, t.To.Column)) > 0:
		return fmt.Sprintf(" by %s -> %s.%s", t.Via, t.To.Table.Name, t.To.Column)
	case t.UnitColumn != "" && len(s.shown(t.Name, t.UnitColumn)) > 0:
		return " by " + t.UnitColumn
	}
	return ""
}

// shown returns the columns that the policy does not hide.
func (s *Site) shown(table catalog.Name, columns ...string) []string {
	i := slices.IndexFunc(s.Policy.Tables.Tables, func(t policy.TablePolicy) bool { return t.Name == table })
	return slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return i >= 0 && s.Policy.Tables.Tables[i].Says(c).Hidden })
}

func mirrorColumn(c policy.ColumnPolicy) mirror.Column {
	m := mirror.Column{Hidden: c.Hidden, Labels: c.Values, AllLabels: c.EnumValues, Comment: commentOf(c)}
	if c.EnumValues {
		m.Comment = "public values: the labels of the type"
	}
	for _, f := range c.Fields {
		said := "field " + f.Path + ", " + cmp.Or(f.Type, policy.FieldTypes()[0])
		if own := commentOf(f.ColumnPolicy); own != "" {
			said += ", " + own
		}
		m.Comment = strings.TrimPrefix(m.Comment+"; "+said, "; ")
	}
	return m
}

// commentOf says which values a column or a field has by the policy.
func commentOf(c policy.ColumnPolicy) (said string) {
	if c.Bounds != nil {
		said = fmt.Sprintf("values are clamped to [%s, %s]", c.Bounds.LowText, c.Bounds.HighText)
	}
	if len(c.Values) > 0 {
		said = strings.TrimPrefix(said+"; public values: "+strings.Join(c.Values, ", "), "; ")
	}
	return said
}
