package proxy

import (
	"context"
	"errors"
	"slices"
	"time"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/planner/work"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/memory"
	"dpproxy/wire"
)

// execution runs one statement of one analyst.
type execution struct {
	p       *Proxy
	session *wire.Session
	analyst string
	text    *text
	part    *part // that it is of a statement; nil of a statement itself
	// answers are the mirror's to texts of constants, of all parts of the statement, by the texts; nil before it begins.
	answers map[string]*wire.Result
	lent    lending // of all parts of the statement, too
}

// begun is the execution with its answers.
func (e *execution) begun() *execution {
	own := *e
	own.answers, own.lent = map[string]*wire.Result{}, lending{}
	return &own
}

// once returns the mirror's answer to a text of constants. A statement is planned several times: as it is written, with its public rows as
// constants, with results that are known by then. Each text is evaluated the first time alone, since nextval moves with each evaluation.
func (e *execution) once(sql string, ask func() (*wire.Result, error)) (*wire.Result, error) {
	if known := e.answers[sql]; known != nil {
		return known, nil
	}
	res, err := ask()
	if err == nil && e.answers != nil {
		e.answers[sql] = res
	}
	return res, err
}

// release is the path of a protected statement. Up to the charge, everything is
// decided by the statement, the policy and the session; nothing of it depends on
// a protected row, and a refusal costs nothing. From the charge on, nothing is
// taken back. The steps, and the rights of each, stand in path.go.
func (e *execution) release(ctx context.Context, m *wire.Asker, b wire.BindRequest) (rw wire.Rewrite, err error) {
	if e.answers == nil {
		e = e.begun()
		defer func() {
			if err == nil {
				e.lent.end(e.text.plans)
			}
		}()
	}
	if e.text.stmt.Let != nil {
		return evaluate(ctx, e, e.text.stmt.Let, m, b)
	}
	if len(e.text.stmt.Unknown) > 0 {
		return wire.Rewrite{}, errors.New("proxy: a statement would be answered before the results that it uses")
	}
	analysed, err := e.resolve(ctx, m, b)
	if err != nil {
		return inReserve(ctx, e, m, b, err)
	}
	if err := rehearse(ctx, m, e.text.stmt, e.text.stmt.Destination, b); err != nil {
		return wire.Rewrite{}, err
	}
	if skipped, err := skips(ctx, m, e.text.stmt); err != nil || skipped {
		return wire.Rewrite{Relay: true}, err
	}
	query := analysed.query
	pre, err := e.prelude(ctx, m, query, b)
	if err != nil {
		return inReserve(ctx, e, m, b, err)
	}
	if pre.shadowed {
		return wire.Rewrite{Relay: true}, nil
	}
	if err := e.describe(ctx, m, query, pre, b); err != nil {
		return wire.Rewrite{}, err
	}
	if err := plannedAsWritten(ctx, e, analysed, pre); err != nil {
		return inReserve(ctx, e, m, b, err)
	}
	plan, released, err := e.answer(ctx, m, b, analysed, pre)
	if err != nil {
		return wire.Rewrite{}, err
	}
	if !plan.Reads() {
		rw, err = e.rewrite(ctx, query, pre, columns(plan, nil), b)
		if !e.part.quiet() {
			rw.Notices = append(rw.Notices, astray(plan, pre, e.outdated(plan))...)
		}
		return rw, err
	}
	put := func(sql string) string { return sql }
	if e.part == nil {
		if put, err = replayed(ctx, e, m, b, query, plan, released, pre); err != nil {
			return wire.Rewrite{}, err
		}
	}
	rw, err = e.rewrite(ctx, query, pre, columns(plan, released), b)
	if err != nil {
		return wire.Rewrite{}, err
	}
	if rw.Inline = put(rw.Inline); rw.SQL != "" {
		rw.SQL = put(rw.SQL)
	}
	if e.part.quiet() {
		return rw, nil
	}
	rw.Notices = slices.Concat(rw.Notices, warnings(plan, released, pre.settings.Spend()),
		unshown(ctx, e, plan, released, pre, b.ParamOIDs), tell(ctx, e, pre.settings))
	return rw, nil
}

// outdated names the public tables whose copies may decide the answer, and that have other rows by now.
func (e *execution) outdated(plan *planner.Plan) []string {
	return outdated(e.p.cfg.Data, plan, e.part != nil && e.part.copied)
}

// answer plans the statement and has it released, anew when it has waited for another one that drew the same. Of a plan that
// reads nothing nothing is released.
func (e *execution) answer(
	ctx context.Context, m *wire.Asker, b wire.BindRequest, analysed *analysed, pre *prelude,
) (*planner.Plan, [][]*planner.Released, error) {
	patience, stop := pre.patience(ctx)
	defer stop()
	for {
		plan, err := e.planWithinBudget(patience, analysed, pre)
		if err != nil {
			return nil, nil, mended(ctx, e, m, b, err)
		}
		if !plan.Reads() {
			return plan, nil, nil
		}
		released, err := e.behindVeil(ctx, patience, plan, pre)
		switch {
		case err == nil:
			return plan, released, nil
		case !errors.Is(err, errAgain):
			return nil, nil, e.fitting(patience, analysed, pre, err)
		}
	}
}

