package proxy

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// briefly is how long a brief notice is at most, in characters.
const briefly = 160

// leftOutBegins begins a notice of all that is outside of the errors.
const leftOutBegins = "Left out: "

// A columnError is the error of an output column, in a few words.
type columnError struct {
	name, said string
	replayed   bool // or no formula has it
	bounded    bool // a formula has it, and it is known
}

// columnErrors are those of all output columns with noise, in their order.
func columnErrors(plan *planner.Plan, released [][]*planner.Released) (all []columnError) {
	for _, e := range planner.OutputErrors(plan, released) {
		all = append(all, columnError{e.Name, e.String(), !e.Known, e.Bounded()})
	}
	return all
}

// brief tells in one line how wrong the answer may be, its price, and at which confidence if the session does not know it, and in another
// one all that is outside of these errors, if there is anything.
func (a *account) brief(price cashier.Price, at string) []wire.Notice {
	all := []wire.Notice{a.briefLine(price, at)}
	if left := a.left(); len(left) > 0 {
		all = append(all, wire.Notice{Code: "00000", Message: leftOutBegins + strings.Join(left, "; ")})
	}
	return all
}

func (a *account) briefLine(price cashier.Price, at string) wire.Notice {
	line := wire.Notice{Code: "00000", Message: price.String() + a.receipt.Remarks() + a.again + a.dated() + at}
	if errors := a.briefErrors(briefly - utf8.RuneCountInString(line.Message) - len("; ")); errors != "" {
		line.Message = errors + "; " + line.Message
	}
	return line
}

// briefErrors are the errors of the columns, as many as there is room for, and then those of the results that the statement uses.
func (a *account) briefErrors(room int) string {
	said, using := eachOnce(a.columns), ""
	if used := eachOnce(a.used); len(used) > 0 {
		using = "uses " + strings.Join(used, ", ")
	}
	for n := len(said); n > 0; n-- {
		parts := slices.Clone(said[:n])
		if more := len(said) - n; more > 0 {
			parts = append(parts, fmt.Sprintf("%d more in dp.last", more))
		}
		for _, all := range [][]string{append(slices.Clip(parts), filledOnes(using)...), parts} {
			if text := strings.Join(all, "; "); utf8.RuneCountInString(text) <= room {
				return text
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "errors in dp.last"
}

// eachOnce lists the texts of errors.
func eachOnce(columns []columnError) (said []string) {
	for _, c := range columns {
		if !slices.Contains(said, c.said) {
			said = append(said, c.said)
		}
	}
	return said
}

// filledOnes are the texts that are not empty.
func filledOnes(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// astray tells of an answer that is known without reading a row which declared values would meet its conditions, and which rows it leaves
// out, by old copies of tables too.
func astray(plan *planner.Plan, pre *prelude, old []string) (all []wire.Notice) {
	if pre.settings.Notice == settings.Silence {
		return nil
	}
	for _, said := range planner.Unmet(plan) {
		all = append(all, wire.Notice{Code: "00000", Message: said})
	}
	if out := planner.Astray(plan); len(out) > 0 {
		all = append(all, wire.Notice{Code: "00000", Message: leftOutBegins + strings.Join(out, "; ")})
	}
	return append(all, aged(old)...)
}

// left names all that is outside of the errors: rows of nobody, rows and values that are cut, groups, and replays that failed.
func (a *account) left() []string {
	left := slices.Clone(a.outside)
	if a.hidden > 0 {
		left = append(left, fmt.Sprintf("%d of %d values, of groups of too few rows for the noise", a.hidden, a.all))
	}
	if a.failed != "" {
		left = append(left, a.failed)
	}
	return left
}
