package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/redisledger"
	"dpproxy/accountant/witness"
	"dpproxy/cmd/dpproxy/listing"
	"dpproxy/cmd/dpproxy/site"
)

// Command looks at the ledger or mends it.
type Command struct {
	Init   Init         `cmd:"" help:"Make the ledger and the secret of a policy, once; dpproxy init is the same."`
	Verify ledgerVerify `cmd:"" help:"Read every entry, check that nothing is damaged or missing, and sum up."`
	Export ledgerExport `cmd:"" help:"Write every entry as a line of JSON, and the hash of the last to standard error."`
	Runs   ledgerRuns   `cmd:"" help:"Show the processes whose charges count, which in Redis can be several."`
	Fence  ledgerFence  `cmd:"" help:"End one run, or all, of a ledger in Redis: nothing that they still send counts."`
	Repair ledgerRepair `cmd:"" help:"Put back into Redis what journals have, or go on with an older ledger and charge what marks prove."`
}

type ledgerVerify struct {
	Policy          string `arg:"" help:"Policy file." type:"path"`
	listing.Options `embed:""`
}

// A verdictJSON has the findings of verify, as JSON.
type verdictJSON struct {
	Ledger    string        `json:"ledger"`
	Entries   uint64        `json:"entries"`
	Charges   int           `json:"charges"`
	Voids     int           `json:"voids"`
	Runs      int           `json:"runs"`
	Running   int           `json:"running"`
	Incidents int           `json:"incidents"`
	Head      string        `json:"head"`
	Journal   *uint64       `json:"journal,omitempty"` // the last entry that this proxy's journal has
	Marks     []markJSON    `json:"marks"`
	Balances  []balanceJSON `json:"balances"`
}

// Run implements the command.
func (c *ledgerVerify) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	marks, unknown := readMarks(ctx, log, s, c.Policy)
	a, journal, err := s.verify(ctx, log, marks)
	if err != nil {
		return err
	}
	found, err := marks.check(ctx, a)
	if err != nil {
		return s.advise(err)
	}
	if unknown != nil {
		found = []markJSON{{Error: unknown.Error()}}
	}
	if err := verifySurveys(s.Policy, a.state); err != nil {
		return err
	}
	balances, notes, err := s.balances(a.state)
	if err != nil {
		return err
	}
	v := verdictJSON{
		Ledger: s.place(), Entries: a.entries, Charges: a.charges, Voids: a.voids, Runs: a.begun,
		Running: len(a.running()), Incidents: len(a.state.Incidents()), Head: a.headText(), Journal: journal, Marks: found,
	}
	if c.Output == "json" {
		if v.Balances, err = s.balancesJSON(a.state, balances); err != nil {
			return err
		}
		return listing.WriteJSON(v)
	}
	rows := [][]string{
		{"ledger", v.Ledger},
		{"entries", fmt.Sprint(v.Entries)},
		{"charges", fmt.Sprintf("%d, %d taken back", v.Charges, v.Voids)},
		{"runs", fmt.Sprintf("%d, %d not ended", v.Runs, v.Running)},
		{"incidents", fmt.Sprint(v.Incidents)},
		{"head", v.Head},
	}
	if journal != nil {
		rows = append(rows, []string{"journal", fmt.Sprintf("agrees, up to entry %d", *journal)})
	}
	for _, m := range v.Marks {
		rows = append(rows, m.row())
	}
	if err := listing.Table(rows...); err != nil {
		return err
	}
	fmt.Println()
	if rows, err = s.balanceRows(a.state, balances, notes); err != nil {
		return err
	}
	return listing.Table(rows...)
}

// verify reads the whole ledger, and compares one in Redis with this proxy's journal,
// if there is one. The journal is read first: Redis may pass it meanwhile, never fall
// behind it; so are the marks.
func (s *Books) verify(ctx context.Context, log *slog.Logger, marks *marks) (a *audit, journal *uint64, err error) {
	var j logledger.Summary
	if s.Shared() {
		switch _, err := logledger.JournalID(s.Policy.Ledger.Dir); {
		case errors.Is(err, logledger.ErrNoLedger):
		case err != nil:
			return nil, nil, err
		default:
			if j, err = logledger.Verify(ctx, s.Policy.Ledger.Dir); err != nil {
				return nil, nil, fmt.Errorf("this proxy's journal: %w", err)
			}
			journal = &j.Entries
		}
	}
	a = newAudit()
	err = s.entries(ctx, log, func(r history.Record) error {
		if err := a.add(r); err != nil {
			return err
		}
		marks.see(r)
		if journal != nil && r.Seq == j.Entries && a.headText() != j.Head {
			return s.advise(&redisledger.DivergedError{
				Reason: fmt.Sprintf("continues another history than this proxy's journal: entry %d differs", r.Seq),
			})
		}
		return nil
	})
	if err == nil && journal != nil && a.entries < j.Entries {
		err = s.advise(&redisledger.DivergedError{
			Reason: fmt.Sprintf("went backwards: it ends with entry %d, and this proxy's journal has %d", a.entries, j.Entries),
		})
	}
	return a, journal, err
}

