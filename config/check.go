package config

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// check finds missing keys, and references between parts of the file that lead nowhere.
func (d *decoder) check(p *Policy) {
	for i := range p.Tables.Tables {
		if t := &p.Tables.Tables[i]; p.PartitionOf[t.Name] == (catalog.Name{}) {
			d.checkPath(p, t)
		}
	}
	for i := range p.Analysts {
		d.checkTables(p, &p.Analysts[i])
	}
	d.checkLocal(p)
	d.checkSchemas(p)
	d.checkLogins(p)
}

// checkLogins finds analysts who could not log in.
func (d *decoder) checkLogins(p *Policy) {
	if p.ClientCA != "" {
		return
	}
	if p.AuthQuery == nil {
		for _, a := range d.passwordless {
			a.need("password")
		}
	}
	for _, a := range p.Analysts {
		if len(a.Certificates) > 0 {
			d.complain("certificates log in only with tls.client_ca", "analysts", a.Name, "certificates")
		}
	}
}

func (d *decoder) complain(message string, path ...string) {
	d.faults = append(d.faults, d.src.fault(d.src.find(path), label(path, message)))
}

// checkTables leaves an analyst's protected tables and views: public tables are
// everybody's, and a partition is granted with its table.
func (d *decoder) checkTables(p *Policy, a *Analyst) {
	var protected []catalog.Name
	path := []string{"analysts", a.Name, "tables"}
	for _, n := range a.Tables {
		t, parent := p.table(n), p.PartitionOf[n]
		switch {
		case parent != (catalog.Name{}):
			d.complain("the partition "+n.String()+" is granted with its table "+parent.String(), path...)
		case !p.lists(n):
			d.complain("there is no table "+n.String()+" in the policy", path...)
		case t != nil && t.Public:
		case p.isLocal(n) && slices.Contains(a.Local, n):
			d.complain("the table "+n.String()+" is listed twice", path...)
		case p.isLocal(n):
			a.Local = append(a.Local, n)
		case slices.Contains(protected, n):
			d.complain("the table "+n.String()+" is listed twice", path...)
		default:
			protected = append(append(protected, n), p.partitionsOf(n)...)
		}
	}
	a.Tables = protected
}

// partitionsOf returns the listed partitions of a table, in the order of the file.
func (p *Policy) partitionsOf(n catalog.Name) []catalog.Name {
	var names []catalog.Name
	for _, t := range p.Tables.Tables {
		if p.PartitionOf[t.Name] == n {
			names = append(names, t.Name)
		}
	}
	return names
}

// checkPath follows the tables that lead to the unit. A hidden column may be on the
// path: analysts do not name it.
func (d *decoder) checkPath(p *Policy, t *policy.TablePolicy) {
	seen := map[catalog.Name]bool{}
	for at := t; at.To.Table != (catalog.Name{}); {
		seen[at.Name] = true
		next := p.table(at.To.Table)
		problem := ""
		switch {
		case p.isLocal(at.To.Table):
			problem = "the table " + at.To.Table.String() + " is of the local model and leads to no unit"
		case next == nil:
			problem = "there is no table " + at.To.Table.String() + " in the policy"
		case p.PartitionOf[next.Name] != (catalog.Name{}):
			problem = next.Name.String() + " is a partition: the path leads through its table"
		case next.Public:
			problem = "the table " + next.Name.String() + " is public and leads to no unit"
		case next.Reference:
			problem = "the table " + next.Name.String() + " is a reference table and leads to no unit"
		case seen[next.Name]:
			problem = "the path to the unit goes in a circle"
		}
		if problem != "" {
			d.complain(problem, "tables", t.Name.String(), "unit")
			return
		}
		at = next
	}
}
