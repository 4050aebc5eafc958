// Package parsertest has the relations that tests of the parser know.
package parsertest

import (
	"embed"
	"strings"

	"dpproxy/parser/ast"
)

// A Schema is the [ast.Names] of a few tables.
type Schema []ast.Relation

// Relation implements [ast.Names].
func (s Schema) Relation(namespace, name string) (ast.Relation, bool) {
	for _, r := range s {
		if r.Name == name && (namespace == "" || namespace == r.Schema) {
			return r, true
		}
	}
	return ast.Relation{}, false
}

func table(name, unit, columns string) ast.Relation {
	return ast.Relation{
		Schema: "public", Name: name, Protected: unit != "public",
		Unit: strings.Trim(unit, "-"), Columns: strings.Fields(columns),
	}
}

// keyed is a table whose first column is a key; others have values of other tables.
func keyed(r ast.Relation, parents ...string) ast.Relation {
	r.Unique, r.Parents = r.Columns[:1], map[string]string{}
	for i := 0; i < len(parents); i += 2 {
		r.Parents[parents[i]] = parents[i+1]
	}
	return r
}

// viewTexts holds the queries of the views of the clinic, as pg_get_viewdef prints them.
//
//go:embed views/*.sql
var viewTexts embed.FS

func view(name, columns string) ast.Relation {
	text, err := viewTexts.ReadFile("views/" + name + ".sql")
	if err != nil {
		panic(err) //nolint:forbidigo // the file is embedded
	}
	return ast.Relation{Schema: "public", Name: name, View: string(text), Columns: strings.Fields(columns)}
}

// Clinic is the schema of clinic.sql in the tests of package parser; Shop is the schema of the attacks.
var (
	Clinic = Schema{
		keyed(table("hospitals", "public", "id name region")),
		keyed(table("patients", "id", "id name sex birth_year region smoker Größe")),
		keyed(table("visits", "patient_id", "id patient_id hospital_id day ts diagnosis cost qty big f8"),
			"patient_id", "public.patients.id"),
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