type ledgerExport struct {
	Policy string `arg:"" help:"Policy file." type:"path"`
}

// Run implements the command.
func (c *ledgerExport) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	var last history.Record
	err = s.entries(ctx, log, func(r history.Record) error {
		last = r
		_, err := out.Write(append(slices.Clip(r.Line), '\n'))
		return err
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d entries; the SHA-256 of the last line is %x\n", last.Seq, last.Hash())
	return nil
}

type ledgerRuns struct {
	Policy          string `arg:"" help:"Policy file." type:"path"`
	listing.Options `embed:""`
}

// Run implements the command.
func (c *ledgerRuns) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	a, err := s.audit(ctx, log)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		return listing.WriteJSON(a.running())
	}
	rows := [][]string{{"RUN", "BEGUN", "LAST ENTRY", "AT"}}
	for _, r := range a.running() {
		rows = append(rows, []string{r.Run, r.Begun.Format(time.RFC3339), fmt.Sprint(r.LastEntry), r.LastTime.Format(time.RFC3339)})
	}
	return listing.Table(rows...)
}

type ledgerFence struct {
	Policy   string `arg:"" help:"Policy file." type:"path"`
	Boot     string `name:"run" help:"The run to end, from dpproxy ledger runs; all unless said otherwise." placeholder:"RUN"`
	Decision `embed:""`
}

// errEmbedded is wrapped where a command is for a ledger in Redis.
var errEmbedded = errors.New("this command is for a ledger in Redis")

// Run implements the command.
func (c *ledgerFence) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	if !s.Shared() {
		return fmt.Errorf("%w: with the embedded one a run ends with its process, or when the next begins", errEmbedded)
	}
	who, err := c.Decider()
	if err != nil {
		return err
	}
	if _, err := s.Decide(ctx, log, history.FenceEntry{Boot: c.Boot, Who: who, Reason: c.Reason}); err != nil {
		return err
	}
	fmt.Println("ended; what was held is given back, what was spent stays. " +
		"A proxy whose run has ended answers no more until it is started again")
	return nil
}

type ledgerRepair struct {
	Policy     string   `arg:"" help:"Policy file." type:"path"`
	Journal    []string `help:"A proxy's ledger.dir or a copy, for each proxy." sep:"none" type:"existingdir" placeholder:"DIR"`
	AcceptLoss bool     `help:"Go on with a ledger that is older than its mark, and charge what the mark proves."`
	Decision   `embed:""`
}

// Run implements the command.
func (c *ledgerRepair) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	who, err := c.Decider()
	if err != nil {
		return err
	}
	switch {
	case !s.Shared() && len(c.Journal) > 0:
		return fmt.Errorf("%w: an embedded one that is damaged has no second copy to be repaired from", errEmbedded)
	case !c.AcceptLoss && len(c.Journal) == 0:
		return errors.New("say --journal, or --accept-loss to go on with an older ledger")
	}
	at, err := site.Open(c.Policy)
	if err != nil {
		return fmt.Errorf("nothing was repaired: %w", err)
	}
	s.Secret = at.Secret
	if len(c.Journal) > 0 {
		if err := s.putBack(ctx, log, c.Journal, who, c.Reason); err != nil {
			return err
		}
	}
	err = acceptLoss(ctx, log, s, at, c, who)
	if len(c.Journal) == 0 {
		return err
	}
	switch {
	case isA[*witness.BehindError](err) || c.AcceptLoss && err != nil:
		return fmt.Errorf("the journals are put back, and the ledger lacks more: %w", err)
	case err != nil:
		fmt.Printf("the ledger was not compared with its marks; each start compares them: %v\n", err)
	}
	o, err := s.redisOptions(log)
	if err != nil {
		return err
	}
	return s.agree(ctx, o)
}

// putBack puts the records of journals back into Redis.
func (s *Books) putBack(ctx context.Context, log *slog.Logger, journals []string, who, reason string) error {
	o, err := s.redisOptions(log)
	if err != nil {
		return err
	}
	rep, err := redisledger.RepairFrom(ctx, o, journals, who, reason)
	if err != nil {
		return s.advise(err)
	}
	fmt.Printf("%s has %d entries, of which %d were put back; all runs have ended\n", s.where(), rep.Entries, rep.PutBack)
	for _, what := range rep.Carried {
		fmt.Printf("decided again: %s\n", what)
	}
	for _, d := range rep.Restored {
		fmt.Printf("charged again: %v to %v\n", d.Loss, d.Scope)
	}
	for _, dir := range rep.SetAside {
		fmt.Printf("the journal in %s is of a history that Redis does not continue: move ledger.log, "+
			"ledger.mark and ledger.snapshot away from there, and its proxy begins a new one\n", dir)
	}
	fmt.Println("start the proxies again")
	return nil
}
