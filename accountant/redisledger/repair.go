package redisledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/dp"
)

// A Repair lists the changes that [RepairFrom] made.
type Repair struct {
	Entries uint64 // that Redis has now, those of the repair included
	// PutBack is how many lines Redis had lost and got back as they were.
	PutBack uint64
	// Restored are the charges acknowledged in histories that Redis does not
	// continue: they were charged again, whatever the limits are.
	Restored []accountant.Debit
	// Carried are the decisions and failed reads of those histories: budgets that
	// Redis did not know, lower limits, freezes and incidents. They hold again.
	Carried []string
	// SetAside are the journals of those histories. Their proxies need new ones.
	SetAside []string
}

// RepairFrom makes Redis count all that the journals in the given folders have
// acknowledged. Where Redis lacks the end of a journal, or all, its lines are put
// back. Where Redis continues another history than a journal, the journal's
// charges since the fork are charged again. It ends all runs, so that a proxy that
// is still alive can charge nothing, and notes who repaired and why. The proxies
// of the journals must have been stopped.
func RepairFrom(ctx context.Context, o Options, journals []string, who, reason string) (rep Repair, err error) {
	if len(journals) == 0 {
		return rep, errors.New("redisledger: a repair needs at least one journal")
	}
	client, err := dial(o)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	pasts, err := readPasts(ctx, journals)
	if err != nil {
		return rep, err
	}
	if rep.PutBack, err = putBack(ctx, client, o, pasts); err != nil {
		return rep, err
	}
	restored, forks, err := lost(ctx, client, o.key(), pasts)
	if err != nil {
		return rep, err
	}
	l, err := OpenReader(ctx, o, func(r history.Record) { rep.Entries = r.Seq })
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	// First of all nobody charges any more, whatever becomes of the rest.
	if err := l.Decide(ctx, history.FenceEntry{Who: who, Reason: "repair: " + reason}); err != nil {
		return rep, err
	}
	for _, p := range forks {
		carried, err := l.carryOver(ctx, p, who, reason)
		if err != nil {
			return rep, err
		}
		rep.SetAside, rep.Carried = append(rep.SetAside, p.dir), append(rep.Carried, carried...)
	}
	if rep.Restored = restored; len(restored) > 0 {
		err = l.Decide(ctx, history.RestoreEntry{Debits: restored, Who: who, Reason: reason})
	}
	return rep, err
}

// A past is the lines of one journal.
type past struct {
	dir   string
	id    string
	lines [][]byte
}

// readPasts reads and verifies journals, the longest first. They must be of one
// ledger.
func readPasts(ctx context.Context, dirs []string) ([]past, error) {
	var pasts []past
	for _, dir := range dirs {
		summary, err := logledger.Verify(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("the journal in %s: %w", dir, err)
		}
		p := past{dir: dir, id: summary.ID}
		for r, err := range logledger.Entries(ctx, dir) {
			if err != nil {
				return nil, fmt.Errorf("the journal in %s: %w", dir, err)
			}
			p.lines = append(p.lines, r.Line)
		}
		pasts = append(pasts, p)
	}
	for _, p := range pasts {
		if p.id != pasts[0].id {
			return nil, fmt.Errorf("redisledger: the journals in %s and %s are of two ledgers", pasts[0].dir, p.dir)
		}
	}
	slices.SortStableFunc(pasts, func(a, b past) int { return len(b.lines) - len(a.lines) })
	return pasts, nil
}

// putBack appends to Redis the lines that it lacks of the longest journal that
// it is a beginning of.
func putBack(ctx context.Context, client *redis.Client, o Options, pasts []past) (uint64, error) {
	s := o.server(client)
	s.id = pasts[0].id
	seq, err := s.last(ctx)
	if errors.Is(err, ErrNoLedger) {
		err = create(ctx, client, s.key, s.id)
	}
	if err != nil {
		return 0, err
	}
	for _, p := range pasts {
		same, err := s.fork(ctx, p, seq)
		if err != nil {
			return 0, err
		}
		if same == seq && uint64(len(p.lines)) > seq {
			return uint64(len(p.lines)) - seq, s.appendAll(ctx, p, seq)
		}
	}
	return 0, nil
}

// last returns the number of the last line in Redis.
func (s *server) last(ctx context.Context) (uint64, error) {
	text, err := s.client.HGet(ctx, s.key, seqField).Result()
	if errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("%w: %s", ErrNoLedger, s.key)
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 10, 64)
}

