package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/redisledger"
	"dpproxy/cmd/dpproxy/site"
)

// Init makes the ledger and the secret. It is a step of its own, so that
// a ledger that was lost is never replaced by a fresh one in passing.
type Init struct {
	Policy string `arg:"" help:"Policy file." type:"path"`
	again  `embed:""`
}

// Run implements the command.
func (c *Init) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	if err := s.create(ctx, log, c.again); err != nil {
		return err
	}
	fmt.Printf("made %s and the secret in %s; back up neither alone\n", s.where(), s.Policy.SecretFile)
	fmt.Println("it has the budgets of this policy from now on: a policy that says less lowers them when it serves; " +
		"dpproxy budget raise raises them")
	if s.Shared() {
		fmt.Printf("copy the secret to every other proxy of this ledger, and run dpproxy init on none of them\n")
	}
	return SayQuestions(c.Policy, s.Policy, nil)
}

// Make makes the ledger and the secret, neither of which must exist.
func (s *Books) Make(ctx context.Context, log *slog.Logger) error { return s.create(ctx, log, again{}) }

// create makes the ledger, and the secret unless it is to be used again.
func (s *Books) create(ctx context.Context, log *slog.Logger, a again) error {
	if s.Shared() {
		return s.initShared(ctx, log, a)
	}
	switch l, err := s.openEmbedded(ctx, log, false); {
	case err == nil:
		return errors.Join(fmt.Errorf("there is a ledger in %s already", s.Policy.Ledger.Dir), l.Close())
	case !errors.Is(err, logledger.ErrNoLedger):
		return s.advise(err)
	}
	first, err := s.firstRuling()
	if err != nil {
		return err
	}
	before, err := s.provideSecret(ctx, log, a)
	if err != nil {
		return err
	}
	defer before.close(ctx)
	l, err := s.openEmbedded(ctx, log, true)
	if err != nil {
		return s.advise(err)
	}
	return errors.Join(s.begin(ctx, l, first, before), l.Close())
}

// begin gives a ledger that was just made its budgets, after its predecessors were noted.
func (s *Books) begin(ctx context.Context, l recorder, r Ruling, before *predecessors) error {
	if err := before.replace(ctx, l); err != nil {
		return err
	}
	return Rule(ctx, s, l, r, slog.New(slog.DiscardHandler))
}

// firstRuling is that of a policy whose database need not be there yet. One that a new ledger would refuse makes none.
func (s *Books) firstRuling() (r Ruling, err error) {
	if r.Limits, err = s.Policy.Scopes(); err != nil {
		return r, err
	}
	return r, history.Allows(history.NewState(), r.PolicyEntry)
}

// initShared makes the ledger in Redis, notes the secret's fingerprint in it, and
// begins this proxy's journal.
func (s *Books) initShared(ctx context.Context, log *slog.Logger, a again) error {
	o, err := s.redisOptions(log)
	if err != nil {
		return err
	}
	switch l, err := redisledger.OpenReader(ctx, o, func(history.Record) {}); {
	case err == nil:
		return errors.Join(s.refuseSecondInit(ctx, o), l.Close())
	case !errors.Is(err, redisledger.ErrNoLedger):
		return s.advise(err)
	}
	first, err := s.firstRuling()
	if err != nil {
		return err
	}
	before, err := s.provideSecret(ctx, log, a)
	if err != nil {
		return err
	}
	defer before.close(ctx)
	if err := redisledger.Init(ctx, o); err != nil {
		return s.advise(err)
	}
	if err := s.agree(ctx, o); err != nil {
		return err
	}
	l, err := s.openLedger(ctx, log, nil)
	if err != nil {
		return err
	}
	return errors.Join(s.begin(ctx, l, first, before), l.Close())
}

// refuseSecondInit names the next step where another proxy, or an earlier call,
// has made the ledger in Redis.
func (s *Books) refuseSecondInit(ctx context.Context, o redisledger.Options) error {
	there := fmt.Sprintf("there is a ledger %q in Redis already, and nothing was made", o.Name)
	secret, err := site.ReadSecret(s.Policy.SecretFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: copy the secret of the proxy that made it to %s, then dpproxy run can start here", there,
			s.Policy.SecretFile)
	}
	if err != nil {
		return err
	}
	s.Secret = secret
	if err := s.agree(ctx, o); err != nil {
		return err
	}
	return fmt.Errorf("%s: this proxy has its secret, so that dpproxy run can start here", there)
}

// provideSecret makes the secret. One that exists is refused, unless it is to be used again: then no other ledger of it may be
// charged, and their marks are returned.
func (s *Books) provideSecret(ctx context.Context, log *slog.Logger, a again) (*predecessors, error) {
	made := site.MakeSecret(s.Policy.SecretFile)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return nil, made
	}
	if made != nil && !a.Again {
		return nil, s.refuseSecret()
	}
	var err error
	if s.Secret, err = site.ReadSecret(s.Policy.SecretFile); err != nil || made == nil {
		return nil, err
	}
	who, err := Decision{a.Who, a.Reason}.Decider()
	if err != nil {
		return nil, err
	}
	p := &predecessors{who: who, reason: a.Reason}
	at := &site.Site{Policy: s.Policy, Secret: s.Secret}
	p.marks, p.closePlaces = openWitness(s, log, func() *site.Site { return at })
	if p.dead, err = p.marks.Alone(ctx, ""); err != nil {
		p.close(ctx)
		return nil, fmt.Errorf("no ledger was made: %w", err)
	}
	return p, nil
}

// refuseSecret refuses a secret that exists, with the remedies.
func (s *Books) refuseSecret() error {
	find := "put that ledger's folder where ledger.dir says"
	if s.Shared() {
		find = "if Redis has lost it, dpproxy ledger repair puts back what the proxies' journals have"
	}
	return fmt.Errorf("the secret %s exists already, so that there was a ledger, and a new one would give its budgets a second time; "+
		"nothing was made: %s. If there is none any more: dpproxy init --again --reason \"...\", which the new ledger notes. "+
		"For other people, give secret_file a file of its own", s.Policy.SecretFile, find)
}
