package planner_test

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/internal/pgtemp"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/work"
)

// server is a real Postgres with the clinic's tables, the protected database; mirrorServer may be
// the same one, or another with the same tables.
var server, mirrorServer *pgtemp.Server

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if server, mirrorServer, err = pgtemp.StartPair(context.Background(), pgtemp.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		servers := []*pgtemp.Server{server}
		if mirrorServer != server {
			servers = append(servers, mirrorServer)
		}
		for _, s := range servers {
			defer s.Stop()
			if err := fill(context.Background(), s); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		if version, err := server.Version(); err == nil {
			plannertest.ServedVersion = version * 10000
		}
		return m.Run()
	}())
}

func fill(ctx context.Context, s *pgtemp.Server) error {
	conn, err := pgconn.Connect(ctx, s.URL("postgres", pgtemp.Superuser))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, adversarialRows()).ReadAll()
	return err
}

// Connect opens a session on the protected database.
func connect(t testing.TB) *pgconn.PgConn { return connectTo(t, server, "postgres") }

// TestPlans draws the plan, or the refusal, of every statement in
// testdata/plan and testdata/unsupported. A diff of these files is the review of
// all that is read, how it is bounded and its price. Commands:
//
//	plan [error=50] [relative_error=0.05] [target_fraction=0.9] [brdp] [epsilon=1] [mechanism=auto]
//	  [pure] [params=(23)] [args=(5)] [delta=1e-10] [max_rows=5] [max_partitions=1] [max_sum=100]
//	  [contribution=auto] [top=on] [totals=on] [indexed] [views] [hide=(id,patient_id)] [unbounded=(cost)] [step=(tip,0.01)]
//	  [view=(hospitals,v)] [derived] [ordered] [referring] [mute] [minimum_people=10] [empty_groups=hide] [nobody]
//
// params are the types of the parameters, and args their values; indexed gives visits
// indexes that begin with the unit; views adds those whose queries are not shown; hide names columns that
// are hidden in every protected table; unbounded names columns of visits without bounds, and step one that
// has a step instead; view names a public table that is a relation of another kind; derived bounds expressions over visits;
// mute asks for no intervals of percentiles; nobody has visits without a patient count.
// A text between ⟨ and ⟩ is a released result that is not known.
func TestPlans(t *testing.T) {
	served := plannertest.ServedVersion
	plannertest.ServedVersion = 150000 // of the golden files
	defer func() { plannertest.ServedVersion = served }()
	cat := clinic(t)
	conn := connect(t)
	for _, dir := range []string{"testdata/plan", "testdata/unsupported"} {
		refused := dir == "testdata/unsupported"
		datadriven.Walk(t, dir, func(t *testing.T, path string) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out, err := drawPlan(t, conn, cat, d)
				if refused && err == nil {
					t.Errorf("%s: accepted", d.Input)
				}
				if err != nil {
					return out + "\n"
				}
				return out
			})
		})
	}
	if t.Logf("at most %d steps", mostWork); mostWork > work.Most/4 {
		t.Errorf("a statement took %d steps, of %d", mostWork, work.Most)
	}
}

// mostWork is how many steps the longest analysis and plan of a golden file took, of those that came to an end.
var mostWork int64

func noteWork(meters ...*work.Meter) {
	for _, m := range meters {
		if m.Err() == nil {
			mostWork = max(mostWork, m.Spent())
		}
	}
}

