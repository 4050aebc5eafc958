package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/term"

	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/listing"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mirror/quote"
	"dpproxy/mirror/steady"
	"dpproxy/planner/policy"
)

// A look is the administrator's own, into the protected rows, at references of which the schema does not prove all. It tells yes or no:
// no value, and no number of rows.
type look struct {
	conn *pgx.Conn
	unit string
	// patience bounds each question.
	patience time.Duration
}

// references looks at each of them, and tells a line of each.
func (l look) references(ctx context.Context, all []policy.Unproved, tell func(string)) error {
	if len(all) == 0 {
		tell("of each reference to rows of people the schema proves all: there is nothing to look for")
		return nil
	}
	tell("read from the protected rows, for you alone and not to be published:")
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	bar := listing.Bar("references", int64(len(all)), terminal)
	for i, u := range all {
		said, err := l.reference(ctx, u)
		if err != nil {
			return err
		}
		_ = bar.Set(i + 1) // a bar that cannot be drawn is no reason to stop
		for _, line := range said {
			tell(line)
		}
	}
	return nil
}

// reference looks at one reference. It returns a line of answers, and one for each that is yes: how to find the rows.
func (l look) reference(ctx context.Context, u policy.Unproved) (lines []string, err error) {
	said := fmt.Sprintf("%v: %s refers to %v", u.From.Name, columnsOf(u.Step.From), u.To.Name)
	find := []string(nil)
	ask := func(what, rows, means string) (answer string, err error) {
		if answer, err = l.ask(ctx, relationsOf(u), "SELECT EXISTS (SELECT "+rows+")"); err != nil {
			return "", err
		}
		said += "; " + what + ": " + answer
		if answer == yes {
			said += means
			find = append(find, "the "+what+": SELECT f.* "+rows)
		}
		return answer, nil
	}
	proof := ""
	if u.Unit {
		answer, err := ask("rows that lead to one of another "+l.unit, otherUnit(u), mixed(u))
		if err != nil {
			return nil, err
		}
		if answer != yes { // else the foreign key cannot be made, nor where rows lead to none
			proof = proofOf(u, l.unit)
		}
	}
	if u.Match {
		answer, err := ask("rows that lead to none", noMatch(u), unmatched(u))
		if err != nil {
			return nil, err
		}
		if answer == yes {
			proof = ""
		}
	}
	return append([]string{said + proof}, find...), nil
}

// yes is the answer that there are such rows.
const yes = "yes"

// mixed says what rows that lead to one of another unit mean for answers, and whether the policy says that there are none.
func mixed(u policy.Unproved) string {
	said := ", which have no match in joins by it; nobody's protection rests on it"
	if u.SameUnit {
		said += fmt.Sprintf("; the policy says same_unit: [%s], and it does not hold: take it away, so that notices say it",
			strings.Join(u.Step.From, ", "))
	}
	return said
}

// unmatched says likewise of rows that lead to none.
func unmatched(u policy.Unproved) string {
	said := ", which have no match in joins by it"
	if !u.Unit {
		said = ", which belong to nobody and are left out of answers"
	}
	if u.Refers {
		said += fmt.Sprintf("; the policy says refers: {%s: %v}, and it does not hold", columnsOf(u.Step.From), u.To.Name)
	}
	return said
}

// proofOf names the foreign key that would prove that both rows are of one unit.
func proofOf(u policy.Unproved, unit string) string {
	fk, indexed := u.Proof()
	if fk == nil {
		return ""
	}
	with := ""
	if !indexed {
		with = ", with a unique index there,"
	}
	return fmt.Sprintf("; FOREIGN KEY (%s) REFERENCES %s (%s)%s would prove that both are of one %s", quote.Idents(fk.Columns),
		quote.Name(fk.References), quote.Idents(fk.Target), with, unit)
}

// ask asks in a transaction that only reads: yes, no, or that it took too long. An interruption of the command ends the statement as well.
func (l look) ask(ctx context.Context, names []catalog.Name, sql string) (string, error) {
	tx, err := steady.Open(ctx, l.conn, names)
	if err != nil {
		return "", err
	}
	unbroken := context.WithoutCancel(ctx)
	defer tx.Rollback(unbroken)
	stop := context.AfterFunc(ctx, func() {
		soon, done := context.WithTimeout(unbroken, site.ConnectTimeout)
		defer done()
		_ = l.conn.PgConn().CancelRequest(soon) // else the statement ends by its time
	})
	defer stop()
	limits := fmt.Sprintf("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = %d", max(l.patience.Milliseconds(), 1))
	if _, err := l.conn.PgConn().Exec(unbroken, limits).ReadAll(); err != nil {
		return "", err
	}
	found := false
	err = tx.QueryRow(unbroken, sql).Scan(&found)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case ok && refused.Code == "57014":
		return fmt.Sprintf("not known after %v (--patience)", l.patience), nil
	case err != nil:
		return "", fmt.Errorf("looking at references: %w", err)
	case found:
		return yes, nil
	}
	return "no", nil
}

// relationsOf names the tables that the questions about a reference read.
func relationsOf(u policy.Unproved) []catalog.Name {
	names := []catalog.Name{u.From.Name, u.To.Name}
	for _, t := range []*policy.Table{u.From, u.To} {
		for _, s := range t.Unit.Steps {
			names = append(names, s.To.Name)
		}
	}
	return names
}

// otherUnit writes the rows f that refer to one of another unit, from FROM on.
func otherUnit(u policy.Unproved) string {
	var from strings.Builder
	from.WriteString(tableAs(u.From, "f"))
	from.WriteString(" JOIN " + tableAs(u.To, "t") + " ON " + equal(u.Step, "f", "t"))
	own, its := alongWay(&from, u.From, "f"), alongWay(&from, u.To, "t")
	return "FROM " + from.String() + " WHERE " + own + " OPERATOR(pg_catalog.<>) " + its
}

// alongWay joins the tables of the way to the unit, and returns the column of the unit.
func alongWay(from *strings.Builder, t *policy.Table, as string) string {
	for _, s := range t.Unit.Steps {
		next := as + "1"
		from.WriteString(" JOIN " + tableAs(s.To, next) + " ON " + equal(s, as, next))
		as = next
	}
	return as + "." + quote.Ident(t.Unit.Column)
}

// noMatch writes likewise the rows that refer to one that is not there. One with NULL refers to none.
func noMatch(u policy.Unproved) string {
	var stated []string
	for _, c := range u.Step.From {
		stated = append(stated, "f."+quote.Ident(c)+" IS NOT NULL")
	}
	return "FROM " + tableAs(u.From, "f") + " WHERE " + strings.Join(stated, " AND ") +
		" AND NOT EXISTS (SELECT FROM " + tableAs(u.To, "t") + " WHERE " + equal(u.Step, "f", "t") + ")"
}

func tableAs(t *policy.Table, as string) string { return t.Source.Only() + t.SQL() + " AS " + as }

func equal(s policy.Step, from, to string) string {
	pairs := make([]string, len(s.From))
	for i, c := range s.From {
		pairs[i] = from + "." + quote.Ident(c) + " OPERATOR(pg_catalog.=) " + to + "." + quote.Ident(s.Key[i])
	}
	return strings.Join(pairs, " AND ")
}

// columnsOf writes one column, or several in parentheses.
func columnsOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "(" + strings.Join(names, ", ") + ")"
}
