package logledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// A hash is a SHA-256 digest.
type hash = [sha256.Size]byte

// A Record is one entry as the log holds it.
type Record struct {
	Seq   uint64    // dense, from 1
	Time  time.Time // for people only; zero when the ledger had no clock
	Entry accountant.Entry
	// Line is the recorded JSON. Its "prev" is the SHA-256 of the line before.
	Line []byte
}

// The JSON of a record. Exactly one of the fields after Time is set.
type recordJSON struct {
	Seq      uint64        `json:"seq"`
	Prev     string        `json:"prev"`
	Time     time.Time     `json:"time,omitzero"`
	Run      *runJSON      `json:"run,omitempty"`
	Limits   []amountJSON  `json:"limits,omitzero"`
	Raise    *raiseJSON    `json:"raise,omitempty"`
	Charge   *chargeJSON   `json:"charge,omitempty"`
	Void     *uint64       `json:"void,omitempty"`
	Incident *incidentJSON `json:"incident,omitempty"`
	Clear    *clearJSON    `json:"clear,omitempty"`
}

type runJSON struct {
	Boot string `json:"boot"`
}

type raiseJSON struct {
	Limit  amountJSON `json:"limit"`
	Who    string     `json:"who"`
	Reason string     `json:"reason"`
}

type chargeJSON struct {
	Analyst string       `json:"analyst"`
	Shape   string       `json:"shape,omitempty"`
	Events  []string     `json:"events,omitempty"`
	Debits  []amountJSON `json:"debits"`
}

type incidentJSON struct {
	Charge  uint64 `json:"charge"`
	Analyst string `json:"analyst"`
	Shape   string `json:"shape,omitempty"`
}

type clearJSON struct {
	Analyst string `json:"analyst,omitempty"`
	Reason  string `json:"reason"`
}

// An amountJSON is a loss in a scope. Attos are a string because they exceed
// what other readers of JSON keep exactly.
type amountJSON struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Measure string `json:"measure"`
	Pico    int64  `json:"pico"`
	Atto    int64  `json:"atto,omitempty,string"`
}

// encodeRecord returns the payload of entry number seq after the one whose hash
// is prev.
func encodeRecord(seq uint64, prev hash, now time.Time, e accountant.Entry) ([]byte, error) {
	r := recordJSON{Seq: seq, Prev: hex.EncodeToString(prev[:]), Time: now}
	switch e := e.(type) {
	case accountant.RunEntry:
		r.Run = &runJSON{Boot: e.Boot}
	case accountant.LimitsEntry:
		r.Limits = []amountJSON{} // present even when the configuration is empty
		for _, l := range e {
			r.Limits = append(r.Limits, toAmount(l.Scope, l.Loss))
		}
	case accountant.RaiseEntry:
		r.Raise = &raiseJSON{Limit: toAmount(e.Limit.Scope, e.Limit.Loss), Who: e.Who, Reason: e.Reason}
	case accountant.ChargeEntry:
		r.Charge = toCharge(e)
	case accountant.VoidEntry:
		r.Void = (*uint64)(&e.Charge)
	case accountant.IncidentEntry:
		r.Incident = &incidentJSON{Charge: uint64(e.Charge), Analyst: e.Analyst, Shape: e.Shape}
	case accountant.ClearEntry:
		r.Clear = &clearJSON{Analyst: e.Analyst, Reason: e.Reason}
	default:
		return nil, fmt.Errorf("logledger: unknown entry %T", e)
	}
	payload, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("logledger: encoding entry %d: %w", seq, err)
	}
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("logledger: an entry of %d bytes is longer than the limit of %d", len(payload), maxPayload)
	}
	return payload, nil
}

func toAmount(s accountant.Scope, l dp.Loss) amountJSON {
	return amountJSON{string(s.Kind), s.Name, l.Measure().String(), l.Pico(), l.Atto()}
}

func toCharge(c accountant.ChargeEntry) *chargeJSON {
	r := &chargeJSON{Analyst: c.Analyst, Shape: c.Shape, Events: c.Events}
	for _, d := range c.Debits {
		r.Debits = append(r.Debits, toAmount(d.Scope, d.Loss))
	}
	return r
}

// decodeRecord is the inverse of encodeRecord. It checks that the payload is
// entry number seq and follows the one whose hash is prev.
func decodeRecord(payload []byte, seq uint64, prev hash) (Record, error) {
	var r recordJSON
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("entry %d is unreadable: %w", seq, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Record{}, fmt.Errorf("entry %d has bytes after its end", seq)
	}
	if r.Seq != seq {
		return Record{}, fmt.Errorf("entry %d stands where %d is due", r.Seq, seq)
	}
	if r.Prev != hex.EncodeToString(prev[:]) {
		return Record{}, fmt.Errorf("entry %d does not follow the one before it: the chain of hashes is broken", seq)
	}
	e, err := r.entry()
	if err != nil {
		return Record{}, fmt.Errorf("entry %d: %w", seq, err)
	}
	return Record{Seq: seq, Time: r.Time, Entry: e, Line: payload}, nil
}

// entry returns the one entry that r holds.
func (r *recordJSON) entry() (accountant.Entry, error) {
	var found []accountant.Entry
	var errs []error
	add := func(e accountant.Entry, err error) {
		found, errs = append(found, e), append(errs, err)
	}
	if r.Run != nil {
		add(accountant.RunEntry{Boot: r.Run.Boot}, nil)
	}
	if r.Limits != nil {
		add(r.limits())
	}
	if r.Raise != nil {
		limit, err := r.Raise.Limit.limit()
		add(accountant.RaiseEntry{Limit: limit, Who: r.Raise.Who, Reason: r.Raise.Reason}, err)
	}
	if r.Charge != nil {
		add(r.Charge.entry())
	}
	if r.Void != nil {
		add(accountant.VoidEntry{Charge: accountant.ChargeID(*r.Void)}, nil)
	}
	if in := r.Incident; in != nil {
		add(accountant.IncidentEntry{Charge: accountant.ChargeID(in.Charge), Analyst: in.Analyst, Shape: in.Shape}, nil)
	}
	if r.Clear != nil {
		add(accountant.ClearEntry{Analyst: r.Clear.Analyst, Reason: r.Clear.Reason}, nil)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("it holds %d steps instead of one", len(found))
	}
	return found[0], errs[0]
}

func (r *recordJSON) limits() (accountant.Entry, error) {
	limits := accountant.LimitsEntry{}
	for _, a := range r.Limits {
		l, err := a.limit()
		if err != nil {
			return nil, err
		}
		limits = append(limits, l)
	}
	return limits, nil
}

func (c *chargeJSON) entry() (accountant.Entry, error) {
	e := accountant.ChargeEntry{Analyst: c.Analyst, Shape: c.Shape, Events: c.Events}
	for _, a := range c.Debits {
		l, err := a.limit()
		if err != nil {
			return nil, err
		}
		e.Debits = append(e.Debits, accountant.Debit(l))
	}
	return e, nil
}

func (a amountJSON) limit() (accountant.Limit, error) {
	m, err := dp.ParseMeasure(a.Measure)
	if err != nil {
		return accountant.Limit{}, err
	}
	loss, err := dp.NewLoss(m, a.Pico, a.Atto)
	if err != nil {
		return accountant.Limit{}, err
	}
	return accountant.Limit{Scope: accountant.Scope{Kind: accountant.ScopeKind(a.Kind), Name: a.Name}, Loss: loss}, nil
}
