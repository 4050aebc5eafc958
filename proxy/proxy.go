package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/catalog"
	"dpproxy/mechanisms"
	"dpproxy/parser/lex"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/flight"
	"dpproxy/proxy/memory"
	"dpproxy/proxy/publication"
	"dpproxy/proxy/reader"
	"dpproxy/proxy/survey"
	"dpproxy/wire"
)

// Config has the parts of a Proxy. All fields but Views, Aside, Answers, Grid, Sharing, Log
// and Now are required.
type Config struct {
	Catalog *policy.Model
	// Views are the views over protected tables.
	Views  []catalog.Name
	Ledger accountant.Ledger
	// Database names the protected database, whose OIDs Catalog has. Empty: they tell nothing.
	Database string
	Data     *reader.Data
	// Aside computes constants that no analyst may see; nil if the policy conceals nothing.
	Aside *Aside
	// Relations returns the OIDs that the protected relations and views have on the
	// mirror. It is called at start and when a session reports another OID.
	Relations func(ctx context.Context) (map[catalog.Name]uint32, error)
	Analysts  map[string]Analyst
	Defaults  Defaults
	Answers   Answers
	// Publications seals the records of published tables.
	Publications publication.Book
	Grid         Grid
	// Sharing says how statements share the sessions of Data.
	Sharing reader.Sharing
	// LeftReads is how many reads of one analyst go on whose clients have left them.
	LeftReads int
	// Limits bound the work of a statement.
	Limits policy.Limits
	// Surveys asks the objects of local tables; nil if the policy has none.
	Surveys *survey.Desk
	Source  mechanisms.Source
	Log     *slog.Logger
	// Now is the clock of dp.history and dp.last; nil: they show no times.
	Now func() time.Time
}

// Answers are the store of a Proxy's answers, and how long they answer the
// same question.
type Answers struct {
	Store answers.Store // nil: nothing is remembered
	// Version covers the secret, and the policy and the schema of relations: an answer, and a prepaid amount, is for one version of those
	// that it reads.
	Version func(relations []catalog.Name) []byte
	// Epoch names the data: an answer is of one epoch.
	Epoch func() string
}

// Close closes the store, if there is one.
func (a Answers) Close() error {
	if a.Store == nil {
		return nil
	}
	return a.Store.Close()
}

// An Analyst has the rights of one login by the policy.
type Analyst struct {
	// Tables are the protected tables the analyst may ask about.
	Tables map[catalog.Name]bool
	// Budget says that the analyst has a budget of their own.
	Budget bool
	// Widens says that sessions begin with a word of dp.columns by which statements get more columns, or that the analyst publishes.
	Widens bool
	// Pooled says that a pooler gives the analyst's sessions to other clients between transactions.
	Pooled bool
	Allowance
}

// ClearIncidents forgets the failed reads of an analyst, or of all when it is empty, that are in no ledger: those
// in the ledger were cleared there.
func (p *Proxy) ClearIncidents(analyst string) { p.incidents.clear(analyst) }

// ReloadBudgets reads the budgets of the ledger anew, after a decision about their names.
func (p *Proxy) ReloadBudgets(ctx context.Context) error { return p.cashier.Reload(ctx) }

// analyst returns the rights of a login: none, if the policy does not name it.
func (p *Proxy) analyst(name string) Analyst { return p.cfg.Analysts[name] }

// Defaults of the settings, from the policy.
type Defaults struct {
	EpsilonPico int64
	Mechanism   string
	Confidence  float64
	// DeltaAtto is the most that a statement may spend on partition selection, in 10⁻¹⁸ of δ.
	DeltaAtto int64
	// Timeout bounds one read of protected data.
	Timeout time.Duration
	// MaxEpsilonPico is the most that reaching a target may cost, in 10⁻¹² of ε; 0: EpsilonPico.
	MaxEpsilonPico int64
	// Target is asked for by statements that do not say.
	Target planner.Target
	// Refine says that remembered measurements are refined.
	Refine bool
	// Recycling says that mechanisms may draw noise anew that is out of its bounds.
	Recycling bool
	// MinimumPeople is how many people a group must have by a released count to be shown, 0: no minimum; Judgment is the confidence at
	// which groups are judged.
	MinimumPeople int64
	Judgment      float64
	// Tables are the allowances of single tables.
	Tables map[catalog.Name]Allowance
	// TableDefaults are the defaults of statements about single tables.
	TableDefaults map[catalog.Name]TableDefaults
}

