package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// The JSON of a snapshot. Everything in it is ordered, so that equal states have
// equal snapshots.
type snapshotJSON struct {
	Seq       uint64         `json:"seq"`
	Runs      []string       `json:"runs"`
	Balances  []balanceJSON  `json:"balances"`
	Voidable  []openJSON     `json:"voidable"`
	Recent    []uint64       `json:"recent"`
	Holds     []openJSON     `json:"holds"`
	Incidents []incidentJSON `json:"incidents"`
	// Unanswered is missing where there is none, as in the digests of earlier versions.
	Unanswered []unansweredJSON `json:"unanswered,omitempty"`
	// These are missing where there is none, likewise.
	Surveys []surveyJSON     `json:"surveys,omitempty"`
	Epochs  []tableEpochJSON `json:"epochs,omitempty"`
	namesJSON
}

type unansweredJSON struct {
	Charge   uint64   `json:"charge"`
	Question string   `json:"question"`
	Debits   []amount `json:"debits"`
}

type balanceJSON struct {
	Limit  amount     `json:"limit"`
	Spent  partAmount `json:"spent"`
	Held   partAmount `json:"held"`
	Frozen bool       `json:"frozen,omitempty"`
	// Retired is missing in the digests of earlier versions.
	Retired bool `json:"retired,omitempty"`
}

// A partAmount is a loss in the measure of the limit beside it.
type partAmount struct {
	Pico int64 `json:"pico"`
	Atto int64 `json:"atto,omitempty,string"`
}

type openJSON struct {
	ID     uint64   `json:"id"`
	Run    string   `json:"run"`
	Debits []amount `json:"debits"`
	// Of a charge whose question may be asked again for it; paid is of a hold.
	Question string   `json:"question,omitempty"`
	Paid     []amount `json:"paid,omitempty"`
}

// Snapshot writes the state as JSON, the same for equal states.
func (s *State) Snapshot() ([]byte, error) {
	j := snapshotJSON{
		Seq: s.seq, Runs: append([]string{}, s.Runs()...),
		Balances: []balanceJSON{}, Voidable: toOpens(s.voidable), Recent: []uint64{}, Holds: toOpens(s.holds), Incidents: []incidentJSON{},
	}
	for _, b := range slices.SortedFunc(maps.Values(s.balances), byScope) {
		j.Balances = append(j.Balances, balanceJSON{
			Limit: toAmount(b.Scope, b.Limit), Spent: partAmount{b.Spent.Pico(), b.Spent.Atto()},
			Held: partAmount{b.Held.Pico(), b.Held.Atto()}, Frozen: b.Frozen, Retired: b.Retired,
		})
	}
	for _, id := range s.recent {
		j.Recent = append(j.Recent, uint64(id))
	}
	for _, in := range s.incidents {
		j.Incidents = append(j.Incidents, toIncident(in))
	}
	for _, p := range s.unanswered {
		j.Unanswered = append(j.Unanswered, unansweredJSON{uint64(p.id), p.question, toAmounts(p.debits)})
	}
	j.Surveys, j.Epochs = surveysOf(s)
	j.namesJSON = namesOf(s)
	return json.Marshal(j)
}

func toOpens(all map[accountant.ChargeID]open) []openJSON {
	opens := []openJSON{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		o := all[id]
		opens = append(opens, openJSON{uint64(id), o.run, toAmounts(o.debits), o.question, toAmounts(o.paid)})
	}
	return opens
}

// Restore is the inverse of [State.Snapshot].
func Restore(snapshot []byte) (*State, error) {
	var j snapshotJSON
	if err := strictly(snapshot, &j); err != nil {
		return nil, fmt.Errorf("history: the snapshot is unreadable: %w", err)
	}
	s := NewState()
	s.seq = j.Seq
	for _, boot := range j.Runs {
		s.runs[boot] = true
	}
	for _, b := range j.Balances {
		balance, err := b.balance()
		if err != nil {
			return nil, fmt.Errorf("history: a balance of the snapshot: %w", err)
		}
		s.balances[balance.Scope] = balance
	}
	if err := restoreOpens(s.voidable, j.Voidable); err != nil {
		return nil, err
	}
	if err := restoreOpens(s.holds, j.Holds); err != nil {
		return nil, err
	}
	for _, id := range j.Recent {
		s.recent = append(s.recent, accountant.ChargeID(id))
	}
	for _, in := range j.Incidents {
		s.incidents = append(s.incidents, in.incident())
	}
	var err error
	if s.unanswered, err = restoredPrepaid(j.Unanswered); err != nil {
		return nil, err
	}
	restoreSurveys(s, j.Surveys, j.Epochs)
	restoreNames(s, j.namesJSON)
	again, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, snapshot) {
		return nil, fmt.Errorf("history: the snapshot of %d entries is not one that a state writes", j.Seq)
	}
	return s, nil
}

