package attacks_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// conversations runs attacks of several messages, which are separated by lines of \g.
// `free` marks an attack that may be answered without a charge, `varies` one whose rows
// depend on noise.
func (h *hunt) conversations(t *testing.T, folder string) {
	t.Helper()
	var breaches []string
	datadriven.Walk(t, folder, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out := ""
			for _, way := range []string{"simple", "extended"} {
				class, found := h.converse(t, d, ways[way])
				breaches = append(breaches, found...)
				switch {
				case out == "":
					out = class
				case class != out:
					out += way + ":\n" + class
				}
			}
			if !h.golden() {
				return d.Expected
			}
			return out
		})
	})
	// Last, as a failed file hides the attacks behind the failure.
	for _, b := range breaches {
		t.Error(b)
	}
}

// converse runs an attack in all worlds and returns the class of its replies.
func (h *hunt) converse(
	t *testing.T, d *datadriven.TestData, send func(*attacker, *testing.T, string) reply,
) (class string, breaches []string) {
	t.Helper()
	classes := make([]string, len(h.attackers))
	replies := make([]reply, len(h.attackers))
	var all sync.WaitGroup
	for i, a := range h.attackers {
		all.Go(func() {
			replies[i] = a.attack(t, d.Input, func(a *attacker, t *testing.T, text string) reply {
				var whole reply
				for message := range strings.SplitSeq(text, "\n\\g\n") {
					r := send(a, t, message)
					classes[i] += r.class(d.HasArg("varies"))
					whole.err += r.err
				}
				return whole
			})
			for _, n := range replies[i].notices {
				classes[i] += strings.Fields(n)[0] + "\n"
			}
			if replies[i].charge != "" {
				classes[i] += "charged\n"
			}
		})
	}
	all.Wait()
	for i, c := range classes[1:] {
		if c != classes[0] {
			breaches = append(breaches, fmt.Sprintf("%s: world %d can be told from world 0\n%s\n%s", d.Pos, i+1, c, classes[0]))
		}
	}
	if failedRead.MatchString(classes[0]) {
		breaches = append(breaches, fmt.Sprintf("%s: a read failed\n%s", d.Pos, classes[0]))
	}
	if replies[0].charge == "" && !refusal.MatchString(classes[0]) && !d.HasArg("free") {
		breaches = append(breaches, fmt.Sprintf("%s: answered without a charge\n%s", d.Pos, classes[0]))
	}
	return classes[0], breaches
}

var refusal = regexp.MustCompile(`(?m)^ERROR (PB|42|0A|22|25|2F|3|55)`)

// class writes the parts of a reply that must not depend on a protected row: columns, the number
// of rows, their keys in order, the tag, and the error.
func (r reply) class(varies bool) string {
	var out strings.Builder
	for _, res := range r.results {
		for _, c := range res.columns {
			out.WriteString(c[:strings.LastIndexByte(c, ':')] + " ")
		}
		if varies {
			out.WriteString("some rows\n")
			continue
		}
		if len(res.columns) > 0 {
			fmt.Fprintf(&out, "%d rows ", len(res.rows))
		}
		for _, row := range res.rows {
			for i, c := range row {
				if !res.numeric[i] {
					out.WriteString(c + " ")
				}
			}
		}
		out.WriteString(res.tag + "\n")
	}
	return out.String() + r.err
}
