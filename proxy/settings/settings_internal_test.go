package settings

import (
	"errors"
	"os"
	"strings"
	"testing"

	"dpproxy/config"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// TestSettingsAreDocumented holds that docs/settings.md has each setting, and that its
// examples of comments are understood.
func TestSettingsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range knownSettings {
		if !strings.Contains(string(text), "| `dp."+k.name+"` |") {
			t.Errorf("docs/settings.md does not name dp.%s", k.name)
		}
	}
	_, rest, found := strings.Cut(string(text), "```sql\n")
	examples, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("there is no example")
	}
	for example := range strings.SplitSeq(strings.TrimSuffix(examples, ";\n"), ";\n") {
		var s Settings
		if err := s.parseComments(example); err != nil || s == (Settings{}) {
			t.Errorf("%s: %+v, %v", example, s, err)
		}
	}
}

// TestPoliciesKnowSettings holds that a policy can preset each setting, and no other.
func TestPoliciesKnowSettings(t *testing.T) {
	const unknown = "there is no such setting of dpproxy"
	for _, name := range append(Names(), "nothing") {
		_, err := config.Parse("policy", []byte("analysts: {ana: {settings: {dp."+name+": x}}}"))
		if err == nil || strings.Contains(err.Error(), unknown) != (name == "nothing") {
			t.Errorf("dp.%s: %v", name, err)
		}
	}
}

func TestSettings(t *testing.T) {
	var s Settings
	for _, set := range [][2]string{
		{"epsilon", " 0.25"},
		{"mechanism", "LAPLACE"},
		{"confidence", "0.9"},
		{"notice", "yes"},
		{"max_rows", "12"},
		{"max_partitions", "1"},
		{"max_sum", "2.5e2"},
		{"contribution", "Auto"},
		{"error", "50"},
		{"relative_error", " 0.05"},
		{"target_fraction", "0.9"},
		{"max_epsilon", "0.5"},
		{"refine", "on"},
		{"rows", "REFUSE"},
		{"rows", "none"},
		{"small_groups", "hide"},
		{"small_groups", "Show"},
		{"consistent", "On"},
		{"columns", "values"},
		{"columns", "Errors"},
		{"intervals", "ON"},
		{"intervals", "off"},
		{"empty_groups", "NULL"},
		{"empty_groups", "hide"},
		{"minimum_people", "12"},
		{"spend", "never"},
		{"spend", "Confirmed"},
	} {
		if err := s.Parse(set[0], set[1]); err != nil {
			t.Error(err)
		}
		if err := Check(&parser.Setting{Name: "dp." + set[0], Value: set[1]}); err != nil {
			t.Error(err)
		}
	}
	sum := s.MaxSum
	s.MaxSum = nil
	if s != (Settings{
		EpsilonPico: 25e10, Mechanism: "laplace", Confidence: 0.9, Notice: Brief, MaxRows: 12, MaxPartitions: 1,
		Target: planner.Target{Error: 50, Relative: 0.05, Fraction: 0.9}, MaxEpsilonPico: 5e11, Capped: true,
		Refine: true, NoRows: true, ShowSmall: true, Consistent: true, Contribution: "auto",
		ErrorColumns: parser.Errors, NoIntervals: true,
		Spending: Confirmed, EmptyGroups: "hide", MinimumPeople: 12,
	}) || sum.RatString() != "250" {
		t.Errorf("%+v, %v", s, sum)
	}
	if err := s.Parse("error", "OFF"); err != nil || s.Target.Error != 0 {
		t.Errorf("off: %+v, %v", s, err)
	}
	if err := s.Parse("contribution", "DEFAULT"); err != nil || s.Contribution != "" {
		t.Errorf("default: %+v, %v", s, err)
	}
	if err := Check(&parser.Setting{Name: "dp.max_rows", Value: "0", Reset: true}); err != nil {
		t.Errorf("RESET: %v", err)
	}
}