// resolve resolves the statement and checks that it is the analyst's to ask.
func (e *execution) resolve(ctx context.Context, m *wire.Asker, b wire.BindRequest) (*analysed, error) {
	if err := e.checkBeside(ctx, m); err != nil {
		return nil, err
	}
	a, err := e.granted(ctx, m, b)
	if e.text.stmt.Reserve != nil {
		return a, err // its reserve is tried first
	}
	return a, mended(ctx, e, m, b, err)
}

// granted is resolve without another statement that could be asked.
func (e *execution) granted(ctx context.Context, m *wire.Asker, b wire.BindRequest) (*analysed, error) {
	e.enter(stepResolve)
	analysed := understand(ctx, e, m, b.ParamOIDs)
	granted := checkGrants(e.text.stmt.Protected, e.p.analyst(e.analyst).Tables)
	if granted == nil {
		if err := e.checkSchema(analysed); err != nil {
			return nil, err
		}
	}
	if analysed.err != nil {
		return nil, analysed.err
	}
	return analysed, granted
}

// checkSchema refuses a statement about something that is off, also where that makes it
// wrong: the errors of Postgres or the planner are of no use then.
func (e *execution) checkSchema(analysed *analysed) error {
	var names []catalog.Name
	for _, t := range e.text.stmt.Protected {
		names = append(names, tableName(t))
	}
	untold := planner.UntoldOf(e.text.stmt)
	if analysed.err == nil {
		// Tables come before the views that read them, whose form is theirs, too.
		names, untold = append(analysed.query.Relations(), names...), analysed.query.Untold()
	}
	if t, off := e.p.cfg.Data.TurnedOff(names); off {
		return e.p.cfg.Data.SchemaChanged(t, untold)
	}
	return nil
}

// checkBeside refuses a statement over protected rows that has rows of a relation which is off beside them, in whatever form: as constants,
// in a join with results, through a view of the session. They are the mirror's, as they were copied before the change.
func (e *execution) checkBeside(ctx context.Context, m *wire.Asker) error {
	tables := e.text.stmt.Beside
	if len(tables) == 0 || len(e.p.cfg.Data.Off()) == 0 {
		return nil
	}
	res, err := m.Query(ctx, readSQL(tables), nil, nil, nil, nil)
	if err != nil {
		return err
	}
	var names []catalog.Name
	for _, row := range res.Rows {
		names = append(names, catalog.Name{Schema: string(row[0]), Name: string(row[1])})
	}
	if t, off := e.p.cfg.Data.TurnedOff(names); off {
		return e.p.cfg.Data.SchemaChanged(t, nil)
	}
	return nil
}

// plan decides everything, with the values of the constants and the settings.
func (e *execution) plan(ctx context.Context, analysed *analysed, pre *prelude) (*planner.Plan, error) {
	tables := analysed.query.Tables()
	allowed := e.p.allowance(e.analyst, tables)
	plan, err := analysed.plan(work.New(ctx, work.Most), pre.values, planner.Settings{
		EpsilonPico: allowed.most(pre.settings.Spend()),
		DeltaAtto:   e.p.cfg.Defaults.DeltaAtto,
		Mechanism:   pre.settings.Mechanism,
		Mechanisms:  allowed.Mechanisms,
		Target:      pre.settings.Target,
		LeftPico:    pre.leftPico,
		TypicalPico: e.p.cfg.Defaults.EpsilonPico,
		Pure:        e.p.cashier.Pure(e.scopes(tables)),
		Alpha:       1 - pre.settings.Confidence,
		MaxRows:     pre.settings.MaxRows, MaxPartitions: pre.settings.MaxPartitions, MaxSum: pre.settings.MaxSum,
		Contribution: pre.settings.Contribution, ShowSmallGroups: pre.settings.ShowSmall, Consistent: pre.settings.Consistent,
		EmptyGroups: pre.settings.EmptyGroups, Judgment: e.p.cfg.Defaults.Judgment,
		MinimumPeople: max(allowed.MinimumPeople, pre.settings.MinimumPeople), // a session can raise it alone
		Top:           pre.settings.Top, Totals: pre.settings.Totals,
		LimitRetry: pre.settings.LimitRetry, NoIntervals: pre.settings.NoIntervals || !e.part.ends(),
		Limits: e.p.cfg.Limits,
	}, e.lent)
	if err != nil {
		return nil, timely(err)
	}
	return plan, e.p.incidents.admit(e.analyst, plan.Shape)
}

// leastUseful is the part of its pool that must be left for noise reduction to begin: with
// less, its error is more than ten times as large.
const leastUseful = 100

