package history_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

// annDebit debits the analyst ann.
func annDebit(pico int64) accountant.Debit {
	return accountant.Debit{Scope: accountant.Scope{Kind: accountant.AnalystScope, Name: "ann"}, Loss: accountanttest.Pure(pico)}
}

// The format of every kind of entry. Ledgers live longer than releases: a line
// here may be joined by others, never changed.
var format = []struct {
	entry history.Entry
	json  string
}{
	{history.BeginEntry{Boot: "b"}, `"begin":{"boot":"b"}`},
	{history.BeginEntry{Boot: "b", Sole: true}, `"begin":{"boot":"b","sole":true}`},
	{history.HoldEntry(accountanttest.Charge(annDebit(5))), `"hold":{"analyst":"ann","shape":"shape","events":["laplace \u003c1\u003e"],` +
		`"debits":[{"kind":"analyst","name":"ann","measure":"pure","pico":5}]}`},
	{
		history.StepEntry{Hold: 4, Events: []string{"e"}, Debits: []accountant.Debit{annDebit(2)}},
		`"step":{"hold":4,"events":["e"],"debits":[{"kind":"analyst","name":"ann","measure":"pure","pico":2}]}`,
	},
	{history.SettleEntry{Hold: 4}, `"settle":4`},
	{
		history.LowerEntry{Limit: accountant.Limit(annDebit(7)), Who: "carol", Reason: "why"},
		`"lower":{"limit":{"kind":"analyst","name":"ann","measure":"pure","pico":7},"who":"carol","reason":"why"}`,
	},
	{
		history.FreezeEntry{Scope: annDebit(1).Scope, Frozen: true, Who: "carol", Reason: "why"},
		`"freeze":{"kind":"analyst","name":"ann","frozen":true,"who":"carol","reason":"why"}`,
	},
	{history.FenceEntry{Boot: "b", Who: "carol", Reason: "why"}, `"fence":{"boot":"b","who":"carol","reason":"why"}`},
	{history.FenceEntry{Who: "carol", Reason: "why"}, `"fence":{"who":"carol","reason":"why"}`},
	{
		history.RestoreEntry{Debits: []accountant.Debit{annDebit(2)}, Who: "carol", Reason: "why"},
		`"restore":{"debits":[{"kind":"analyst","name":"ann","measure":"pure","pico":2}],"who":"carol","reason":"why"}`,
	},
	{history.NoteEntry{Who: "carol", Text: "t"}, `"note":{"who":"carol","text":"t"}`},
	{
		history.SurveyEntry{
			Table: "public.people", Number: 2, Question: "smoker", Where: "region = 'north'", EpsilonPico: 5, Epoch: 1,
			Analyst: "ann", Objects: 3, Digest: "00ff",
		},
		`"survey":{"table":"public.people","number":2,"question":"smoker","where":"region = 'north'","epsilon":5,"epoch":1,` +
			`"analyst":"ann","objects":3,"sha256":"00ff"}`,
	},
	{
		history.SurveyEntry{Table: "public.people", Number: 1, Question: "smoker", EpsilonPico: 5, Analyst: "ann", Digest: "00ff"},
		`"survey":{"table":"public.people","number":1,"question":"smoker","epsilon":5,"analyst":"ann","objects":0,"sha256":"00ff"}`,
	},
	{
		history.EpochEntry{Table: "public.people", Who: "carol", Reason: "why"},
		`"epoch":{"table":"public.people","who":"carol","reason":"why"}`,
	},
	{history.FormatEntry(3), `"format_of_a_newer_dpproxy":3`},
	{history.PolicyEntry{}, `"policy":{"limits":[]}`},
	{
		history.PolicyEntry{
			Limits: accountanttest.Limits()[1:2],
			Links:  []accountant.Link{{Scope: accountanttest.Limits()[1].Scope, Table: accountant.Table{Name: "public.labs", ID: "7/5/9"}}},
		},
		`"policy":{"limits":[{"kind":"table","name":"public.labs","measure":"zcdp","pico":80,"atto":"10"}],` +
			`"links":[{"kind":"table","name":"public.labs","table":{"name":"public.labs","id":"7/5/9"}}]}`,
	},
	{
		history.RenameEntry{
			From: accountanttest.Limits()[0].Scope, To: accountant.Scope{Kind: accountant.UnitScope, Name: "person"},
			Who: "carol", Reason: "why",
		},
		`"rename":{"kind":"unit","name":"patient","to_kind":"unit","to_name":"person","who":"carol","reason":"why"}`,
	},
	{
		history.RetireEntry{Scope: accountanttest.Limits()[2].Scope, Who: "carol", Reason: "why"},
		`"retire":{"kind":"analyst","name":"ann","who":"carol","reason":"why"}`,
	},
	{history.CheckpointEntry{Digest: "00ff"}, `"checkpoint":"00ff"`},
	{history.LimitsEntry{}, `"limits":[]`},
	{history.LimitsEntry(accountanttest.Limits()), `"limits":[` +
		`{"kind":"unit","name":"patient","measure":"zcdp","pico":100,"atto":"10"},` +
		`{"kind":"table","name":"public.labs","measure":"zcdp","pico":80,"atto":"10"},` +
		`{"kind":"analyst","name":"ann","measure":"pure","pico":50}]`},
	{
		history.RaiseEntry{Limit: accountant.Limit(annDebit(7)), Who: "carol", Reason: "why"},
		`"raise":{"limit":{"kind":"analyst","name":"ann","measure":"pure","pico":7},"who":"carol","reason":"why"}`,
	},
	{history.ChargeEntry(accountanttest.Charge(annDebit(1 << 53))), `"charge":{"analyst":"ann","shape":"shape",` +
		`"events":["laplace \u003c1\u003e"],"debits":[{"kind":"analyst","name":"ann","measure":"pure","pico":9007199254740992}]}`},
	{history.ChargeEntry{Analyst: "ann", Debits: []accountant.Debit{
		{Scope: annDebit(0).Scope, Loss: accountanttest.ZCDP(0, dp.AttoPerUnit)},
	}}, `"charge":{"analyst":"ann","debits":[{"kind":"analyst","name":"ann","measure":"zcdp","pico":0,"atto":"1000000000000000000"}]}`},
	{
		history.ChargeEntry{Analyst: "ann", Question: "q", Prepaid: accountant.Prepaid{Charge: 3, Debits: []accountant.Debit{annDebit(5)}}},
		`"charge":{"analyst":"ann","debits":[],"question":"q",` +
			`"prepaid":{"charge":3,"debits":[{"kind":"analyst","name":"ann","measure":"pure","pico":5}]}}`,
	},
	{history.UnansweredEntry{Charge: 4}, `"unanswered":4`},
	{history.IncidentEntry{Charge: 3, Analyst: "ann", Shape: "s"}, `"incident":{"charge":3,"analyst":"ann","shape":"s"}`},
	{
		history.IncidentEntry{Charge: 3, Analyst: "ann", Shape: "s", Tables: "public.labs", Class: "53", Statement: "SELECT $1"},
		`"incident":{"charge":3,"analyst":"ann","shape":"s","tables":"public.labs","class":"53","statement":"SELECT $1"}`,
	},
	{history.ClearEntry{Analyst: "ann", Reason: "why"}, `"clear":{"analyst":"ann","reason":"why"}`},
	{history.ClearEntry{Reason: "why"}, `"clear":{"reason":"why"}`},
}

