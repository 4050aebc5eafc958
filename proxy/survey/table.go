package survey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/accountant/realized"
	"dpproxy/catalog"
	"dpproxy/mechanisms"
	"dpproxy/mirror"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	answers "dpproxy/survey"
)

// A Ledger records surveys.
type Ledger interface {
	Survey(ctx context.Context, s accountant.Survey) error
	Surveys(ctx context.Context, table string) (all []accountant.Survey, epoch int64, err error)
	// CloseEpoch says that the values of a table may have changed.
	CloseEpoch(ctx context.Context, table, reason string) error
	Balances(ctx context.Context, scopes ...accountant.Scope) ([]accountant.Balance, error)
}

// Config has the parts of a Desk.
type Config struct {
	Tables []*policy.Local
	// Others says of tables that objects have answered which are not theirs by now. They are frozen, and their answers are not shown.
	Others map[catalog.Name]error
	// Readers are the analysts who may ask about each table and read its answers.
	Readers map[catalog.Name][]string
	// Dir is the folder of answers.
	Dir    string
	Ledger Ledger
	// Data and Mirror open sessions: of the reader on the protected database, of the superuser on the mirror.
	Data, Mirror func(ctx context.Context) (*pgx.Conn, error)
	Source       mechanisms.Source
	Log          *slog.Logger
	// Before14 says that the protected database is a Postgres before 14.
	Before14 bool
}

// A table is a local table with its answers, for the one survey that is asked at a time.
type table struct {
	cfg  Config
	turn chan struct{} // has the table's turn
	now  shown
	// The following belong to whoever has the turn.
	shelf
	shown   bool   // the mirror shows all answers
	unshown string // why not, as it was last tried
	// estimating has who estimates; the estimates belong to whoever is there.
	estimating chan struct{}
	estimates  *estimates
}

// load reads the answers that the ledger has. Where the policy says that values may change, an epoch in which they were promised
// not to ends: a policy that promises it again promises nothing of now and then.
func (t *table) load(ctx context.Context) error {
	cfg := t.cfg
	name := t.local.Name.String()
	if err := t.read(ctx); err != nil {
		return err
	}
	if !t.local.Never && t.answers.Promised() {
		if err := cfg.Ledger.CloseEpoch(ctx, name, "values_change: sum"); err != nil {
			return err
		}
		if err := t.read(ctx); err != nil {
			return err
		}
	}
	if err := t.compare(ctx); err != nil {
		return err
	}
	if other := cfg.Others[t.local.Name]; other != nil {
		t.answers.Freeze(other)
	}
	if frozen := t.answers.Frozen(); frozen != nil {
		cfg.Log.ErrorContext(ctx, "a local table is frozen: no survey of it is taken", "table", name, "reason", frozen)
	}
	return nil
}

// read reads the answers.
func (t *table) read(ctx context.Context) error {
	name := t.local.Name.String()
	surveys, epoch, err := t.cfg.Ledger.Surveys(ctx, name)
	if err != nil {
		return err
	}
	if len(surveys) > 0 {
		name = surveys[0].Table // the one that it had, if a decision has renamed its budget since
	}
	t.answers, err = answers.Open(filepath.Join(t.cfg.Dir, name), name, t.local.PublicIDs(), surveys, epoch, false)
	return err
}

// compare freezes a table of which the mirror shows a survey that the ledger does not have: analysts have seen its answers.
func (t *table) compare(ctx context.Context) error {
	conn, err := t.cfg.Mirror(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	state, err := mirror.LocalState(ctx, conn, t.local.Name.Name)
	if err != nil || state == "" {
		return err
	}
	text, digest, _ := strings.Cut(state, " ")
	n, err := strconv.Atoi(text)
	surveys := t.answers.Surveys()
	if err != nil || n < 0 || n > len(surveys) || n > 0 && surveys[n-1].Digest != digest {
		t.answers.Freeze(fmt.Errorf("the mirror shows survey %s, which the ledger does not have", text))
	}
	return nil
}

// patience is how long a survey waits for the one before.
const patience = 5 * time.Second

// take takes the turn of the table: one survey is asked at a time.
func (t *table) take() error {
	patience := time.NewTimer(patience)
	defer patience.Stop()
	select {
	case <-t.turn:
		return nil
	case <-patience.C:
		return pgerr.New(pgerr.FeatureNotSupported, "another survey of %s is under way", t.local).
			WithHint("Ask again when it has ended.")
	}
}

// frozen refuses a table whose answers are not those of the ledger, or that the administrator has frozen.
func (t *table) frozen(ctx context.Context) error {
	refused := t.frozenError()
	if t.answers.Frozen() != nil {
		return refused
	}
	scope := accountant.Scope{Kind: accountant.LocalScope, Name: t.local.Name.String()}
	balances, err := t.cfg.Ledger.Balances(ctx, scope)
	switch {
	case errors.Is(err, accountant.ErrUnknownScope):
		return refused
	case err != nil:
		return unrecorded()
	case balances[0].Frozen:
		return refused
	}
	return nil
}

func (t *table) frozenError() error {
	return pgerr.New(pgerr.BudgetExhausted, "surveys of %s are frozen", t.local).
		WithHint("The administrator must look. Answers that are shown stay.")
}

// budget is the most that each object may lose by the ledger: the policy's, or less.
func (t *table) budget(ctx context.Context) (realized.Limit, error) {
	scope := accountant.Scope{Kind: accountant.LocalScope, Name: t.local.Name.String()}
	balances, err := t.cfg.Ledger.Balances(ctx, scope)
	if err != nil {
		return realized.Limit{}, unrecorded()
	}
	limit := balances[0].Limit
	return realized.Limit{
		EpsilonPico: min(t.local.BudgetPico, limit.Pico()), DeltaAtto: min(t.local.DeltaAtto, limit.Atto()),
	}, nil
}

// unrecorded says that the ledger does not take a survey.
func unrecorded() error {
	return pgerr.New(pgerr.LedgerUnavailable, "the privacy ledger is not available").
		WithHint("The administrator must look at the ledger.")
}
