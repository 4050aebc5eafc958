package suggest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// A Conversation asks somebody where the catalogue tells nothing. An empty line takes the answer in brackets.
type Conversation struct {
	In  *bufio.Reader
	Out io.Writer
	// Effects say in a line how an answer changes the noise.
	Effects Effects
	failed  error
}

// Effects tell how the policy of a draft limits answers; an empty text is nothing to tell.
type Effects interface {
	// Rows is about the limit of a table's rows, Column about the bounds of a column.
	Rows(d *Draft, table catalog.Name) string
	Column(d *Draft, table catalog.Name, c *Column) string
	// Budget is about the budget of the unit.
	Budget(d *Draft) string
}

// Hold asks all questions, and returns the draft with the answers.
func (c *Conversation) Hold(s *introspect.Survey, ch *Choices) (*Draft, error) {
	all := Candidates(s)
	if len(all) == 0 {
		return nil, ErrNoUnit
	}
	c.unit(all, ch)
	d := c.draft(s, ch)
	d = c.ways(d, s, ch)
	c.public(d, ch)
	d = c.draft(s, ch)
	d = c.rows(d, s, ch)
	d = c.bounds(d, s, ch)
	d = c.budget(d, s, ch)
	return d, c.failed
}

// draft makes the draft of the choices; after a failure it is an empty one, about which nothing is asked.
func (c *Conversation) draft(s *introspect.Survey, ch *Choices) *Draft {
	if c.failed == nil {
		d, err := New(s, ch)
		if err == nil {
			return d
		}
		c.failed = err
	}
	return &Draft{survey: s, choices: ch}
}

func (c *Conversation) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(c.Out, format, args...); err != nil && c.failed == nil {
		c.failed = err
	}
}

// errEnded says that nobody is there any more.
var errEnded = errors.New("the input ended before the last question")

