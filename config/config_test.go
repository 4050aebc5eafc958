package config_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/internal/demo"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

var update = flag.Bool("update", false, "write the expected error texts anew")

// secret stands in testdata for whatever must not be shown.
const secret = "hunter2"

func files(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/" + pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return found
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func load(t testing.TB, file string) *config.Policy {
	t.Helper()
	p, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBad compares the faults of each bad file with the file beside it.
func TestBad(t *testing.T) {
	for _, file := range files(t, "*.bad.yaml") {
		_, err := config.Parse(filepath.Base(file), read(t, file))
		if err == nil {
			t.Errorf("%s was taken", file)
			continue
		}
		got := err.Error() + "\n"
		if strings.Contains(got, secret) {
			t.Errorf("%s: the error shows a secret:\n%s", file, got)
		}
		golden := strings.TrimSuffix(file, ".yaml") + ".err"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(read(t, golden)), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestGood(t *testing.T) {
	for _, file := range files(t, "*.good.yaml") {
		load(t, file)
	}
}

func public(name string) catalog.Name { return catalog.Name{Schema: "public", Name: name} }

func numbers(low, high string) *policy.Bounds {
	l, _ := new(big.Rat).SetString(low)
	h, _ := new(big.Rat).SetString(high)
	return &policy.Bounds{Low: l, High: h, LowText: low, HighText: high}
}

var sameNumbers = cmp.Comparer(func(a, b *big.Rat) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Cmp(b) == 0)
})

// stays is a table with fields.
func stays() policy.TablePolicy {
	name := catalog.Name{Schema: "archive", Name: "stays"}
	return policy.TablePolicy{Name: name, UnitColumn: "patient_id", Columns: map[string]policy.ColumnPolicy{
		"data": {Fields: []policy.FieldPolicy{
			{Path: "device", Keys: []string{"device"}, ColumnPolicy: policy.ColumnPolicy{Values: []string{"ios", "android"}}},
			{Path: "seen.last", Keys: []string{"seen", "last"}, Type: "date", ColumnPolicy: policy.ColumnPolicy{Unbounded: true}},
			{
				Path: `"a.b".c`, Keys: []string{"a.b", "c"}, Type: "numeric",
				ColumnPolicy: policy.ColumnPolicy{Bounds: numbers("0", "1"), Step: big.NewRat(1, 100)},
			},
		}},
	}}
}

func TestTables(t *testing.T) {
	labs := catalog.Name{Schema: "lab", Name: "labs"}
	trusted := []string{"acme_types", "Acme 1.2"}
	want := policy.Policy{Unit: "patient", Units: 300, JoinRows: 200, Trusted: trusted, Tables: []policy.TablePolicy{
		{Name: public("patients"), UnitColumn: "id", Columns: map[string]policy.ColumnPolicy{
			"age":       {Bounds: numbers("0", "110")},
			"sex":       {Values: []string{"f", "m", "true", "01", "2", ""}},
			"ward":      {EnumValues: true},
			"name":      {Hidden: true},
			"region":    {},
			"Größe":     {Bounds: numbers("-1.50", "1.0e2")},
			"birthyear": {Bounds: numbers("1920", "2010"), Values: []string{"1920", "2010"}},
		}},
		{
			Name: public("visits"), UnitColumn: "patient_id", MaxRows: 20, MaxPartitions: 4, NotProtected: []string{"doctor_id"},
			Nobody: policy.NobodyRows,
			Columns: map[string]policy.ColumnPolicy{
				"cost": {Bounds: numbers("0.10000000000000000000000000000000000001", "20000")},
				"day":  {Bounds: &policy.Bounds{LowText: "2020-01-01", HighText: "2024-12-31"}},
				"seen": {Bounds: &policy.Bounds{LowText: "2020-01-01 00:00:00", HighText: "2024-12-31 23:59:59.999"}},
				"left": {Bounds: &policy.Bounds{LowText: "2020-01-01T00:00:00Z", HighText: "2020-01-01 00:00:00.5+00"}},
				"flag": {Bounds: numbers("1", "1")},
				"born": {Unbounded: true},
			},
			Derived: []policy.DerivedPolicy{
				{Name: "days", Is: `"left" - seen`, Bounds: numbers("0", "6e1")},
				{Name: "Tag danach", Is: "day + 1", Bounds: &policy.Bounds{LowText: "2020-01-02", HighText: "2025-01-01"}},
			},
		},
		{Name: labs, Via: "visit_id", To: policy.ColumnName{Table: public("visits"), Column: "id"}},
		{Name: catalog.Name{Schema: "lab", Name: "parts"}, Via: "lab_id", To: policy.ColumnName{Table: labs, Column: "id"}, AutoRows: 40},
		{Name: public("hospitals"), Public: true, Columns: map[string]policy.ColumnPolicy{"address": {Hidden: true}, "name": {}}},
		{
			Name: public("wards"), Reference: true, NotProtected: []string{"head"},
			Columns: map[string]policy.ColumnPolicy{"phone": {Hidden: true}, "city": {}},
		},
	}}
	archive := catalog.Name{Schema: "archive", Name: "sales_2023"}
	for _, name := range []catalog.Name{public("sales"), public("sales_2024"), archive} {
		columns := map[string]policy.ColumnPolicy{
			"amount": {Bounds: numbers("0", "10"), Step: big.NewRat(1, 100)}, "rate": {Step: big.NewRat(1, 1_000_000)},
		}
		want.Tables = append(want.Tables, policy.TablePolicy{
			Name: name, UnitColumn: "patient_id", Nobody: policy.NobodyPublic, Columns: columns,
		})
	}
	want.Tables = append(want.Tables, stays())
	for i, t := range want.Tables {
		want.Tables[i].Dates, want.Tables[i].HidesUnlisted = nearestDates(t), !t.Public
	}
	p := load(t, "testdata/clinic.good.yaml")
	if diff := cmp.Diff(want, p.Tables, sameNumbers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	partitions := map[catalog.Name]catalog.Name{public("sales_2024"): public("sales"), archive: public("sales")}
	if diff := cmp.Diff(partitions, p.PartitionOf); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	views := []config.View{
		{Name: public("bills")},
		{Name: catalog.Name{Schema: "lab", Name: "results"}, Shown: true},
		{Name: public("adults")},
	}
	if diff := cmp.Diff(views, p.Views); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
}

// nearestDates is the default for dates of a table of the clinic: the nearest; a partition has that of its table.
func nearestDates(t policy.TablePolicy) *policy.Dates {
	switch {
	case t.Public:
		return nil
	case t.Name == public("wards"):
		return &policy.Dates{First: "1990-01-01", Last: "1990-01-01", Of: "tables.wards.defaults.dates"}
	case t.Name.Schema == "lab":
		return &policy.Dates{First: "2015-01-01", Last: "2024-12-31", Of: "schemas.lab.defaults.dates"}
	case strings.HasPrefix(t.Name.Name, "sales"):
		return &policy.Dates{First: "2024-01-01", Last: "2024-12-31", Of: "tables.sales.defaults.dates"}
	case t.Name.Schema == "archive":
		return &policy.Dates{First: "2001-01-01", Last: "2001-12-31", Of: "schemas.archive.defaults.dates"}
	}
	return &policy.Dates{First: "2010-01-01", Last: "2025-12-31", Of: "defaults.dates"}
}

// TestFormerNames reads a policy under the former names of keys and under their names.
func TestFormerNames(t *testing.T) {
	const file = "testdata/clinic.good.yaml"
	former := string(read(t, file))
	renamed := strings.NewReplacer("    max_rows: ", "    max_rows_per_group: ", "    max_partitions: ", "    max_groups_contributed: ")
	text := renamed.Replace(former)
	if strings.Count(text, "max_rows_per_group: 20") != 1 || strings.Count(text, "max_groups_contributed: 4") != 1 {
		t.Fatal(text)
	}
	p, err := config.Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(load(t, file), p, sameNumbers, cmpopts.IgnoreUnexported(config.Policy{})); diff != "" {
		t.Errorf("former names (-), names (+):\n%s", diff)
	}
}

// clinicAnalysts are the analysts of testdata/clinic.good.yaml.
func clinicAnalysts() []config.Analyst {
	keys := strings.Repeat("A", 43) + "="
	return []config.Analyst{
		{
			Name: "ana", Certificates: []string{"ana"}, Verifier: "SCRAM-SHA-256$4096:AAAAAAAAAAAAAAAAAAAAAA==$" + keys + ":" + keys,
			Tables: []catalog.Name{
				public("visits"), public("patients"),
				{Schema: "lab", Name: "labs"},
				public("sales"), public("sales_2024"),
				{Schema: "archive", Name: "sales_2023"},
				public("bills"),
				{Schema: "lab", Name: "results"},
			},
			Budget: &accountant.Budget{EpsilonPico: 1e12, DeltaAtto: 1e12, SelectionDeltaAtto: 5e11},
			Settings: map[string]string{
				"dp.epsilon": "0.5", "dp.notice": "off", "dp.max_rows": "3", "dp.max_partitions": "2", "dp.max_sum": "1e6",
				"statement_timeout": "10s",
			},
		},
		{
			Name: "eve", Certificates: []string{"eve@clinic", "the dashboard"},
			Settings: map[string]string{
				"dp.error": "50", "dp.relative_error": "off", "dp.target_fraction": "0.5", "dp.max_epsilon": "0.2",
				"dp.refine": "off", "dp.rows": "none", "dp.contribution": "fixed", "dp.small_groups": "show", "dp.empty_groups": "hide",
				"dp.minimum_people": "30",
				"dp.consistent":     "on",
				"dp.columns":        "errors", "dp.intervals": "off", "dp.limit_retry": "on",
				"dp.top":   "on",
				"dp.spend": "confirmed",
			},
			Allowance: config.Allowance{MaxEpsilonPico: 25e10, Mechanisms: []string{"laplace"}},
		},
		{
			Name: "Bob Ross", Certificates: []string{"Bob Ross"},
			Verifier: "SCRAM-SHA-256$4096:AAAAAAAAAAAAAAAAAAAAAA==$" + keys + ":" + keys,
		},
	}
}

func TestPolicy(t *testing.T) {
	p := load(t, "testdata/clinic.good.yaml")
	ofSales := config.TableDefaults{EpsilonPico: 5e10, MaxEpsilonPico: 4e11, RelativeError: 0.02, TargetFraction: 0.75}
	want := &config.Policy{
		Listen: "127.0.0.1:6433", TLSCert: "/etc/dpproxy/cert.pem", TLSKey: "/etc/dpproxy/key.pem",
		ClientCA: "/etc/dpproxy/clients.pem", Health: "127.0.0.1:6434",
		Data: "postgres://dpproxy_reader@db/clinic", DataPasswordFile: "/etc/dpproxy/data.password",
		Mirror: "host=/run/postgresql dbname=mirror user=dpproxy", MirrorPasswordFile: "/etc/dpproxy/mirror.password",
		MirrorAdmin: "postgresql:///mirror?user=postgres&host=/run/postgresql",
		Ledger: config.Ledger{
			Dir: "/var/lib/dpproxy", Redis: "rediss://dpproxy@redis.example:6380/2", Name: "clinic-1",
			PasswordFile: "/etc/dpproxy/redis.password", Replicas: 1,
			AssertedDurable: "appendfsync is always; checked by carol, 2026-05-04",
			Witness:         "postgres://dpproxy_witness@elsewhere/marks", WitnessPasswordFile: "/etc/dpproxy/witness.password",
		},
		SecretFile: "/etc/dpproxy/secret",
		AuthQuery: &config.AuthQuery{
			Connection: "postgres://dpproxy_auth@db/clinic", PasswordFile: "/etc/dpproxy/auth.password",
			Query: "SELECT verifier FROM auth.of($1)",
		},
		Unlisted: "hidden", MinimumPeople: 10, MinimumConfidence: 0.99,
		Unit: accountant.Budget{EpsilonPico: 3e12, DeltaAtto: 1e12, SelectionDeltaAtto: 5e11},
		TableBudgets: map[catalog.Name]accountant.Budget{
			public("patients"): {EpsilonPico: 2e12, DeltaAtto: 1e12}, // rounded down; selection_delta is 0 where it is stated
			public("visits"):   {EpsilonPico: 3e12},
			public("sales"):    {EpsilonPico: 1e12}, // its partitions have no other
		},
		Analysts: clinicAnalysts(),
		Defaults: config.Defaults{
			EpsilonPico: 2e11, Mechanism: "gaussian", Confidence: 0.9, DeltaAtto: 1e8, MaxEpsilonPico: 5e11,
			RelativeError: 0.1, TargetFraction: 0.9, Dates: &policy.Dates{First: "2010-01-01", Last: "2025-12-31", Of: "defaults.dates"},
		},
		Schemas: map[string]config.SchemaDefaults{
			"lab":     {Dates: &policy.Dates{First: "2015-01-01", Last: "2024-12-31", Of: "schemas.lab.defaults.dates"}},
			"archive": {Dates: &policy.Dates{First: "2001-01-01", Last: "2001-12-31", Of: "schemas.archive.defaults.dates"}},
		},
		Recycling: true, SyncItself: true,
		Allowances: map[catalog.Name]config.Allowance{public("visits"): {
			MaxEpsilonPico: 3e11, Mechanisms: []string{"gaussian", "brownian"},
		}, {Schema: "archive", Name: "stays"}: {MinimumPeople: 25}},
		TableDefaults: map[catalog.Name]config.TableDefaults{
			public("sales"): ofSales, public("sales_2024"): ofSales, {Schema: "archive", Name: "sales_2023"}: ofSales,
		},
		Limits: config.Limits{
			StatementTimeout: 20 * time.Second, Connections: 50, DataConnections: 4, AnalystConnections: 10,
			AddressConnections: 20, FailedLogins: 5, IdleSession: 8 * time.Hour, IdleTransaction: 10 * time.Minute,
			AnalystDataConnections: 2, DataQueue: 40, AnalystDataQueue: 10, AnalystLeftReads: 1, FoldMemory: 512,
			MaxPublicFanout: 500, MaxJoinRows: 200, MaxWork: 2_000_000, ReplyGrid: 5 * time.Millisecond,
		},
		Answers: config.Answers{Remember: true, Keep: 500, Refresh: 7 * 24 * time.Hour, Epoch: "after the load of May"},
	}
	ignore := cmpopts.IgnoreFields(config.Policy{}, "Tables", "PartitionOf", "Views") // TestTables
	if diff := cmp.Diff(want, p, ignore, cmpopts.IgnoreUnexported(config.Policy{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	p := load(t, "testdata/least.good.yaml")
	if p.Unlisted != "" || p.Tables.Tables[0].HidesUnlisted { // what is unsaid is remarked on
		t.Errorf("unlisted columns are %q", p.Unlisted)
	}
	if p.Listen != "127.0.0.1:6432" || p.SecretFile != "/var/lib/dpproxy/secret" || p.TLSCert != "" {
		t.Errorf("%+v", p)
	}
	if p.Ledger != (config.Ledger{Dir: "/var/lib/dpproxy"}) {
		t.Errorf("%+v", p.Ledger)
	}
	if p.MinimumPeople != 0 || p.MinimumConfidence != planner.DefaultJudgment {
		t.Errorf("a minimum of %d people, at %v", p.MinimumPeople, p.MinimumConfidence)
	}
	if p.Unit != (accountant.Budget{EpsilonPico: 1e12}) || len(p.TableBudgets) != 0 {
		t.Errorf("budgets %+v, %+v", p.Unit, p.TableBudgets)
	}
	if p.Defaults != (config.Defaults{
		EpsilonPico: 1e11, Mechanism: "auto", Confidence: 0.95, DeltaAtto: 1e8, TargetFraction: 1, Refine: true,
	}) || p.Recycling {
		t.Errorf("%+v", p.Defaults)
	}
	if p.Limits != (config.Limits{
		StatementTimeout: 30 * time.Second, Connections: 100, AnalystConnections: 100, AddressConnections: 100,
		FailedLogins: 20, IdleSession: 24 * time.Hour, IdleTransaction: time.Hour, DataConnections: 8,
		AnalystDataConnections: 8, DataQueue: 1000, AnalystDataQueue: 1000, AnalystLeftReads: 2,
		MaxPublicFanout: 1000, MaxJoinRows: 1000, MaxWork: 1_000_000, ReplyGrid: 20 * time.Millisecond,
	}) {
		t.Errorf("%+v", p.Limits)
	}
}

// TestColumnNames reads the names that columns can have in Postgres, wherever a policy names one: a column that cannot be named
// cannot be hidden.
func TestColumnNames(t *testing.T) {
	names := []string{`a"b`, "a\tb", "a\nb", " a ", `a\b`, "a: b", "#a", "Größe", "\u2028", "a\x1bb", "'", `"`, "{}", "?", "no"}
	for _, name := range names {
		key, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := config.Parse("names.yaml", fmt.Appendf(nil, `data: postgres://db/clinic
mirror: postgres://mirror/clinic
ledger: {dir: /var/lib/dpproxy}
privacy_unit: {name: patient, budget: {epsilon: 1}}
tables:
  patients:
    unit: %[1]s
    columns:
      %[1]s: hidden
  visits:
    unit: {via: %[1]s, to: %[2]s}
    not_protected: [%[1]s]
`, key, strings.Replace(string(key), `"`, `"patients.`, 1)))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		patients, visits := p.Tables.Tables[0], p.Tables.Tables[1]
		if patients.UnitColumn != name || !patients.Columns[name].Hidden || visits.Via != name || visits.To.Column != name ||
			!slices.Equal(visits.NotProtected, []string{name}) {
			t.Errorf("%q: %+v, %+v", name, patients, visits)
		}
	}
}

func TestScopes(t *testing.T) {
	limits, err := load(t, "testdata/clinic.good.yaml").Scopes()
	if err != nil {
		t.Fatal(err)
	}
	var got []accountant.Scope
	for _, l := range limits {
		got = append(got, l.Scope)
	}
	want := []accountant.Scope{
		{Kind: accountant.UnitScope, Name: "patient"},
		{Kind: accountant.TableScope, Name: "public.patients"},
		{Kind: accountant.TableScope, Name: "public.visits"},
		{Kind: accountant.TableScope, Name: "public.sales"},
		{Kind: accountant.AnalystScope, Name: "ana"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if m := limits[2].Loss.Measure(); m != dp.PureDP {
		t.Errorf("a budget without delta is under %v", m)
	}
}

func TestAnnotate(t *testing.T) {
	p := load(t, "testdata/clinic.good.yaml")
	for _, test := range []struct {
		path string // with slashes
		want string
	}{
		{"tables/public.visits/columns/cost/bounds", `testdata/clinic.good.yaml:37:14: tables.public.visits.columns.cost.bounds: wrong
   37 |       cost: {bounds: [0.10000000000000000000000000000000000001, 20000]}
                     ^`},
		{"tables/visits/unit", `testdata/clinic.good.yaml:28:11: tables.visits.unit: wrong
   28 |     unit: patient_id
                  ^`},
		{"tables/lab.labs/unit/to", `testdata/clinic.good.yaml:47:31: tables.lab.labs.unit.to: wrong
   47 |     unit: {via: visit_id, to: visits.id}
                                      ^`},
		{"tables/public.hospitals/public/no/such/key", `testdata/clinic.good.yaml:51:30: tables.public.hospitals.public.no.such.key: wrong
   51 |   public.hospitals: {public: true, columns: {address: hidden, name: {}}}
                                     ^`},
		{"tables/lab.nowhere", `testdata/clinic.good.yaml:12:1: tables.lab.nowhere: wrong
   12 | tables:
        ^`},
		{"nowhere", `testdata/clinic.good.yaml:1:1: nowhere: wrong
    1 | # Every key that a policy can have.
        ^`},
		{"analysts/ana/password", `testdata/clinic.good.yaml:67:15: analysts.ana.password: wrong
   67 | (this line is not shown: it may hold a secret)`},
	} {
		if got := p.Annotate(strings.Split(test.path, "/"), "wrong").Error(); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.path, got, test.want)
		}
	}
}

func TestAnnotateWithoutSource(t *testing.T) {
	err := new(config.Policy).Annotate([]string{"data"}, "cannot reach postgres://u:"+secret+"@h")
	if want := "data: cannot reach postgres://u:...@h"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// TestDemo holds that the demonstrations' policies are policies.
func TestDemo(t *testing.T) {
	keys := strings.Repeat("A", 43) + "="
	for _, set := range []demo.Dataset{demo.Clinic, demo.NAFLD} {
		text, err := set.Policy(demo.PolicyValues{
			Listen: "127.0.0.1:0", Data: "host=/tmp/a dbname=clinic user=dpproxy_reader",
			Mirror:    "postgres://dpproxy_mirror@127.0.0.1:5432/mirror?sslmode=disable",
			LedgerDir: "/tmp/a folder/ledger", Analyst: "ana", Verifier: "SCRAM-SHA-256$4096:c2FsdA==$" + keys + ":" + keys,
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := config.Parse("demo.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Scopes(); err != nil || len(p.Tables.Tables) < 3 || len(p.Analysts) != 1 {
			t.Errorf("%s: %+v, %v", set, p, err)
		}
	}
}

// TestLineEnds holds that a file of another system is the same policy.
func TestLineEnds(t *testing.T) {
	want := load(t, "testdata/clinic.good.yaml")
	src := strings.ReplaceAll(string(read(t, "testdata/clinic.good.yaml")), "\n", "\r\n")
	got, err := config.Parse("clinic.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, sameNumbers, cmpopts.IgnoreUnexported(config.Policy{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTooMuch holds that a file that cannot be a policy is not parsed.
func TestTooMuch(t *testing.T) {
	for _, src := range []string{strings.Repeat("#", 1<<20+1), "\xff"} {
		if _, err := config.Parse("x.yaml", []byte(src)); err == nil {
			t.Errorf("%d bytes were taken", len(src))
		}
	}
}

// TestDocs holds that the documented example is a policy, and that each of the parts of
// one behind it is.
func TestDocs(t *testing.T) {
	var examples []string
	for i, part := range strings.Split(string(read(t, "../docs/policy.md")), "```") {
		if example, is := strings.CutPrefix(part, "yaml\n"); is && i%2 == 1 {
			examples = append(examples, example)
		}
	}
	if len(examples) != 9 {
		t.Fatalf("%d examples", len(examples))
	}
	p, err := config.Parse("docs/policy.md", []byte(examples[0]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Scopes(); err != nil || len(p.Tables.Tables) != 6 || len(p.Views) != 1 || len(p.Analysts) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	const rest = `
data: postgres://db/clinic
mirror: postgres://mirror/clinic
ledger: {dir: /var/lib/dpproxy}
privacy_unit: {name: patient, budget: {epsilon: 1}}
`
	for _, part := range examples[1:] {
		if _, err := config.Parse("docs/policy.md", []byte(part+rest)); err != nil {
			t.Errorf("%s: %v", part, err)
		}
	}
}

func TestParseBudget(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta, selection string
		want                      accountant.Budget
	}{
		{"1", "", "", accountant.Budget{EpsilonPico: 1e12}},
		{"2.0000000000009", "1e-6", "", accountant.Budget{EpsilonPico: 2e12, DeltaAtto: 1e12, SelectionDeltaAtto: 5e11}},
		{".5", "1e-6", "0", accountant.Budget{EpsilonPico: 5e11, DeltaAtto: 1e12}},
	} {
		got, err := config.ParseBudget(c.epsilon, c.delta, c.selection)
		if err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	for _, c := range [][3]string{
		{"", "", ""},
		{"0", "", ""},
		{"-1", "", ""},
		{"1e9", "", ""},
		{"1e-13", "", ""},
		{"inf", "", ""},
		{"1\ndelta: 0.5", "", ""},
		{"1", "1", ""},
		{"1", "1e-6", "1e-6"},
		{"1", "", "1e-6"},
		{"1", "x", ""},
		{"1e-12", "1e-18", "0"},
	} {
		if got, err := config.ParseBudget(c[0], c[1], c[2]); err == nil {
			t.Errorf("%q is %+v", c, got)
		}
	}
}

func TestLoadMissingFile(t *testing.T) {
	if _, err := config.Load("testdata/nowhere.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// FuzzParse holds that any text is refused, or gives the same policy each time, with
// budgets that a ledger can hold.
func FuzzParse(f *testing.F) {
	for _, file := range files(f, "*.yaml") {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := config.Parse("fuzz.yaml", src)
		if (p == nil) == (err == nil) {
			t.Fatalf("policy %v, error %v", p, err)
		}
		if err != nil {
			return
		}
		again, err := config.Parse("fuzz.yaml", src)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, again, sameNumbers, cmpopts.IgnoreUnexported(config.Policy{})); diff != "" {
			t.Errorf("read twice:\n%s", diff)
		}
		if _, err := p.Scopes(); err != nil || p.Ledger.Dir == "" || len(p.Tables.Tables)+len(p.Local) == 0 {
			t.Errorf("%+v: %v", p, err)
		}
	})
}

// TestAuthQuery reads one that leaves its query out.
func TestAuthQuery(t *testing.T) {
	p := load(t, "testdata/auth-data.good.yaml")
	want := &config.AuthQuery{Connection: "data", Query: "SELECT passwd, valuntil FROM pg_catalog.pg_shadow WHERE usename = $1"}
	if diff := cmp.Diff(want, p.AuthQuery); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if p.Analysts[0].Verifier != "" {
		t.Error("an analyst without a password has a verifier")
	}
}

func TestLocal(t *testing.T) {
	p := load(t, "testdata/local.good.yaml")
	staff := catalog.Name{Schema: "lab", Name: "staff"}
	want := []policy.LocalTable{
		{
			Name: public("people"), Key: "id", Public: []string{"region"}, BudgetPico: 4e12, Never: true,
			Columns: map[string]policy.ColumnPolicy{
				"smoker": {Values: []string{"false", "true"}}, "age": {Bounds: numbers("10", "100")},
			},
		},
		{Name: staff, Key: "badge", BudgetPico: 5e11, DeltaAtto: 1e9, Columns: map[string]policy.ColumnPolicy{"ward": {EnumValues: true}}},
	}
	if diff := cmp.Diff(want, p.Local, sameNumbers); diff != "" {
		t.Errorf("local tables (-want +got):\n%s", diff)
	}
	if len(p.Tables.Tables) != 0 || len(p.Analysts[0].Tables) != 0 || !slices.Equal(p.Analysts[0].Local, []catalog.Name{public("people")}) {
		t.Errorf("%+v", p)
	}
	limits, err := p.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	scope := accountant.Scope{Kind: accountant.LocalScope, Name: "lab.staff"}
	if len(limits) != 3 || limits[2].Scope != scope || limits[2].Loss.Pico() != 5e11 || limits[2].Loss.Atto() != 1e9 ||
		limits[1].Loss.Measure() != dp.PureDP {
		t.Errorf("the limits of the ledger are %v", limits)
	}
}

// TestLocalBudgets reads budgets of objects as decisions state them.
func TestLocalBudgets(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, want string }{
		{"4", "", "ε=4"},
		{"4", "1e-9", "ε=4 δ=1e-09"},
		{"0", "", ""},
		{"1001", "", ""},
		{"4", "0.5", ""},
		{"4", "0", ""},
		{"", "1e-9", ""},
		{"four", "", ""},
		{"4}", "", ""},
		{"4", "1e-9, x: 1", ""},
	} {
		l, err := config.ParseLocalBudget(c.epsilon, c.delta)
		if c.want == "" && err == nil || c.want != "" && (err != nil || l.String() != c.want) {
			t.Errorf("epsilon %q, delta %q: %v, %v", c.epsilon, c.delta, l, err)
		}
	}
}
