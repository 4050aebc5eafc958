package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"dpproxy/accountant"
)

// MaxLine bounds a record, in bytes.
const MaxLine = 4 << 20

// A Hash is a SHA-256 digest.
type Hash = [sha256.Size]byte

// A Record is one entry as a ledger writes it.
type Record struct {
	Seq   uint64    // dense, from 1
	Time  time.Time // for people only; zero when the ledger had no clock
	Run   string    // that made the entry; empty for an administrator's
	Entry Entry
	// Line is the recorded JSON. Its "prev" is the SHA-256 of the line before.
	Line []byte
}

// Hash returns the SHA-256 of the record's line.
func (r Record) Hash() Hash { return sha256.Sum256(r.Line) }

// The JSON of a record. Exactly one of the fields after Run is set.
type recordJSON struct {
	Seq        uint64        `json:"seq"`
	Prev       string        `json:"prev"`
	Time       time.Time     `json:"time,omitzero"`
	Run        string        `json:"run,omitempty"`
	Begin      *beginJSON    `json:"begin,omitempty"`
	Limits     []amount      `json:"limits,omitzero"`
	Charge     *chargeJSON   `json:"charge,omitempty"`
	Void       *uint64       `json:"void,omitempty"`
	Hold       *chargeJSON   `json:"hold,omitempty"`
	Step       *stepJSON     `json:"step,omitempty"`
	Settle     *uint64       `json:"settle,omitempty"`
	Unanswered *uint64       `json:"unanswered,omitempty"`
	Incident   *incidentJSON `json:"incident,omitempty"`
	Clear      *clearJSON    `json:"clear,omitempty"`
	Raise      *limitJSON    `json:"raise,omitempty"`
	Lower      *limitJSON    `json:"lower,omitempty"`
	Freeze     *freezeJSON   `json:"freeze,omitempty"`
	Fence      *fenceJSON    `json:"fence,omitempty"`
	Restore    *restoreJSON  `json:"restore,omitempty"`
	Note       *noteJSON     `json:"note,omitempty"`
	Checkpoint string        `json:"checkpoint,omitempty"`
	Survey     *surveyJSON   `json:"survey,omitempty"`
	Epoch      *epochJSON    `json:"epoch,omitempty"`
	// Earlier versions of dpproxy say this name when they refuse the ledger.
	Format *int        `json:"format_of_a_newer_dpproxy,omitempty"`
	Policy *policyJSON `json:"policy,omitempty"`
	Rename *renameJSON `json:"rename,omitempty"`
	Retire *retireJSON `json:"retire,omitempty"`
}

type beginJSON struct {
	Boot string `json:"boot"`
	Sole bool   `json:"sole,omitempty"`
}

type chargeJSON struct {
	Analyst string      `json:"analyst"`
	Shape   string      `json:"shape,omitempty"`
	Tables  []tableJSON `json:"tables,omitempty"`
	Events  []string    `json:"events,omitempty"`
	Debits  []amount    `json:"debits"`
	// Of a charge whose question may be asked again for it, or is asked again.
	Question string       `json:"question,omitempty"`
	Prepaid  *prepaidJSON `json:"prepaid,omitempty"`
}

type prepaidJSON struct {
	Charge uint64   `json:"charge"`
	Debits []amount `json:"debits"`
}

type stepJSON struct {
	Hold   uint64   `json:"hold"`
	Events []string `json:"events,omitempty"`
	Debits []amount `json:"debits"`
}

type incidentJSON struct {
	Charge  uint64 `json:"charge"`
	Analyst string `json:"analyst"`
	Shape   string `json:"shape,omitempty"`
	// For people.
	Tables    string `json:"tables,omitempty"`
	Class     string `json:"class,omitempty"`
	Statement string `json:"statement,omitempty"`
}

type clearJSON struct {
	Analyst string `json:"analyst,omitempty"`
	Reason  string `json:"reason"`
}