// TableDefaults are settings of statements about a table, where the session did not set them.
// A 0 is as for all tables.
type TableDefaults struct {
	EpsilonPico, MaxEpsilonPico   int64
	RelativeError, TargetFraction float64
}

// frugal returns the defaults of a statement about both tables: the ones that spend less.
func (d TableDefaults) frugal(other TableDefaults) TableDefaults {
	return TableDefaults{
		EpsilonPico: lesser(d.EpsilonPico, other.EpsilonPico), MaxEpsilonPico: lesser(d.MaxEpsilonPico, other.MaxEpsilonPico),
		RelativeError: max(d.RelativeError, other.RelativeError), TargetFraction: lesser(d.TargetFraction, other.TargetFraction),
	}
}

// lesser returns the lesser of two limits, where 0 is none.
func lesser[T int64 | float64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// A Proxy answers statements about protected tables, by one policy and one schema. It implements wire.Handler.
type Proxy struct {
	cfg       Config
	filter    *lex.Filter
	texts     *cache
	relations *relations
	incidents *incidents
	history   *history
	consents  *consents
	reader    *reader.Reader
	cashier   *cashier.Cashier
	memory    *memory.Memory
	flights   *flight.Board
	reads     sync.WaitGroup // that are under way
	trace     func(step)     // in tests
}

// New returns a Proxy. It reads the state of the ledger and of the mirror.
func New(ctx context.Context, cfg Config) (*Proxy, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{
		cfg: cfg, texts: newCache(planner.Names(cfg.Catalog)), reader: reader.New(cfg.Data, cfg.Sharing),
		memory: memory.New(cfg.Answers.Store, cfg.Answers.Version, cfg.Answers.Epoch, cfg.Now, cfg.Log),
	}
	var names []string
	for _, n := range append(cfg.Catalog.Protected(), cfg.Views...) {
		names = append(names, n.Name)
	}
	p.filter = lex.NewFilter(names)
	var err error
	if p.cashier, err = cashier.New(ctx, cfg.Ledger, cfg.Catalog, cfg.Database, cfg.Log); err != nil {
		return nil, err
	}
	p.incidents = &incidents{ledger: cfg.Ledger}
	p.history, p.consents, p.flights = &history{}, newConsents(cfg.Now), flight.NewBoard()
	p.relations = &relations{load: cfg.Relations}
	if err := p.relations.reload(ctx); err != nil {
		return nil, fmt.Errorf("reading the mirror: %w", err)
	}
	return p, nil
}

// Next returns the Proxy that comes after p, by another policy or schema: it goes on with the history and the
// incidents of p, and where it reads by the same sessions, in the turn of p's statements.
func (p *Proxy) Next(ctx context.Context, cfg Config, sameSessions bool) (*Proxy, error) {
	next, err := New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	next.history, next.incidents, next.consents, next.flights = p.history, p.incidents, p.consents, p.flights
	if sameSessions {
		next.reader = p.reader.Next(cfg.Data)
	}
	return next, nil
}

// Finish waits for the reads that go on without their clients, and ends those that ctx does not leave the time. No statement may run
// or begin: it is for the end of dpproxy.
func (p *Proxy) Finish(ctx context.Context) {
	defer context.AfterFunc(ctx, p.flights.Stop)()
	p.reads.Wait()
	p.flights.Stop() // those of former policies too
}

var (
	_ wire.Handler = (*Proxy)(nil)
	_ wire.Widener = (*Proxy)(nil)
)
