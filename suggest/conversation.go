package suggest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/constraint"
)

// A Conversation asks an administrator what the catalogue does not say: at most six questions, and none without a case. An empty line takes
// the first answer in brackets.
type Conversation struct {
	In  *bufio.Reader
	Out io.Writer
	// Effects describe in a line how an answer changes the noise.
	Effects Effects
	failed  error
}

// Effects describe how the policy of a draft limits answers; an empty text says nothing.
type Effects interface {
	// Budget describes the effect of the budget of the unit.
	Budget(d *Draft) string
}

// Hold asks all questions, and returns the draft with the answers.
func (c *Conversation) Hold(s *introspect.Survey, ch *Choices) (*Draft, error) {
	cat := read(s)
	all := cat.candidates()
	if ch.Unit == (catalog.Name{}) {
		if len(all) == 0 {
			return nil, ErrNoUnit
		}
		c.unit(cat, all, ch)
	}
	d := c.others(c.draft(s, ch), s, ch)
	d = c.several(d, s, ch)
	d = c.public(d, s, ch)
	d = c.doubtful(d, s, ch)
	d = c.budget(d, s, ch)
	return d, c.failed
}

// draft returns the draft for the choices. After a failure it returns an empty draft, about which nothing is asked.
func (c *Conversation) draft(s *introspect.Survey, ch *Choices) *Draft {
	if c.failed == nil {
		d, err := New(s, ch)
		if err == nil {
			return d
		}
		c.failed = err
	}
	return &Draft{catalogue: &catalogue{Survey: s}, choices: ch}
}

func (c *Conversation) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(c.Out, format, args...); err != nil && c.failed == nil {
		c.failed = err
	}
}

// errEnded says that the input has ended.
var errEnded = errors.New("the input ended before the last question")

// ask asks until an answer is accepted. answers are the possible answers, separated by slashes; an empty line takes the first, and chosen
// says what that means if the answer does not.
func (c *Conversation) ask(question, answers, chosen string, take func(answer string) (problem string)) {
	otherwise, _, _ := strings.Cut(answers, " / ")
	if chosen != "" {
		chosen = ", " + chosen
	}
	for c.failed == nil {
		c.printf("%s [%s; Enter: %s%s]: ", question, answers, otherwise, chosen)
		line, err := c.In.ReadString('\n')
		answer := strings.TrimSpace(line)
		if err != nil && answer == "" {
			c.printf("\n")
			c.failed = errEnded
			return
		}
		if answer == "" {
			answer = otherwise
		}
		problem := take(answer)
		if problem == "" {
			return
		}
		c.printf("   %s\n", problem)
	}
}

// tell writes the effect of an answer.
func (c *Conversation) tell(effect string) {
	if effect != "" && c.failed == nil {
		c.printf("   -> %s\n", effect)
	}
}

// effect returns the effect of an answer, or "" if the conversation has failed.
func (c *Conversation) effect(of func() string) string {
	if c.failed != nil || c.Effects == nil {
		return ""
	}
	return of()
}

// unit asks whom to protect, unless there is a single candidate and it is clear.
func (c *Conversation) unit(cat *catalogue, all []Candidate, ch *Choices) {
	near, isClear := cat.contenders(all)
	for _, a := range all {
		known := slices.ContainsFunc(near, func(n Candidate) bool { return n.Table == a.Table && n.Column == a.Column })
		if !known && !a.part && len(near) < shown {
			near = append(near, a)
		}
	}
	chosen := 0
	if len(near) > 1 || !isClear {
		c.printf("Whom to protect?\n")
		for i := range near {
			c.printf("  %d. %s\n", i+1, near[i].Explained())
		}
		c.ask("One row is for each", "1 / another number / a name", near[0].Name(), func(answer string) string {
			n, err := strconv.Atoi(answer)
			i := slices.IndexFunc(near, func(a Candidate) bool { return answer == shortName(a.Table) || answer == a.Name() })
			if i >= 0 {
				n, err = i+1, nil
			}
			if err != nil || n < 1 || n > len(near) {
				return fmt.Sprintf("a number from 1 to %d, or a name", len(near))
			}
			chosen = n - 1
			return ""
		})
	}
	ch.Unit, ch.UnitColumn = near[chosen].Table, near[chosen].Column
}

// An answer is one answer of several, such as TABLE=out.
type answer struct {
	table catalog.Name
	what  string
}

// answersOf reads TABLE=WHAT, separated by commas; among are the tables in question.
func answersOf(text string, among []catalog.Name) (all []answer, problem string) {
	for part := range strings.SplitSeq(text, ",") {
		table, what, found := strings.Cut(strings.TrimSpace(part), "=")
		i := slices.IndexFunc(among, func(n catalog.Name) bool { return shortName(n) == strings.TrimSpace(table) })
		if !found || i < 0 {
			return nil, "TABLE=..., of the tables " + shortNames(among)
		}
		all = append(all, answer{among[i], strings.TrimSpace(what)})
	}
	return all, ""
}

func isYes(answer string) bool { return answer == "yes" || answer == "y" }

func isNo(answer string) bool { return answer == "no" || answer == "n" || answer == "none" }

// others asks about the tables of other people.
func (c *Conversation) others(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	if len(d.Others) == 0 {
		return d
	}
	with := ""
	if len(d.Theirs) > 0 {
		with = fmt.Sprintf(", with %d of theirs", len(d.Theirs))
	}
	c.ask(fmt.Sprintf("Other people: %s. Leave them out%s?", shortNames(tablesOf(d.Others)), with),
		"yes / TABLE=reference", "they are left out",
		func(text string) string {
			if isYes(text) {
				return ""
			}
			all, problem := answersOf(text, tablesOf(d.Others))
			for _, a := range all {
				if a.what != "reference" {
					return "yes, or TABLE=reference"
				}
				ch.References[a.table] = true
			}
			return problem
		})
	return c.draft(s, ch)
}

