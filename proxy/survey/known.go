package survey

import (
	"context"
	"slices"
	"sync"

	"dpproxy/accountant/realized"
	"dpproxy/catalog"
	"dpproxy/planner/policy"
	answers "dpproxy/survey"
)

// A shown is a table as analysts know it, after the last survey whose answers were shown. It is read while another one is under way.
type shown struct {
	mu      sync.Mutex
	losses  *answers.Losses   // of all objects that were seen
	surveys []*answers.Survey // which do not change
	epoch   int64
}

// note takes over the answers. Its caller has the table's turn.
func (t *table) note() {
	if t.answers.Frozen() != nil {
		return
	}
	losses, err := t.answers.Losses()
	if err != nil {
		return
	}
	t.now.mu.Lock()
	defer t.now.mu.Unlock()
	t.now.losses, t.now.surveys, t.now.epoch = losses, t.answers.Surveys(), t.answers.Epoch()
}

// known returns the losses.
func (s *shown) known() *answers.Losses {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.losses == nil {
		return &answers.Losses{}
	}
	return s.losses
}

// A Description tells an analyst of a table that they may ask about.
type Description struct {
	Name catalog.Name
	// Shown are the key and the public columns, Private those that can be asked about.
	Shown, Private []policy.Column
	Budget         realized.Limit // of each object
	// MostPico is the most that an object has lost, and LeftPico the least ε that one has left.
	MostPico, LeftPico int64
}

// Describe describes the tables that an analyst may ask about.
func (d *Desk) Describe(ctx context.Context, analyst string) ([]Description, error) {
	if d == nil {
		return nil, nil
	}
	var all []Description
	for _, t := range d.tables {
		if !d.granted(t, analyst) {
			continue
		}
		budget, err := t.budget(ctx)
		if err != nil {
			return nil, err
		}
		about := Description{
			Name: t.local.Name, Shown: append([]policy.Column{t.local.KeyColumn}, t.local.PublicColumns...), Private: t.local.Private,
			Budget: budget, LeftPico: budget.EpsilonPico,
		}
		filter, err := realized.NewFilter(budget)
		if err != nil {
			return nil, err
		}
		for _, spent := range t.now.known().Distinct() {
			about.MostPico, about.LeftPico = max(about.MostPico, spent.LossPico), min(about.LeftPico, filter.Remaining(spent))
		}
		all = append(all, about)
	}
	return all, nil
}

// granted reports whether an analyst may ask about a table.
func (d *Desk) granted(t *table, analyst string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.readers[t.local.Name], analyst)
}

// A Forecast is the knowledge of a survey before it is taken, from the policy and the answers that are shown.
type Forecast struct {
	*Inquiry
	// Known says that it was asked before, and is answered for nothing.
	Known bool
	// Never says that values are promised not to change.
	Never bool
	// Seen says that an earlier survey saw objects. Objects are these, and Able those of them that surely have the budget left,
	// whatever the condition.
	Seen          bool
	Objects, Able int
	Budget        realized.Limit
	// Table is that of the answers on the mirror.
	Table string
}

// Forecast forecasts a survey. It reads nothing of the protected database.
func (d *Desk) Forecast(ctx context.Context, q *Inquiry) (*Forecast, error) {
	t, err := d.of(q)
	if err != nil {
		return nil, err
	}
	f := &Forecast{Inquiry: q, Never: t.local.Never, Table: t.shownName()}
	if f.Budget, err = t.budget(ctx); err != nil {
		return nil, err
	}
	filter, err := realized.NewFilter(f.Budget)
	if err != nil {
		return nil, err
	}
	t.now.mu.Lock()
	defer t.now.mu.Unlock()
	f.Known = answers.Known(t.now.surveys, t.now.epoch, q.question, q.where, q.epsilon) != nil
	if t.now.losses != nil {
		f.Objects, f.Seen = int(t.now.losses.Objects()), t.now.losses.Objects() > 0
		f.Able = t.now.losses.Count(func(s realized.Spent) bool { return filter.Remaining(s) >= q.epsilon })
	}
	return f, nil
}