func (b balanceJSON) balance() (accountant.Balance, error) {
	limit, err := b.Limit.debit()
	if err != nil {
		return accountant.Balance{}, err
	}
	spent, err := dp.NewLoss(limit.Loss.Measure(), b.Spent.Pico, b.Spent.Atto)
	if err != nil {
		return accountant.Balance{}, err
	}
	held, err := dp.NewLoss(limit.Loss.Measure(), b.Held.Pico, b.Held.Atto)
	return accountant.Balance{Scope: limit.Scope, Limit: limit.Loss, Spent: spent, Held: held, Frozen: b.Frozen, Retired: b.Retired}, err
}

func restoredPrepaid(all []unansweredJSON) ([]prepaid, error) {
	var restored []prepaid
	for _, u := range all {
		debits, err := toDebits(u.Debits)
		if err != nil {
			return nil, fmt.Errorf("history: the unanswered charge %d of the snapshot: %w", u.Charge, err)
		}
		restored = append(restored, prepaid{accountant.ChargeID(u.Charge), u.Question, debits})
	}
	return restored, nil
}

func restoreOpens(into map[accountant.ChargeID]open, all []openJSON) error {
	for _, o := range all {
		debits, err := toDebits(o.Debits)
		if err != nil {
			return fmt.Errorf("history: the open charge %d of the snapshot: %w", o.ID, err)
		}
		paid, err := toDebits(o.Paid)
		if err != nil {
			return fmt.Errorf("history: what the open charge %d of the snapshot has paid: %w", o.ID, err)
		}
		into[accountant.ChargeID(o.ID)] = open{run: o.Run, debits: debits, question: o.Question, paid: paid}
	}
	return nil
}

// Digest returns the SHA-256 of a snapshot in hexadecimal, as a [CheckpointEntry]
// holds it.
func Digest(snapshot []byte) string {
	sum := sha256.Sum256(snapshot)
	return hex.EncodeToString(sum[:])
}

// Moment returns the state as one of the ledger with that ID, whose last entry has the given hash.
func (s *State) Moment(ledger string, head Hash) (Moment, error) {
	balances, err := s.Balances()
	return Moment{Ledger: ledger, Seq: s.seq, Head: head, Balances: balances}, err
}

// checkpoint compares the state with the entry's digest.
func (s *State) checkpoint(e CheckpointEntry) error {
	snapshot, err := s.Snapshot()
	if err != nil {
		return err
	}
	if got := Digest(snapshot); got != e.Digest {
		return fmt.Errorf("history: the checkpoint says %.12s, and the entries before it add up to %.12s", e.Digest, got)
	}
	return nil
}

func namesOf(s *State) namesJSON {
	j := namesJSON{Format: s.format, Ruled: s.ruled}
	for _, scope := range slices.SortedFunc(maps.Keys(s.links), byName) {
		for _, t := range s.links[scope] {
			j.Links = append(j.Links, linkJSON{string(scope.Kind), scope.Name, tableJSON(t)})
		}
	}
	for _, scope := range slices.SortedFunc(maps.Keys(s.renamed), byName) {
		j.Renamed = append(j.Renamed, formerJSON{string(scope.Kind), scope.Name, s.renamed[scope].Name})
	}
	for _, scope := range slices.SortedFunc(maps.Keys(s.kept), byName) {
		j.Kept = append(j.Kept, scopeJSON{string(scope.Kind), scope.Name})
	}
	return j
}

func restoreNames(s *State, j namesJSON) {
	s.format, s.ruled = j.Format, j.Ruled
	for _, l := range j.Links {
		scope := l.link().Scope
		s.links[scope] = append(s.links[scope], accountant.Table(l.Table))
	}
	for _, f := range j.Renamed {
		kind := accountant.ScopeKind(f.Kind)
		s.renamed[accountant.Scope{Kind: kind, Name: f.Name}] = accountant.Scope{Kind: kind, Name: f.Now}
	}
	for _, k := range j.Kept {
		s.kept[accountant.Scope{Kind: accountant.ScopeKind(k.Kind), Name: k.Name}] = true
	}
}