func TestFormat(t *testing.T) {
	prev := sha256.Sum256(nil)
	noon := time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)
	for _, f := range format {
		body, err := history.Prepare("b", f.entry)
		if err != nil {
			t.Fatal(err)
		}
		got := body.Line(9, prev, noon)
		want := `{"seq":9,"prev":"` + hex.EncodeToString(prev[:]) + `","time":"2024-05-06T12:00:00Z","run":"b",` + f.json + `}`
		if string(got) != want {
			t.Errorf("%#v is written as\n%s\nwant\n%s", f.entry, got, want)
		}
		r, err := history.Decode(got, 9, prev)
		if err != nil {
			t.Errorf("%s: %v", got, err)
			continue
		}
		record := history.Record{Seq: 9, Time: noon, Run: "b", Entry: f.entry, Line: got}
		if d := cmp.Diff(record, r, cmp.AllowUnexported(dp.Loss{})); d != "" {
			t.Errorf("%s is read as something else: %s", got, d)
		}
	}
}

// TestVoid reads a charge that was taken back, and writes none.
func TestVoid(t *testing.T) {
	prev := sha256.Sum256(nil)
	for _, id := range []accountant.ChargeID{0, 1<<64 - 1} {
		e := history.VoidEntry{Charge: id}
		line := fmt.Appendf(nil, `{"seq":9,"prev":"%x","run":"b","void":%d}`, prev, id)
		r, err := history.Decode(line, 9, prev)
		if d := cmp.Diff(history.Record{Seq: 9, Run: "b", Entry: e, Line: line}, r); err != nil || d != "" {
			t.Errorf("%s: %v %s", line, err, d)
		}
		if body, err := history.Prepare("b", e); err == nil {
			t.Errorf("%#v was written as %s", e, body)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	prev := history.Hash{}
	head := `{"seq":1,"prev":"` + hex.EncodeToString(prev[:]) + `"`
	for name, payload := range map[string]string{
		"no JSON":           `x`,
		"another number":    `{"seq":2,"prev":"` + hex.EncodeToString(prev[:]) + `","void":1}`,
		"another chain":     `{"seq":1,"prev":"00","void":1}`,
		"no step":           head + `}`,
		"two steps":         head + `,"void":1,"begin":{"boot":"b"}}`,
		"an unknown step":   head + `,"refund":1}`,
		"bytes after it":    head + `,"void":1} {}`,
		"an unknown field":  head + `,"begin":{"boot":"b","x":1}}`,
		"no measure":        head + `,"limits":[{"kind":"unit","name":"u","measure":"","pico":1}]}`,
		"a negative limit":  head + `,"limits":[{"kind":"unit","name":"u","measure":"pure","pico":-1}]}`,
		"a negative charge": head + `,"charge":{"analyst":"a","debits":[{"kind":"unit","name":"u","measure":"zcdp","pico":-1}]}}`,
		"a negative raise":  head + `,"raise":{"limit":{"kind":"unit","name":"u","measure":"zcdp","pico":-1},"who":"w","reason":"r"}}`,
		"a fraction":        head + `,"limits":[{"kind":"unit","name":"u","measure":"pure","pico":0.5}]}`,
		"delta of pure":     head + `,"limits":[{"kind":"unit","name":"u","measure":"pure","pico":1,"atto":"1"}]}`,
	} {
		if r, err := history.Decode([]byte(payload), 1, prev); err == nil {
			t.Errorf("%s: %s was read as %#v", name, payload, r.Entry)
		}
	}
}
