package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"dpproxy/accountant/history"
	"dpproxy/accountant/witness"
)

// again is an administrator's decision to make a ledger although its secret exists. A secret proves that there was a ledger, whose
// spending a new one forgets.
type again struct {
	Again  bool   `help:"Make a ledger although the secret exists. The new ledger knows nothing of what was spent before."`
	Who    string `help:"With --again: who decides, for the audit trail; the account that runs this unless said otherwise." placeholder:"NAME"`
	Reason string `help:"With --again: why, for the audit trail."`
}

// Validate is called by the parser of the command line.
func (a again) Validate() error {
	if a.Again != (a.Reason != "") {
		return errors.New("--again and --reason belong together")
	}
	return nil
}

// predecessors are the ledgers that a new one replaces, as far as their marks are known; nil if its secret is new.
type predecessors struct {
	who, reason string
	marks       *witness.Witness
	dead        []witness.Other
	closePlaces func(context.Context)
}

// provideSecret makes the secret. One that exists is refused, unless it is to be used again: then no other ledger of it may be
// charged, and their marks are returned.
func (s *books) provideSecret(ctx context.Context, log *slog.Logger, a again) (*predecessors, error) {
	made := makeSecret(s.policy.SecretFile)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return nil, made
	}
	if made != nil && !a.Again {
		return nil, s.refuseSecret()
	}
	var err error
	if s.secret, err = readSecret(s.policy.SecretFile); err != nil || made == nil {
		return nil, err
	}
	who, err := decision{a.Who, a.Reason}.decider()
	if err != nil {
		return nil, err
	}
	p := &predecessors{who: who, reason: a.Reason}
	at := &site{policy: s.policy, secret: s.secret}
	p.marks, p.closePlaces = openWitness(s, log, func() *site { return at })
	if p.dead, err = p.marks.Alone(ctx, ""); err != nil {
		p.close(ctx)
		return nil, fmt.Errorf("no ledger was made: %w", err)
	}
	return p, nil
}

// refuseSecret says what the secret proves, and what to do.
func (s *books) refuseSecret() error {
	find := "put that ledger's folder where ledger.dir says"
	if s.shared() {
		find = "if Redis has lost it, dpproxy ledger repair puts back what the proxies' journals have"
	}
	return fmt.Errorf("the secret %s exists already, so that there was a ledger, and a new one would give its budgets a second time; "+
		"nothing was made: %s. If there is none any more: dpproxy init --again --reason \"...\", which the new ledger notes. "+
		"For other people, give secret_file a file of its own", s.policy.SecretFile, find)
}

// replace notes in a new ledger what it replaces, and then removes the marks of that.
func (p *predecessors) replace(ctx context.Context, l recorder) error {
	if p == nil {
		return nil
	}
	d, ok := l.(decider)
	if !ok {
		return fmt.Errorf("a %T takes no decisions", l)
	}
	if err := d.Decide(ctx, history.NoteEntry{Who: p.who, Text: p.note()}); err != nil {
		return err
	}
	return p.marks.Remove(ctx, p.dead)
}

func (p *predecessors) note() string {
	marked := "no mark of another ledger was found"
	if len(p.dead) > 0 {
		var all []string
		for _, o := range p.dead {
			all = append(all, fmt.Sprintf("the ledger %s, marked at entry %d on %s", o.Mark.Ledger, o.Mark.Seq, o.Place))
		}
		marked = "it replaces " + strings.Join(all, ", ")
	}
	return fmt.Sprintf("made although its secret existed: %s; %s", p.reason, marked)
}

func (p *predecessors) close(ctx context.Context) {
	if p != nil {
		p.closePlaces(ctx)
	}
}