// several asks to whom the rows of tables belong that are about several people. An answer can raise further questions.
func (c *Conversation) several(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	var tables []catalog.Name
	var proposed []string
	for _, q := range d.Asked {
		if q.Several && ch.Dropped[q.Table] == "" {
			tables = append(tables, q.Table)
			proposed = append(proposed, oneLine(shortName(q.Table)+": "+q.Ways[0].by()))
		}
	}
	if tables == nil {
		return d
	}
	question := fmt.Sprintf("More than one %s in a row, or somebody's part in it. Whose is it? %s.",
		oneLine(d.UnitName), strings.Join(proposed, "; "))
	c.ask(question, "yes / TABLE=COLUMN / TABLE=out", "as named here", func(text string) string {
		var all []answer
		if !isYes(text) {
			var problem string
			if all, problem = answersOf(text, tables); problem != "" {
				return "yes, or " + problem
			}
		}
		for _, n := range tables {
			q := d.question(n)
			what := q.Ways[0].by()
			if i := slices.IndexFunc(all, func(a answer) bool { return a.table == n }); i >= 0 {
				what = all[i].what
			}
			if problem := q.decide(what, ch); problem != "" {
				return problem
			}
		}
		return ""
	})
	d = c.draft(s, ch)
	for _, n := range tables {
		if t := d.Table(n); t != nil {
			c.tell(fmt.Sprintf("%s protects those behind %s, and may tell of those behind %s",
				oneLine(shortName(n)), oneLine(t.by()), list(slices.Clone(t.NotProtected))))
		}
	}
	return d
}

// decide records an answer about a table in question.
func (q *Question) decide(what string, ch *Choices) (problem string) {
	isWay := func(w Way) bool { return w.by() == what }
	switch {
	case what == "out":
		ch.Dropped[q.Table] = q.Reason
	case slices.ContainsFunc(q.Ways, isWay):
		ch.Ways[q.Table] = what
	case what == "public" && q.Ways == nil:
		ch.Public[q.Table] = true
	case what == "reference" && !q.Several:
		ch.References[q.Table] = true
	default:
		return oneLine(shortName(q.Table)) + " can be " + q.answers()
	}
	return ""
}

// answers lists the possible decisions about a table.
func (q *Question) answers() string {
	var all []string
	for _, w := range q.Ways {
		all = append(all, oneLine(w.by()))
	}
	if q.Ways == nil {
		all = append(all, "public")
	}
	if !q.Several {
		all = append(all, "reference")
	}
	return strings.Join(slices.Concat(all, []string{"out"}), ", ")
}

// public asks about the tables for which there is no objection.
func (c *Conversation) public(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	if len(d.Clear) == 0 {
		return d
	}
	question := fmt.Sprintf("Nothing in these could lead to a %s: %s. Make them public, for every analyst to read?",
		oneLine(d.UnitName), shortNames(d.Clear))
	c.ask(question, "no / yes / TABLES", "none of them is public", func(text string) string {
		switch {
		case isNo(text):
			return ""
		case isYes(text):
			ch.AllClear = true
			return ""
		}
		for part := range strings.SplitSeq(text, ",") {
			i := slices.IndexFunc(d.Clear, func(n catalog.Name) bool { return shortName(n) == strings.TrimSpace(part) })
			if i < 0 {
				return "no, yes, or some of these names, with commas"
			}
			ch.Public[d.Clear[i]] = true
		}
		return ""
	})
	return c.draft(s, ch)
}

// grouped is the largest number of doubtful tables that are listed one by one.
const grouped = 12

// doubtful asks about the tables that might lead to a person.
func (c *Conversation) doubtful(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	var open []Question
	for _, q := range d.Asked {
		if !q.Several {
			open = append(open, q)
		}
	}
	if open == nil {
		return d
	}
	question := "Doubtful, and left out: " + doubts(open) + ". Use any?"
	c.ask(question, "none / TABLE=public, TABLE=reference, TABLE=COLUMN", "they stay out", func(text string) string {
		if isNo(text) {
			return ""
		}
		all, problem := answersOf(text, questioned(open))
		for _, a := range all {
			if problem := d.question(a.table).decide(a.what, ch); problem != "" {
				return problem
			}
		}
		return problem
	})
	return c.draft(s, ch)
}

// doubts lists doubtful tables with their reasons; if there are many it groups them by reason.
func doubts(all []Question) string {
	var parts []string
	if len(all) <= grouped {
		for _, q := range all {
			parts = append(parts, oneLine(fmt.Sprintf("%s (%s)", shortName(q.Table), q.Short)))
		}
		return strings.Join(parts, ", ")
	}
	by := map[string][]catalog.Name{}
	var order []string
	for _, q := range all {
		if by[q.Short] == nil {
			order = append(order, q.Short)
		}
		by[q.Short] = append(by[q.Short], q.Table)
	}
	for _, short := range order {
		parts = append(parts, oneLine(short)+": "+shortNames(by[short]))
	}
	return strings.Join(parts, "; ")
}

func (c *Conversation) budget(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	question := fmt.Sprintf("How much may ever be learnt of one %s, as an epsilon?", oneLine(d.UnitName))
	c.ask(question, ch.Epsilon+" / another number above 0", "", func(answer string) string {
		if r, ok := constraint.Number(answer); !ok || r.Sign() <= 0 || r.Num().BitLen() > 12+r.Denom().BitLen() {
			return "a number above 0, such as " + DefaultEpsilon
		}
		ch.Epsilon = answer
		return ""
	})
	d = c.draft(s, ch)
	c.tell(c.effect(func() string { return c.Effects.Budget(d) }))
	return d
}