func drawPlan(t *testing.T, conn *pgconn.PgConn, cat *policy.Model, d *datadriven.TestData) (string, error) {
	if d.HasArg("indexed") {
		cat = indexedClinic(t)
	}
	if d.HasArg("views") {
		cat = concealedClinic(t)
	}
	if d.HasArg("hide") {
		cat = hiddenClinic(t, list(d, "hide")...)
	}
	if d.HasArg("view") {
		cat = clinicWithView(t, list(d, "view"))
	}
	if d.HasArg("reference") {
		cat = referredClinic(t)
	}
	if d.HasArg("nobody") {
		cat = countingClinic(t, policy.NobodyRows)
	}
	if d.HasArg("referring") {
		cat = plannertest.ReferringClinic(t)
	}
	if d.HasArg("derived") {
		cat = boundedClinic(t)
	}
	if d.HasArg("ordered") {
		s := clinicSchema()
		s.Tables[name("visits")].Checks = []catalog.Check{{Expr: "(cost >= tip)", Columns: []string{"cost", "tip"}}}
		cat = checkedBy(t, clinicPolicy(), s)
	}
	if d.HasArg("unbounded") || d.HasArg("step") {
		cat = unboundedClinic(t, list(d, "unbounded"), list(d, "step"))
	}
	script, err := unknown(d.Input).Parse(planner.Names(cat))
	if err != nil {
		return refusal(d.Input, err), err
	}
	st := script.Statements[0]
	if st.Class == parser.Refused {
		return refusal(st.Text, st.Refusal), st.Refusal
	}
	if st.Class != parser.Release && st.Class != parser.Explain {
		d.Fatalf(t, "class %d", st.Class)
	}
	plan, err := makePlan(t, conn, cat, st, d)
	if err != nil {
		return refusal(st.Text, err), err
	}
	wholeTexts(t, plan, d.Input)
	return strings.Join(plan.ExplainVerbose(costs(t, plan, d)), "\n") + "\n", nil
}

// unknown is a text with results that are not known, each between ⟨ and ⟩.
func unknown(marked string) (text parser.Text) {
	for marked != "" {
		own, rest, _ := strings.Cut(marked, "⟨")
		result, after, _ := strings.Cut(rest, "⟩")
		if text.SQL += own; result != "" {
			text.Unknown = append(text.Unknown, parser.Span{Start: len(text.SQL), End: len(text.SQL) + len(result)})
		}
		text.SQL, marked = text.SQL+result, after
	}
	return text
}

// unboundedClinic is a clinic whose policy has no bounds of some columns of visits, and a step of one.
func unboundedClinic(t *testing.T, unbounded, step []string) *policy.Model {
	t.Helper()
	p := clinicPolicy()
	for i := range p.Tables {
		for _, c := range unbounded {
			delete(p.Tables[i].Columns, c)
		}
	}
	if step != nil {
		setStep(&p, step[0], rat(step[1]))
	}
	return checkedBy(t, p, clinicSchema())
}

// clinicWithView has a relation of another kind, pg_class.relkind, in the place of a public table.
func clinicWithView(t *testing.T, view []string) *policy.Model {
	t.Helper()
	s := clinicSchema()
	s.Tables[name(view[0])].Kind = view[1][0]
	return checkedBy(t, clinicPolicy(), s)
}

// setStep gives a column of visits a step instead of bounds.
func setStep(p *policy.Policy, column string, step *big.Rat) {
	i := slices.IndexFunc(p.Tables, func(t policy.TablePolicy) bool { return t.Name == name("visits") })
	p.Tables[i].Columns[column] = policy.ColumnPolicy{Step: step}
}