// ask asks until an answer is taken; otherwise is the one of an empty line.
func (c *Conversation) ask(question, otherwise string, take func(answer string) (problem string)) {
	for c.failed == nil {
		c.printf("%s [%s]: ", question, otherwise)
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

// pick asks for one of a list, by its number or its text. The first is the default.
func (c *Conversation) pick(question string, list, texts []string) (chosen int) {
	if c.failed != nil {
		return 0
	}
	for i, text := range texts {
		c.printf("  %d. %s\n", i+1, oneLine(text))
	}
	c.ask(question, "1", func(answer string) string {
		n, err := strconv.Atoi(answer)
		if i := slices.Index(list, answer); i >= 0 {
			n, err = i+1, nil
		}
		if err != nil || n < 1 || n > len(list) {
			return fmt.Sprintf("a number from 1 to %d, or a name", len(list))
		}
		chosen = n - 1
		return ""
	})
	return chosen
}

// shown is how many candidates are listed.
const shown = 9

func (c *Conversation) unit(all []Candidate, ch *Choices) {
	if ch.Unit == (catalog.Name{}) {
		var list, texts []string
		for _, u := range all[:min(len(all), shown)] {
			list = append(list, shortName(u.Table))
			texts = append(texts, shortName(u.Table)+": "+tablesRefer(u.Referring))
		}
		c.printf("Which table has one row for each person, or whatever is to be protected?\n")
		ch.Unit = all[c.pick("Table", list, texts)].Table
	}
	c.ask("What is one of them called?", unitName(ch.Unit.Name), func(answer string) string {
		if len(answer) > 63 || strings.ContainsFunc(answer, unprintable) {
			return "a short word, such as " + unitName(ch.Unit.Name)
		}
		ch.UnitName = answer
		return ""
	})
	c.tell("answers hardly change with all rows of one " + ch.UnitName + ", in all tables together")
}

// ways asks about tables whose rows may be about two people, until there are no others.
func (c *Conversation) ways(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	for {
		i := slices.IndexFunc(d.Ambiguous, func(a Ambiguity) bool { return ch.Dropped[a.Table] == "" })
		if i < 0 || c.failed != nil {
			return d
		}
		a := d.Ambiguous[i]
		c.printf("A row of %s refers to several rows of people, and can protect one %s.\n",
			oneLine(shortName(a.Table)), oneLine(d.UnitName))
		list, texts := []string{"out"}, []string{"leave the table out"}
		for _, w := range a.Ways {
			by := w.Unit
			if by == "" {
				by = strings.Join(w.Via, ", ")
			}
			list, texts = append(list, by), append(texts, by+": those behind "+strings.Join(a.without(w), ", ")+" are not protected by it")
		}
		chosen := c.pick("Whose is it?", list, texts)
		if chosen == 0 {
			ch.Dropped[a.Table] = "its rows refer to several people, by " + alternatives(a.Columns)
			c.tell(shortName(a.Table) + " does not exist for analysts")
		} else {
			ch.Ways[a.Table] = a.Ways[chosen-1].Key
			c.tell("answers about " + shortName(a.Table) + " protect those behind " + list[chosen] + ", and may tell of the others")
		}
		d = c.draft(s, ch)
	}
}

func (c *Conversation) public(d *Draft, ch *Choices) {
	for _, n := range d.Unrelated {
		c.ask(fmt.Sprintf("No foreign key leads from %s to a %s. May every analyst read all its rows? y or n",
			oneLine(shortName(n)), oneLine(d.UnitName)), "n", func(answer string) string {
			switch strings.ToLower(answer) {
			case "y", "yes":
				ch.Public[n] = true
				c.tell("its rows are copied to the mirror; to read and to join them costs nothing")
			case "n", "no":
				c.tell(shortName(n) + " does not exist for analysts")
			default:
				return "y or n"
			}
			return ""
		})
	}
}

func (c *Conversation) rows(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	for _, t := range d.Tables {
		if t.OnePerUnit {
			continue
		}
		n := t.Source.Name
		c.ask(fmt.Sprintf("How many rows of one %s in %s count? A number, or auto: each statement chooses, with a part of its epsilon",
			oneLine(d.UnitName), oneLine(shortName(n))), "auto", func(answer string) string {
			if k, err := strconv.Atoi(answer); answer != "auto" && (err != nil || k < 1 || k > 1_000_000) {
				return "auto, or a number from 1 to 1000000"
			}
			ch.Rows[n] = answer
			return ""
		})
		d = c.draft(s, ch)
		c.tell(c.effect(func() string { return c.Effects.Rows(d, n) }))
	}
	return d
}

// effect asks for the effect of an answer, unless the conversation has failed.
func (c *Conversation) effect(of func() string) string {
	if c.failed != nil || c.Effects == nil {
		return ""
	}
	return of()
}

var pair = regexp.MustCompile(`^\[?\s*([^,\[\]]+?)\s*,\s*([^,\[\]]+?)\s*\]?$`)

// bounds asks for the bounds of the columns that could use some.
func (c *Conversation) bounds(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	var open []Place
	for _, t := range d.Tables {
		for _, col := range t.Columns {
			if col.Open {
				open = append(open, Place{t.Source.Name, col.Source.Name})
			}
		}
	}
	for i, p := range open {
		stop := false
		col := d.Table(p.Table).column(p.Column)
		question := fmt.Sprintf("(%d of %d) Bounds of %s.%s (%s), as %s; . for none here and in all others", i+1, len(open),
			oneLine(shortName(p.Table)), oneLine(p.Column), oneLine(col.Source.Type.Display), sample(col))
		c.ask(question, "none", func(answer string) string {
			stop = answer == "."
			if stop || answer == "none" {
				return ""
			}
			m := pair.FindStringSubmatch(answer)
			if m == nil || !col.admits(m[1], m[2]) {
				return "two ends, the lower first: " + sample(col)
			}
			ch.Bounds[p] = [2]string{m[1], m[2]}
			return ""
		})
		if stop || c.failed != nil {
			return d
		}
		d = c.draft(s, ch)
		c.tell(c.effect(func() string { return c.Effects.Column(d, p.Table, d.Table(p.Table).column(p.Column)) }))
	}
	return d
}

func (t *Table) column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Source.Name == name })
	return &t.Columns[i]
}

func sample(c *Column) string {
	if c.Times {
		return "2015-01-01, 2030-12-31"
	}
	return "0, 100"
}

// admits reports whether two texts are bounds of the column.
func (c *Column) admits(low, high string) bool {
	if c.Times {
		from, ok := day(low)
		to, okToo := day(high)
		return ok && okToo && !from.After(to)
	}
	from, ok := number(low)
	to, okToo := number(high)
	return ok && okToo && from.Cmp(to) <= 0
}

func (c *Conversation) budget(d *Draft, s *introspect.Survey, ch *Choices) *Draft {
	question := fmt.Sprintf("How much may ever be learnt of one %s, as an epsilon?", oneLine(d.UnitName))
	c.ask(question, ch.Epsilon, func(answer string) string {
		if r, ok := number(answer); !ok || r.Sign() <= 0 || r.Num().BitLen() > 12+r.Denom().BitLen() {
			return "a number above 0, such as " + DefaultEpsilon
		}
		ch.Epsilon = answer
		return ""
	})
	d = c.draft(s, ch)
	c.tell(c.effect(func() string { return c.Effects.Budget(d) }))
	return d
}