// fork returns how many first lines Redis, with seq lines, has in common with a
// journal.
func (s *server) fork(ctx context.Context, p past, seq uint64) (same uint64, err error) {
	end := min(seq, uint64(len(p.lines)))
	for same < end {
		var names []string
		for n := same + 1; n <= min(end, same+maxLines); n++ {
			names = append(names, linePart+strconv.FormatUint(n, 10))
		}
		lines, err := s.client.HMGet(ctx, s.key, names...).Result()
		if err != nil {
			return 0, err
		}
		for _, line := range lines {
			if line != string(p.lines[same]) {
				return same, nil
			}
			same++
		}
	}
	return same, nil
}

// appendAll appends the lines of a journal after the first seq.
func (s *server) appendAll(ctx context.Context, p past, seq uint64) error {
	for batch := range slices.Chunk(p.lines[seq:], maxBatch) {
		head, err := p.head(seq)
		if err != nil {
			return err
		}
		next, err := p.head(seq + uint64(len(batch)))
		if err != nil {
			return err
		}
		missed, err := s.append(ctx, position{seq, head}, batch, next)
		if err != nil {
			return err
		}
		if missed != nil {
			return errors.New("redisledger: another process writes to the ledger; stop all proxies first")
		}
		seq += uint64(len(batch))
	}
	return nil
}

// head returns the hash of the line with the given number.
func (p past) head(seq uint64) (history.Hash, error) {
	if seq == 0 {
		return logledger.Genesis(p.id)
	}
	return history.Record{Line: p.lines[seq-1]}.Hash(), nil
}

// lost returns the losses that journals have charged in histories that Redis
// does not continue, and those journals.
func lost(ctx context.Context, client *redis.Client, key string, pasts []past) (debits []accountant.Debit, forks []past, err error) {
	s := &server{client: client, key: key}
	seq, err := s.last(ctx)
	if err != nil {
		return nil, nil, err
	}
	sums := map[accountant.Scope]dp.Loss{}
	counted := map[string]bool{} // lines that two journals share count once
	for _, p := range pasts {
		same, err := s.fork(ctx, p, seq)
		if err != nil {
			return nil, nil, err
		}
		if same == uint64(len(p.lines)) {
			continue
		}
		forks = append(forks, p)
		if err := addLost(sums, p, same, counted); err != nil {
			return nil, nil, err
		}
	}
	for _, scope := range slices.SortedFunc(maps.Keys(sums), byName) {
		debits = append(debits, accountant.Debit{Scope: scope, Loss: sums[scope]})
	}
	return debits, forks, nil
}

func byName(a, b accountant.Scope) int { return strings.Compare(a.String(), b.String()) }

// addLost adds the losses that the lines of a journal after the first same ones have charged.
// A charge that an earlier version took back counts all the same: it errs on the safe side.
func addLost(sums map[accountant.Scope]dp.Loss, p past, same uint64, counted map[string]bool) error {
	for i := same; i < uint64(len(p.lines)); i++ {
		line := p.lines[i]
		if counted[string(line)] {
			continue
		}
		counted[string(line)] = true
		prev, err := p.head(i)
		if err != nil {
			return err
		}
		r, err := history.Decode(line, i+1, prev)
		if err != nil {
			return err
		}
		for _, d := range charged(r.Entry) {
			sum, ok := sums[d.Scope]
			if !ok {
				sum = dp.Zero(d.Loss.Measure())
			}
			if sums[d.Scope], err = sum.Plus(d.Loss); err != nil {
				return fmt.Errorf("redisledger: the lost charges of %v: %w", d.Scope, err)
			}
		}
	}
	return nil
}

// charged returns the losses that an entry spends.
func charged(e history.Entry) []accountant.Debit {
	switch e := e.(type) {
	case history.ChargeEntry:
		return slices.Concat(e.Debits, e.Prepaid.Debits) // which another history may have used as well
	case history.HoldEntry:
		return e.Prepaid.Debits
	case history.StepEntry:
		return e.Debits
	case history.RestoreEntry:
		return e.Debits
	case history.BeginEntry, history.LimitsEntry, history.VoidEntry, history.SettleEntry,
		history.UnansweredEntry, history.IncidentEntry, history.ClearEntry, history.RaiseEntry, history.LowerEntry,
		history.FreezeEntry, history.FenceEntry, history.NoteEntry, history.CheckpointEntry, history.SurveyEntry,
		history.EpochEntry, history.FormatEntry, history.PolicyEntry, history.RenameEntry, history.RetireEntry:
	}
	return nil
}