func makePlan(t *testing.T, conn *pgconn.PgConn, cat *policy.Model, st *parser.Statement, d *datadriven.TestData) (*planner.Plan, error) {
	var params []uint32
	for _, p := range list(d, "params") {
		n, _ := strconv.ParseUint(p, 10, 32)
		params = append(params, uint32(n))
	}
	analysis, plan := work.New(t.Context(), work.Most), work.New(t.Context(), work.Most)
	defer func() { noteWork(analysis, plan) }()
	q, err := planner.Analyze(analysis, cat, st, params)
	if err != nil {
		return nil, err
	}
	vals := evaluate(t, conn, q, params, list(d, "args"))
	s := planner.Settings{EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "auto", Pure: d.HasArg("pure"), Alpha: 0.05}
	s.Limits = policy.Limits{PublicFanout: 1000, Work: 1_000_000}
	number := func(key string) (f float64) {
		if v := list(d, key); v != nil {
			f, _ = strconv.ParseFloat(v[0], 64)
		}
		return f
	}
	s.NoIntervals = d.HasArg("mute")
	if d.HasArg("mechanism") {
		s.Mechanism = list(d, "mechanism")[0]
	}
	if d.HasArg("epsilon") {
		s.EpsilonPico = int64(number("epsilon") * dp.PicoPerUnit)
	}
	s.Target = planner.Target{Error: number("error"), Relative: number("relative_error"), Fraction: number("target_fraction")}
	s.TypicalPico = s.EpsilonPico
	if d.HasArg("brdp") {
		s.Mechanisms = planner.Mechanisms()
	}
	if only := list(d, "mechanisms"); only != nil {
		s.Mechanisms = only
	}
	if chosen := list(d, "contribution"); chosen != nil {
		s.Contribution = chosen[0]
	}
	if top := list(d, "top"); top != nil {
		s.Top = top[0]
	}
	if totals := list(d, "totals"); totals != nil {
		s.Totals = totals[0]
	}
	s.MinimumPeople = int64(number("minimum_people"))
	if empty := list(d, "empty_groups"); empty != nil {
		s.EmptyGroups = empty[0]
	}
	s.MaxRows, s.MaxPartitions = int64(number("max_rows")), int64(number("max_partitions"))
	if d.HasArg("max_sum") {
		s.MaxSum = rat(list(d, "max_sum")[0])
	}
	return q.Specialize(plan, vals, s)
}

func list(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

// evaluate computes the constants of a statement on the mirror of the database that the session is
// of.
func evaluate(t testing.TB, conn *pgconn.PgConn, q *planner.Query, params []uint32, args []string) []scalar.Value {
	t.Helper()
	conn = mirrorOf(t, conn)
	values := plannertest.Evaluate(t, conn, q.Folds(), params, args)
	return plannertest.WithLists(t, conn, q, values, planner.ListsSQL)
}

// mirrors are the sessions on the mirror, by those on the protected database that they stand beside.
var mirrors sync.Map

// mirrorOf returns the session on the mirror beside one on the protected database, which is the same where the servers are.
func mirrorOf(t testing.TB, conn *pgconn.PgConn) *pgconn.PgConn {
	t.Helper()
	if mirrorServer == server {
		return conn
	}
	if beside, ok := mirrors.Load(conn); ok {
		return beside.(*pgconn.PgConn)
	}
	beside := connectTo(t, mirrorServer, databaseOf(t, conn))
	mirrors.Store(conn, beside)
	t.Cleanup(func() { mirrors.Delete(conn) })
	return beside
}

// costs prices a plan in a full budget of 100.
func costs(t *testing.T, p *planner.Plan, d *datadriven.TestData) []planner.Cost {
	t.Helper()
	if !p.Reads() {
		return nil
	}
	measure, atto := dp.ZCDP, int64(1e12)
	if d.HasArg("pure") {
		measure, atto = dp.PureDP, 0
	}
	loss, err := accountant.Price(p.Event, measure)
	if err != nil {
		t.Fatal(err)
	}
	full, err := dp.NewLoss(measure, 100*dp.PicoPerUnit, atto)
	if err != nil {
		t.Fatal(err)
	}
	left, err := full.Minus(loss)
	return []planner.Cost{{Scope: "unit patient", Loss: loss, Remaining: left, Fits: err == nil}}
}

func rat(s string) *big.Rat {
	r, _ := new(big.Rat).SetString(s)
	return r
}

// undo ends the transaction of a test that wrote much, and makes its tables and indexes anew. Else the tests that follow read what is
// dead, and compare with long texts that divide the pages of indexes.
func undo(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	run(t, conn, "ROLLBACK")
	run(t, conn, "VACUUM FULL patients, visits, labs")
}