// TestShown holds that what sessions begin with names each setting, is a value that it can have, and sets nothing.
func TestShown(t *testing.T) {
	defaults := Settings{
		EpsilonPico: 1e11, Mechanism: "auto", Confidence: 0.95, MaxEpsilonPico: 5e11, Refine: true, MinimumPeople: 10,
		Target: planner.Target{Error: 20, Relative: 0.05, Fraction: 0.9},
	}
	texts := defaults.Shown()
	for _, name := range Names() {
		text, ok := texts["dp."+name]
		if set := new(Settings); !ok || set.Parse(name, text) != nil || *set != (Settings{}) {
			t.Errorf("dp.%s: %q sets %+v", name, text, set)
		}
		if err := new(Settings).Parse(name, strings.TrimSuffix(text, shown)); err != nil {
			t.Errorf("dp.%s: %q: %v", name, text, err)
		}
	}
	for name, want := range map[string]string{
		"epsilon": "0.1", "confidence": "0.95", "error": "20", "max_epsilon": "0.5", "max_rows": "", "refine": "on", "minimum_people": "10",
		"empty_groups": "show",
	} {
		if got := texts["dp."+name]; got != want+shown {
			t.Errorf("dp.%s begins as %q", name, got)
		}
	}
	if len(texts) != len(Names()) {
		t.Errorf("%q", texts)
	}
}

// TestBlanks holds that blanks around a value are none of it, in whatever way it was set.
func TestBlanks(t *testing.T) {
	for _, text := range []string{"1e-12 ", " 1e-12", "1e-12\t", "1e-12   ", "\t1e-12\n"} {
		s := Settings{EpsilonPico: 5}
		if err := s.Parse("epsilon", text); err != nil || s.EpsilonPico != 1 {
			t.Errorf("%q: %d, %v", text, s.EpsilonPico, err)
		}
	}
}

// TestLogin refuses what cannot be set in a start-up packet as in a SET.
func TestLogin(t *testing.T) {
	const blank = " "
	var none pgerr.Code
	for text, want := range map[string]pgerr.Code{
		"dp.epsilon=0.5": none, "dp.epsilon=0.5" + blank: none, "dp.spend=never": none, "timezone=UTC": none, "dp.max_rows=": none,
		"dp.spendd=never": pgerr.UndefinedObject, "dp.=1": pgerr.UndefinedObject, "DP.Spendd=never": pgerr.UndefinedObject,
		"dp.epsilon=5e-13":       pgerr.InvalidParameterValue,
		"dp.epsilon=0.5" + shown: pgerr.InvalidParameterValue, "dp.notice=maybe": pgerr.InvalidParameterValue,
	} {
		name, value, _ := strings.Cut(text, "=")
		err := CheckLogin(map[string]string{"application_name": "psql", "dp.notice": "off", name: value})
		var got pgerr.Code
		if refused, ok := errors.AsType[*pgerr.Error](err); ok {
			got = refused.Code
		}
		if got != want {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for _, bad := range [][2]string{
		{"epsilon", "0"},
		{"epsilon", "1e-13"},
		{"epsilon", "1000.1"},
		{"epsilon", "0x1"},
		{"epsilon", "1/2"},
		{"mechanism", "none"},
		{"confidence", "1"},
		{"notice", "maybe"},
		{"price", "rho"},
		{"max_rows", "0"},
		{"max_rows", "-1"},
		{"max_rows", "1.5"},
		{"max_rows", "1000001"},
		{"max_partitions", "99999999999999999999"},
		{"max_sum", "0"},
		{"max_sum", "-3"},
		{"max_sum", "1e-16"},
		{"max_sum", "1.1e30"},
		{"max_sum", "Infinity"},
		{"max_sum", "1e999999999"},
		{"contribution", "chosen"},
		{"contribution", "20"},
		{"small_groups", "null"},
		{"consistent", "cells"},
		{"columns", "off"},
		{"intervals", "some"},
		{"nothing", "1"},
		{"error", "0"},
		{"error", "-1"},
		{"error", "NaN"},
		{"error", "Infinity"},
		{"error", "1e-16"},
		{"error", "1e31"},
		{"relative_error", "0.00001"},
		{"relative_error", "1.01"},
		{"relative_error", "5%"},
		{"relative_error", "NaN"},
		{"target_fraction", "0"},
		{"target_fraction", "2"},
		{"max_epsilon", "0"},
		{"max_epsilon", "1e9"},
		{"refine", "perhaps"},
		{"rows", "some"},
		{"spend", "ask"},
		{"epsilon", "0.25" + shown},
	} {
		err := Check(&parser.Setting{Name: "dp." + bad[0], Value: bad[1]})
		if err == nil || !strings.Contains(err.Error(), `"dp.`+bad[0]+`"`) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
