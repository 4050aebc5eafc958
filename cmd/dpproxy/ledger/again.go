package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dpproxy/accountant/history"
	"dpproxy/accountant/witness"
)

// again is an administrator's decision to make a ledger although its secret exists. A secret proves that there was a ledger, whose
// spending a new one forgets.
type again struct {
	Again  bool   `help:"Make a ledger although the secret exists. The new ledger knows nothing of what was spent before."`
	Who    string `help:"With --again: who decides; the account that runs this unless said otherwise." placeholder:"NAME"`
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

// replace notes the predecessors in a new ledger, and then removes their marks.
func (p *predecessors) replace(ctx context.Context, l recorder) error {
	if p == nil {
		return nil
	}
	if err := l.Decide(ctx, history.NoteEntry{Who: p.who, Text: p.note()}); err != nil {
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
