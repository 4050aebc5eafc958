package planner_test

import (
	"math/big"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// The fixture is a clinic: patients have one row each, visits many, labs belong
// to a patient by way of a visit; hospitals are public.

func name(table string) catalog.Name { return catalog.Name{Schema: "public", Name: table} }

func builtin(typ, display string, oid uint32, mod int32) catalog.TypeRef {
	n := catalog.Name{Schema: "pg_catalog", Name: typ}
	return catalog.TypeRef{Name: n, OID: oid, Mod: mod, Display: display, Base: n, BaseOID: oid, BaseMod: mod, Kind: 'b'}
}

var (
	int4      = builtin("int4", "integer", 23, -1)
	bigint    = builtin("int8", "bigint", 20, -1)
	text      = builtin("text", "text", 25, -1)
	varchar10 = builtin("varchar", "character varying(10)", 1043, 14)
	boolean   = builtin("bool", "boolean", 16, -1)
	date      = builtin("date", "date", 1082, -1)
	instant   = builtin("timestamptz", "timestamp with time zone", 1184, -1)
	numeric10 = builtin("numeric", "numeric(10,2)", 1700, (10<<16|2)+4)
	numeric   = builtin("numeric", "numeric", 1700, -1)
	float8    = builtin("float8", "double precision", 701, -1)
	float4    = builtin("float4", "real", 700, -1)
	jsonb     = builtin("jsonb", "jsonb", 3802, -1)
	place     = catalog.TypeRef{Name: name("place"), OID: 20002, Mod: -1, Display: "place", Base: name("place"), BaseOID: 20002, BaseMod: -1, Kind: 'c'}
	mood      = catalog.TypeRef{Name: name("mood"), OID: 20001, Mod: -1, Display: "mood", Base: name("mood"), BaseOID: 20001, BaseMod: -1, Kind: 'e'}
)

func column(n string, t catalog.TypeRef, notNull bool) catalog.Column {
	return catalog.Column{Name: n, Type: t, NotNull: notNull, Deterministic: true}
}

func primary() []catalog.Key {
	return []catalog.Key{{Name: "pkey", Columns: []string{"id"}, Primary: true}}
}

func references(col, table string) catalog.ForeignKey {
	return catalog.ForeignKey{Name: col + "_fkey", Columns: []string{col}, References: name(table), Target: []string{"id"}}
}

// servedVersion is the server_version_num that plans are made for.
var servedVersion = 150000

func clinicSchema() *catalog.Schema {
	tables := []*catalog.Table{
		{Name: name("patients"), Kind: 'r', Keys: primary(), Columns: []catalog.Column{
			column("id", int4, true), column("name", text, true), column("sex", text, true), column("birth_year", int4, true),
			column("region", varchar10, true), column("smoker", boolean, false), column("mood", mood, false),
			column("weight", float8, false), column("notes", jsonb, false),
		}},
		{Name: name("visits"), Kind: 'r', Keys: primary(), Columns: []catalog.Column{
			column("id", int4, true), column("patient_id", int4, true), column("hospital_id", int4, true), column("day", date, true),
			column("at", instant, false), column("diagnosis", text, true), column("cost", numeric10, true), column("tip", numeric, false),
			column("score", float4, false), column("steps", bigint, false), column("place", place, false),
		}, Foreign: []catalog.ForeignKey{references("patient_id", "patients"), references("hospital_id", "hospitals")}},
		{Name: name("labs"), Kind: 'r', Keys: primary(), Columns: []catalog.Column{
			column("id", int4, true), column("visit_id", int4, true), column("test", text, true), column("value", float8, false),
		}, Foreign: []catalog.ForeignKey{references("visit_id", "visits")}},
		{Name: name("hospitals"), Kind: 'r', Keys: primary(), Columns: []catalog.Column{
			column("id", int4, true), column("name", text, true), column("region", text, true),
		}},
	}
	s := &catalog.Schema{ServerVersion: servedVersion, TimeZones: map[string]bool{"etc/utc": true}, PublicRows: map[catalog.Name]int64{name("hospitals"): 3}, Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{
		name("mood"): {Name: name("mood"), Kind: 'e', Labels: []string{"sad", "ok", "happy"}},
	}}
	for _, t := range tables {
		s.Tables[t.Name] = t
	}
	return s
}

func bounds(low, high string) policy.ColumnPolicy {
	l, okLow := new(big.Rat).SetString(low)
	h, okHigh := new(big.Rat).SetString(high)
	b := &policy.Bounds{LowText: low, HighText: high}
	if okLow && okHigh {
		b.Low, b.High = l, h
	}
	return policy.ColumnPolicy{Bounds: b}
}

func values(v ...string) policy.ColumnPolicy { return policy.ColumnPolicy{Values: v} }

func clinicPolicy() policy.Policy {
	return policy.Policy{Unit: "patient", Tables: []policy.TablePolicy{
		{Name: name("patients"), UnitColumn: "id", Columns: map[string]policy.ColumnPolicy{
			"name": {Hidden: true}, "sex": values("f", "m", "x"), "birth_year": bounds("1920", "2010"),
			"region": values("north", "south"), "mood": {EnumValues: true}, "weight": bounds("0.5", "300"),
		}},
		{Name: name("visits"), UnitColumn: "patient_id", MaxRows: 20, MaxPartitions: 2, Columns: map[string]policy.ColumnPolicy{
			"diagnosis": values("asthma", "flu", "it's \"so\""), "cost": bounds("0", "20000"), "day": bounds("2020-01-01", "2024-12-31"),
			"tip": bounds("-1.5", "99"), "score": bounds("-1", "1"), "steps": bounds("0", "100000"),
		}},
		{Name: name("labs"), Via: "visit_id", To: policy.ColumnName{Table: name("visits"), Column: "id"}, MaxRows: 40, Columns: map[string]policy.ColumnPolicy{
			"test": values("chol", "hdl"), "value": bounds("0", "400"),
		}},
		{Name: name("hospitals"), Public: true},
	}}
}

func clinic(t *testing.T) *policy.Model {
	t.Helper()
	return checked(t, clinicSchema())
}

// indexedClinic is a clinic where one index begins with the unit, and another covers some
// columns.
func indexedClinic(t *testing.T, indexes ...catalog.Index) *policy.Model {
	t.Helper()
	if indexes == nil {
		indexes = []catalog.Index{{Name: "alone", Columns: []string{"patient_id"}}, {Name: "covering", Columns: []string{"patient_id", "diagnosis", "cost"}}}
	}
	s := clinicSchema()
	s.Tables[name("visits")].Sorted = indexes
	return checked(t, s)
}

// hiddenClinic is a clinic whose protected tables hide the columns.
func hiddenClinic(t *testing.T, columns ...string) *policy.Model {
	t.Helper()
	p, s := clinicPolicy(), clinicSchema()
	for _, table := range p.Tables {
		for _, c := range columns {
			if _, ok := s.Tables[table.Name].Column(c); ok && !table.Public {
				table.Columns[c] = policy.ColumnPolicy{Hidden: true}
			}
		}
	}
	return checkedBy(t, p, s)
}

func checked(t *testing.T, s *catalog.Schema) *policy.Model {
	t.Helper()
	return checkedBy(t, clinicPolicy(), s)
}

func checkedBy(t *testing.T, p policy.Policy, s *catalog.Schema) *policy.Model {
	t.Helper()
	c, problems := policy.Check(p, s)
	for _, p := range problems {
		t.Errorf("%v", p)
	}
	if c == nil {
		t.FailNow()
	}
	return c
}
