// Package parsertest has the relations that tests of the parser know.
package parsertest

import (
	"embed"
	"maps"
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/parser/repair"
)

// A Schema is the [ast.Names] of a few tables, and their [repair.Schema].
type Schema []Table

// A Table is a table or a view.
type Table struct {
	ast.Relation

	unit    string
	keys    []string
	parents map[string]repair.Key
}

// Relation implements [ast.Names].
func (s Schema) Relation(namespace, name string) (ast.Relation, bool) {
	t, known := s.named(namespace, name)
	return t.Relation, known
}

// Grouped implements [ast.Bonds]: the unit of a table names to whom its rows belong, and its key tells that.
func (s Schema) Grouped(by []ast.Origin) ast.Bond {
	switch {
	case slices.ContainsFunc(by, s.names):
		return ast.Named
	case slices.ContainsFunc(by, s.tells):
		return ast.Together
	}
	return ast.Apart
}

// Tied implements [ast.Bonds]: rows belong together if their units are equal.
func (s Schema) Tied(pairs [][2]ast.Origin) bool {
	return slices.ContainsFunc(pairs, func(p [2]ast.Origin) bool { return s.names(p[0]) && s.names(p[1]) })
}

func (s Schema) names(o ast.Origin) bool {
	t, _ := s.named(o.Schema, o.Table)
	return t.unit == o.Column
}

func (s Schema) tells(o ast.Origin) bool {
	t, _ := s.named(o.Schema, o.Table)
	return t.Protected && slices.Contains(t.keys, o.Column)
}

// Table implements [repair.Schema].
func (s Schema) Table(namespace, name string) (repair.Table, bool) {
	t, known := s.named(namespace, name)
	return repair.Table{
		Columns: t.Columns, Protected: t.Protected, View: t.View != "", Unit: t.unit, Keys: t.keys, Parents: maps.Clone(t.parents),
	}, known
}

// Suggested implements [repair.Schema].
func (Schema) Suggested(_, _, _ string) (typ string, unknown bool) { return "", false }

func (s Schema) named(namespace, name string) (Table, bool) {
	for _, t := range s {
		if t.Name == name && (namespace == "" || namespace == t.Schema) {
			return t, true
		}
	}
	return Table{}, false
}

func table(name, unit, columns string) Table {
	return Table{
		Relation: ast.Relation{Schema: "public", Name: name, Protected: unit != "public", Columns: strings.Fields(columns)},
		unit:     strings.Trim(unit, "-"),
	}
}

// keyed is a table whose first column is a key; its other columns refer to keys of other tables.
func keyed(t Table, parents map[string]repair.Key) Table {
	t.keys, t.parents = t.Columns[:1], parents
	return t
}

// viewTexts holds the queries of the views of the clinic, as pg_get_viewdef prints them.
//
//go:embed views/*.sql
var viewTexts embed.FS

func view(name, columns string) Table {
	text, err := viewTexts.ReadFile("views/" + name + ".sql")
	if err != nil {
		panic(err) //nolint:forbidigo // the file is embedded
	}
	return Table{Relation: ast.Relation{Schema: "public", Name: name, View: string(text), Columns: strings.Fields(columns)}}
}

// Clinic is the schema of clinic.sql in the tests of package parser; Shop is the schema of the attacks.
var (
	Clinic = Schema{
		keyed(table("hospitals", "public", "id name region"), nil),
		keyed(table("patients", "id", "id name sex birth_year region smoker Größe"), nil),
		keyed(table("visits", "patient_id", "id patient_id hospital_id day ts diagnosis cost qty big f8"),
			map[string]repair.Key{"patient_id": {Schema: "public", Table: "patients", Column: "id"}}),
		view("dear_visits", "id patient_id price qty diagnosis"),
		view("dearest", "visit who price"),
		view("by_region", "Region n avg"),
		view("towns", "region"),
	}
	Shop = Schema{
		table("regions", "public", "region label"),
		table("cust", "uid", "uid name region age salary score bio"),
		table("orders", "uid", "oid uid amount ts status"),
		table("items", "-", "iid oid qty"),
		table("sales", "uid", "uid d amt"),
		view("v_cust", "uid name region age salary score bio"),
	}
)