type limitJSON struct {
	Limit  amount `json:"limit"`
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

type freezeJSON struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Frozen bool   `json:"frozen"`
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

type fenceJSON struct {
	Boot   string `json:"boot,omitempty"`
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

type restoreJSON struct {
	Debits []amount `json:"debits"`
	Who    string   `json:"who"`
	Reason string   `json:"reason"`
}

type noteJSON struct {
	Who  string `json:"who"`
	Text string `json:"text"`
}

// A Body is an entry as JSON without its place in a ledger, so that the work of
// encoding can be done before the place is known.
type Body []byte

// unplaced is the beginning of a record whose place is not set.
const unplaced = `{"seq":0,"prev":""`

// Prepare returns the body of an entry that a run makes. It refuses a [VoidEntry].
func Prepare(run string, e Entry) (Body, error) {
	r := recordJSON{Run: run}
	if !r.set(e) {
		return nil, fmt.Errorf("history: a %T is not written", e)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("history: encoding an entry: %w", err)
	}
	if len(text) > MaxLine-maxPlace {
		return nil, fmt.Errorf("history: an entry of %d bytes is longer than the limit of %d", len(text), MaxLine-maxPlace)
	}
	return text[len(unplaced):], nil
}

// maxPlace is more than the bytes of a number, a hash and a time.
const maxPlace = 256

// Line returns the line of entry number seq after the line whose hash is prev.
func (b Body) Line(seq uint64, prev Hash, now time.Time) []byte {
	line := make([]byte, 0, len(b)+maxPlace)
	line = append(line, `{"seq":`...)
	line = strconv.AppendUint(line, seq, 10)
	line = append(line, `,"prev":"`...)
	line = hex.AppendEncode(line, prev[:])
	line = append(line, '"')
	if !now.IsZero() {
		line = append(line, `,"time":"`...)
		line = now.UTC().AppendFormat(line, time.RFC3339Nano)
		line = append(line, '"')
	}
	return append(line, b...)
}

// set puts an entry into the field of its kind, if it is of a kind that is written.
func (r *recordJSON) set(e Entry) bool {
	switch e := e.(type) {
	case BeginEntry:
		r.Begin = &beginJSON{e.Boot, e.Sole}
	case LimitsEntry:
		r.Limits = []amount{} // present even when the configuration is empty
		for _, l := range e {
			r.Limits = append(r.Limits, toAmount(l.Scope, l.Loss))
		}
	case ChargeEntry:
		r.Charge = toCharge(accountant.Charge(e))
	case HoldEntry:
		r.Hold = toCharge(accountant.Charge(e))
	case StepEntry:
		r.Step = &stepJSON{uint64(e.Hold), e.Events, toAmounts(e.Debits)}
	case SettleEntry:
		r.Settle = (*uint64)(&e.Hold)
	case UnansweredEntry:
		r.Unanswered = (*uint64)(&e.Charge)
	case IncidentEntry:
		in := toIncident(accountant.Incident(e))
		r.Incident = &in
	case ClearEntry:
		r.Clear = &clearJSON{e.Analyst, e.Reason}
	case RaiseEntry:
		r.Raise = &limitJSON{toAmount(e.Limit.Scope, e.Limit.Loss), e.Who, e.Reason}
	case LowerEntry:
		r.Lower = &limitJSON{toAmount(e.Limit.Scope, e.Limit.Loss), e.Who, e.Reason}
	case FreezeEntry:
		r.Freeze = &freezeJSON{string(e.Scope.Kind), e.Scope.Name, e.Frozen, e.Who, e.Reason}
	case FenceEntry:
		r.Fence = &fenceJSON{e.Boot, e.Who, e.Reason}
	case RestoreEntry:
		r.Restore = &restoreJSON{toAmounts(e.Debits), e.Who, e.Reason}
	case NoteEntry:
		r.Note = &noteJSON{e.Who, e.Text}
	case CheckpointEntry:
		r.Checkpoint = e.Digest
	case SurveyEntry:
		s := toSurvey(accountant.Survey(e))
		r.Survey = &s
	case EpochEntry:
		r.Epoch = &epochJSON{e.Table, e.Who, e.Reason}
	case FormatEntry:
		r.Format = (*int)(&e)
	case PolicyEntry:
		r.Policy = toPolicy(e)
	case RenameEntry:
		r.Rename = &renameJSON{string(e.From.Kind), e.From.Name, string(e.To.Kind), e.To.Name, e.Who, e.Reason}
	case RetireEntry:
		r.Retire = &retireJSON{string(e.Scope.Kind), e.Scope.Name, e.Who, e.Reason}
	case VoidEntry: // is only read
		return false
	default: // nil, or a pointer to an entry
		return false
	}
	return true
}

// Decode is the inverse of [Body.Line]. It checks that the line is entry number seq
// and follows the one whose hash is prev.
func Decode(line []byte, seq uint64, prev Hash) (Record, error) {
	var r recordJSON
	if err := strictly(line, &r); err != nil {
		return Record{}, fmt.Errorf("entry %d is unreadable: %w", seq, err)
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
	return Record{Seq: seq, Time: r.Time, Run: r.Run, Entry: e, Line: line}, nil
}

// strictly decodes one JSON value without unknown fields and without more after it.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there are bytes after its end")
	}
	return nil
}

// entry returns the one entry that r holds.
func (r *recordJSON) entry() (Entry, error) {
	var found []Entry
	var errs []error
	add := func(e Entry, err error) {
		found, errs = append(found, e), append(errs, err)
	}
	r.processEntries(add)
	r.decisions(add)
	if len(found) != 1 {
		return nil, fmt.Errorf("it holds %d steps instead of one", len(found))
	}
	return found[0], errs[0]
}

// processEntries adds the entry if it is of a kind that processes write.
func (r *recordJSON) processEntries(add func(Entry, error)) {
	if r.Begin != nil {
		add(BeginEntry{r.Begin.Boot, r.Begin.Sole}, nil)
	}
	if r.Limits != nil {
		limits, err := toDebits(r.Limits)
		e := LimitsEntry{}
		for _, l := range limits {
			e = append(e, accountant.Limit(l))
		}
		add(e, err)
	}
	if r.Charge != nil {
		c, err := r.Charge.charge()
		add(ChargeEntry(c), err)
	}
	if r.Void != nil {
		add(VoidEntry{accountant.ChargeID(*r.Void)}, nil)
	}
	if r.Hold != nil {
		c, err := r.Hold.charge()
		add(HoldEntry(c), err)
	}
	if r.Step != nil {
		debits, err := toDebits(r.Step.Debits)
		add(StepEntry{accountant.ChargeID(r.Step.Hold), r.Step.Events, debits}, err)
	}
	if r.Settle != nil {
		add(SettleEntry{accountant.ChargeID(*r.Settle)}, nil)
	}
	if r.Unanswered != nil {
		add(UnansweredEntry{accountant.ChargeID(*r.Unanswered)}, nil)
	}
	if r.Incident != nil {
		add(IncidentEntry(r.Incident.incident()), nil)
	}
	if r.Checkpoint != "" {
		add(CheckpointEntry{r.Checkpoint}, nil)
	}
	if r.Survey != nil {
		add(SurveyEntry(r.Survey.survey()), nil)
	}
	if r.Format != nil {
		add(FormatEntry(*r.Format), nil)
	}
	if r.Policy != nil {
		p, err := r.Policy.policy()
		add(p, err)
	}
}

// decisions adds the entry if it is of a kind that administrators write.
func (r *recordJSON) decisions(add func(Entry, error)) {
	if r.Clear != nil {
		add(ClearEntry{r.Clear.Analyst, r.Clear.Reason}, nil)
	}
	if r.Raise != nil {
		limit, err := r.Raise.Limit.debit()
		add(RaiseEntry{accountant.Limit(limit), r.Raise.Who, r.Raise.Reason}, err)
	}
	if r.Lower != nil {
		limit, err := r.Lower.Limit.debit()
		add(LowerEntry{accountant.Limit(limit), r.Lower.Who, r.Lower.Reason}, err)
	}
	if f := r.Freeze; f != nil {
		scope := accountant.Scope{Kind: accountant.ScopeKind(f.Kind), Name: f.Name}
		add(FreezeEntry{scope, f.Frozen, f.Who, f.Reason}, nil)
	}
	if r.Fence != nil {
		add(FenceEntry{r.Fence.Boot, r.Fence.Who, r.Fence.Reason}, nil)
	}
	if r.Restore != nil {
		debits, err := toDebits(r.Restore.Debits)
		add(RestoreEntry{debits, r.Restore.Who, r.Restore.Reason}, err)
	}
	if r.Epoch != nil {
		add(EpochEntry{r.Epoch.Table, r.Epoch.Who, r.Epoch.Reason}, nil)
	}
	if e := r.Rename; e != nil {
		from := accountant.Scope{Kind: accountant.ScopeKind(e.Kind), Name: e.Name}
		add(RenameEntry{from, accountant.Scope{Kind: accountant.ScopeKind(e.ToKind), Name: e.ToName}, e.Who, e.Reason}, nil)
	}
	if e := r.Retire; e != nil {
		add(RetireEntry{accountant.Scope{Kind: accountant.ScopeKind(e.Kind), Name: e.Name}, e.Who, e.Reason}, nil)
	}
	if r.Note != nil {
		add(NoteEntry{r.Note.Who, r.Note.Text}, nil)
	}
}

func toCharge(c accountant.Charge) *chargeJSON {
	j := &chargeJSON{
		Analyst: c.Analyst, Shape: c.Shape, Tables: toTables(c.Tables), Events: c.Events, Debits: toAmounts(c.Debits), Question: c.Question,
	}
	if c.Prepaid.Charge != 0 {
		j.Prepaid = &prepaidJSON{uint64(c.Prepaid.Charge), toAmounts(c.Prepaid.Debits)}
	}
	return j
}

func (c *chargeJSON) charge() (accountant.Charge, error) {
	debits, err := toDebits(c.Debits)
	charge := accountant.Charge{
		Analyst: c.Analyst, Shape: c.Shape, Tables: tablesIn(c.Tables), Events: c.Events, Debits: debits, Question: c.Question,
	}
	if c.Prepaid == nil || err != nil {
		return charge, err
	}
	charge.Prepaid.Charge = accountant.ChargeID(c.Prepaid.Charge)
	charge.Prepaid.Debits, err = toDebits(c.Prepaid.Debits)
	return charge, err
}

func toIncident(in accountant.Incident) incidentJSON {
	return incidentJSON{uint64(in.Charge), in.Analyst, in.Shape, in.Tables, in.Class, in.Statement}
}

func (in incidentJSON) incident() accountant.Incident {
	return accountant.Incident{
		Charge: accountant.ChargeID(in.Charge), Analyst: in.Analyst, Shape: in.Shape,
		Tables: in.Tables, Class: in.Class, Statement: in.Statement,
	}
}