// planWithinBudget plans the statement. Where only the policy bounds the price of noise reduction,
// and less is left, it may spend that. It reads and charges nothing.
func (e *execution) planWithinBudget(ctx context.Context, analysed *analysed, pre *prelude) (*planner.Plan, error) {
	e.enter(stepPlan)
	plan, err := e.plan(ctx, analysed, pre)
	if err != nil || plan.Reduces() != dp.ZCDP || pre.settings.Capped {
		return plan, err
	}
	if _, fits := e.p.cashier.Left(ctx, e.bill(plan, nil)); fits {
		return plan, nil
	}
	known := e.recall(ctx, plan, pre)
	rest := plan.Rest(known.Left())
	if !rest.Reads() {
		return plan, nil
	}
	left, fits := e.p.cashier.Left(ctx, e.bill(rest, known.Owed))
	most, err := e.p.cashier.Price(rest.Event, dp.ZCDP)
	if err != nil {
		return nil, err
	}
	if fits || left < most.Pico()/leastUseful {
		return plan, nil // the ledger refuses a bill that does not fit
	}
	lessened := *pre
	lessened.leftPico = left
	if smaller, err := e.plan(ctx, analysed, &lessened); err == nil {
		return smaller, nil
	}
	return plan, nil
}

// recall looks for releases of a plan's blocks.
func (e *execution) recall(ctx context.Context, plan *planner.Plan, pre *prelude) *memory.Recalled {
	e.enter(stepRecall)
	who := memory.Analyst{Name: e.analyst, Budget: e.p.analyst(e.analyst).Budget || e.p.cashier.Owns(e.analyst)}
	age := pre.settings.MaxAge
	if e.part != nil && e.part.present {
		age = 0
	}
	return e.p.memory.Recall(ctx, plan, who, pre.settings.Refine, e.p.since(age))
}

// since is how old releases of former epochs may be; the zero time: there must be none.
func (p *Proxy) since(age time.Duration) time.Time {
	if age == 0 || p.cfg.Now == nil {
		return time.Time{}
	}
	return p.cfg.Now().Add(-age)
}

// bill is the cost of a plan's reads, and of the analyst's debts.
func (e *execution) bill(plan *planner.Plan, owed dp.ComposedEvent) cashier.Bill {
	return cashier.Bill{
		Analyst: e.analyst, Shape: plan.Shape, Scopes: e.scopes(plan.Tables), Tables: e.p.cashier.Tables(plan.Tables),
		Event: plan.Event, Owed: owed, Rounds: plan.Reads() && plan.Reduces() != 0,
		Untold: plan.Untold,
	}
}

// prepaid returns a bill with the amount that was paid for its question when a read of it was interrupted.
func (e *execution) prepaid(ctx context.Context, b cashier.Bill, rest *planner.Plan, known *memory.Recalled, pre *prelude) cashier.Bill {
	if rest.Reads() {
		b.Question = e.p.memory.Asked(rest, known)
		e.p.cashier.Prepay(ctx, &b)
	}
	return b
}

// scopes lists the budgets that a statement on the tables debits.
func (e *execution) scopes(tables []catalog.Name) []accountant.Scope {
	return e.p.cashier.Scopes(e.analyst, e.p.analyst(e.analyst).Budget, tables)
}

// columns returns the arrays of each block's released relation. Blocks that read nothing
// have released nothing.
func columns(plan *planner.Plan, released [][]*planner.Released) [][]string {
	out := make([][]string, len(plan.Blocks))
	for i, b := range plan.Blocks {
		sets := make([]*planner.Released, len(b.Sets))
		if released != nil && released[i] != nil {
			sets = released[i]
		}
		out[i] = b.Columns(sets)
	}
	return out
}

// rewrite puts the released relations in the places of the blocks, and the rows of views that
// are concealed in theirs.
func (e *execution) rewrite(
	ctx context.Context, query *planner.Query, pre *prelude, released [][]string, b wire.BindRequest,
) (wire.Rewrite, error) {
	e.enter(stepRewrite)
	rows, err := e.concealedRows(ctx, query, pre, released)
	if err != nil {
		return wire.Rewrite{}, err
	}
	array := func(p place) string {
		if p.view {
			return rows[p.of][p.column]
		}
		return released[p.of][p.column]
	}
	rw := wire.Rewrite{Inline: e.spliced(query, false, func(p place) string { return ast.Quote(array(p)) })}
	if e.text.stmt.Form == parser.Utility || b.Simple {
		return rw, nil
	}
	var places []place
	rw.SQL, places = e.parameterised(query, len(b.ParamOIDs))
	for _, p := range places {
		rw.Extra = append(rw.Extra, []byte(array(p)))
		rw.ExtraOIDs = append(rw.ExtraOIDs, 0)
	}
	return rw, nil
}

// enter notes that an execution comes to a step.
func (e *execution) enter(s step) {
	if e.p.trace != nil {
		e.p.trace(s)
	}
}
