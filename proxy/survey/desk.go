package survey

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dpproxy/accountant/realized"
	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A Desk takes the surveys of all local tables. It is safe for concurrent use.
type Desk struct {
	tables []*table
	// renew has the readers of a policy that serves by now.
	renew chan map[catalog.Name][]string
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu      sync.Mutex
	readers map[catalog.Name][]string
}

// Open opens the answers of all tables, and shows them on the mirror.
func Open(ctx context.Context, cfg Config) (*Desk, error) {
	d := &Desk{readers: cfg.Readers, renew: make(chan map[catalog.Name][]string, 1)}
	for _, l := range cfg.Tables {
		t := &table{
			cfg: cfg, turn: make(chan struct{}, 1), estimating: make(chan struct{}, 1),
			shelf: shelf{
				local: l, limit: realized.Limit{EpsilonPico: l.BudgetPico, DeltaAtto: l.DeltaAtto},
				readers: cfg.Readers[l.Name], open: cfg.Mirror,
			},
		}
		t.turn <- struct{}{}
		if err := t.load(ctx); err != nil {
			return nil, fmt.Errorf("local table %v: %w", l, err)
		}
		d.tables = append(d.tables, t)
	}
	for _, t := range d.tables {
		t.show(ctx)
		t.note()
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.ended.Go(func() { d.keepShown(background) })
	return d, nil
}

// Close ends the work in the background.
func (d *Desk) Close() {
	if d == nil {
		return
	}
	d.stop()
	d.ended.Wait()
}

// retry is how often it is tried to show answers that a transaction on the mirror was in the way of.
const retry = 5 * time.Second

// keepShown shows answers that could not be shown before.
func (d *Desk) keepShown(ctx context.Context) {
	ticks := time.NewTicker(retry)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case readers := <-d.renew:
			d.reshow(ctx, readers)
		case <-ticks.C:
		}
		for _, t := range d.tables {
			select {
			case <-t.turn:
				if !t.shown {
					t.show(ctx)
				}
				t.turn <- struct{}{}
			default:
			}
		}
	}
}

// Renew shows the tables anew, in the background, that the mirror does not show any more, or that others may read by now.
func (d *Desk) Renew(readers map[catalog.Name][]string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readers = readers
	select {
	case <-d.renew: // a former one that was not begun
	default:
	}
	d.renew <- readers
}

// reshow shows tables anew, if there is cause.
func (d *Desk) reshow(ctx context.Context, readers map[catalog.Name][]string) {
	for _, t := range d.tables {
		<-t.turn
		if now := readers[t.local.Name]; !slices.Equal(t.readers, now) || !t.isShown(ctx) {
			t.readers, t.shown = now, false
			t.show(ctx)
		}
		t.turn <- struct{}{}
	}
}

// Understand resolves a call of dp.survey.
func (d *Desk) Understand(call *parser.SurveyCall, analyst string) (*Inquiry, error) {
	if d == nil {
		return nil, withoutTables(call.At)
	}
	t, err := d.table(call.Table.Text, analyst, call.Table.At)
	if err != nil {
		return nil, err
	}
	return understand(call, t.local, analyst)
}

// withoutTables refuses calls where there is no table to ask about.
func withoutTables(at int) error {
	return pgerr.New(pgerr.FeatureNotSupported, "no table of this site is of the local model").At(at).
		WithHint("Ask for aggregates: SELECT * FROM dp.tables lists the tables.")
}

// Ask has the objects answer, unless they did before. Values are those of the constants, and session is the process of the analyst's
// session on the mirror.
func (d *Desk) Ask(ctx context.Context, q *Inquiry, values []scalar.Value, session string, veil Veil) (*Outcome, error) {
	t, err := d.of(q)
	if err != nil {
		return nil, err
	}
	// A survey goes to its end, whoever has gone away meanwhile: its moment would tell.
	return t.ask(context.WithoutCancel(ctx), q, values, session, veil)
}

// of returns the table of an inquiry.
func (d *Desk) of(q *Inquiry) (*table, error) {
	for _, t := range d.tables {
		if t.local == q.local {
			return t, nil
		}
	}
	return nil, pgerr.New(pgerr.Internal, "a survey of no table")
}

// table returns the table of a name as an analyst writes it: that of the policy, or of its answers.
func (d *Desk) table(name, analyst string, at int) (*table, error) {
	for _, t := range d.tables {
		n := t.local.Name
		if name != n.String() && (name != n.Name || n.Schema != "public") && name != mirror.LocalSchema+"."+n.Name {
			continue
		}
		if !d.granted(t, analyst) {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s", n.Name).At(at)
		}
		return t, nil
	}
	hint := "SELECT * FROM dp.tables lists the tables that you may ask about."
	if names := d.names(analyst); len(names) > 0 {
		hint = "Of the local model: " + strings.Join(names, ", ") + ". Others are asked in SQL."
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "no table of the local model is called %q", name).At(at).WithHint("%s", hint)
}

// names are the tables that an analyst may ask about.
func (d *Desk) names(analyst string) (all []string) {
	for _, t := range d.tables {
		if d.granted(t, analyst) {
			all = append(all, t.local.String())
		}
	}
	return all
}

// Hidden returns the name of a local table as surveys have it, if an analyst may ask about the table that a message of Postgres quotes, and
// that of its answers on the mirror.
func (d *Desk) Hidden(message, analyst string) (name, answered string, ok bool) {
	if d == nil {
		return "", "", false
	}
	for _, t := range d.tables {
		n := t.local.Name
		quoted := strings.Contains(message, strconv.Quote(n.Name)) || strings.Contains(message, strconv.Quote(n.String()))
		if quoted && d.granted(t, analyst) {
			return t.local.String(), t.shownName(), true
		}
	}
	return "", "", false
}
