package pgerr_test

import (
	"regexp"
	"testing"

	"dpproxy/pgerr"
)

func TestCodesAreUnique(t *testing.T) {
	codes, names := map[string]bool{}, map[string]bool{}
	for _, d := range pgerr.Descriptions() {
		if codes[d.Code.String()] || names[d.Name] {
			t.Errorf("%v %s is declared twice", d.Code, d.Name)
		}
		codes[d.Code.String()], names[d.Name] = true, true
	}
	if len(codes) == 0 {
		t.Error("no code is declared")
	}
}

func TestCodesAreWellFormed(t *testing.T) {
	state := regexp.MustCompile(`^[0-9A-Z]{5}$`)
	name := regexp.MustCompile(`^[a-z][a-z_]*$`)
	for _, d := range pgerr.Descriptions() {
		if !state.MatchString(d.Code.String()) {
			t.Errorf("%q is not a SQLSTATE", d.Code)
		}
		if !name.MatchString(d.Name) {
			t.Errorf("%v has the name %q", d.Code, d.Name)
		}
		if d.Meaning == "" || d.Meaning[len(d.Meaning)-1] != '.' {
			t.Errorf("the meaning of %v is not a sentence: %q", d.Code, d.Meaning)
		}
	}
}

func TestErrorFields(t *testing.T) {
	base := pgerr.New(pgerr.RowAccess, "rows of %s", "visits")
	e := base.At(0).WithHint("ask for %s", "count").WithDetail("detail %d", 1)
	want := pgerr.Error{Code: pgerr.RowAccess, Message: "rows of visits", Position: 1, Hint: "ask for count", Detail: "detail 1"}
	if *e != want {
		t.Errorf("got %+v, want %+v", *e, want)
	}
	if base.Position != 0 || base.Hint != "" || base.Detail != "" {
		t.Errorf("the original changed: %+v", *base)
	}
	if e.Error() != "PB002: rows of visits" {
		t.Errorf("Error() = %q", e.Error())
	}
}
