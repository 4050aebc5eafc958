package setup

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
	"dpproxy/mirror/introspect"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
	"dpproxy/suggest"
)

// A policyFile is a policy with its text, for proposals of other lines.
type policyFile struct {
	path, text string
	policy     *config.Policy
}

func openPolicyFile(path string) (*policyFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := config.Parse(path, text)
	if err != nil {
		return nil, err
	}
	return &policyFile{path, string(text), p}, nil
}

// propose prints a diff to a text of the file that is whole: patch takes it.
func (f *policyFile) propose(text string) error {
	if _, err := config.Parse(f.path, []byte(text)); err != nil {
		return fmt.Errorf("please report this, with the policy: %w", err)
	}
	diff, err := suggest.Diff(f.path, f.text, text)
	if err != nil {
		return err
	}
	if diff == "" {
		fmt.Fprintf(os.Stderr, "%s: nothing is new\n", filepath.Base(f.path))
		return nil
	}
	_, err = fmt.Print(diff)
	fmt.Fprintf(os.Stderr, "Read it; patch %s takes it over, then dpproxy check --explain, dpproxy sync\n", f.path)
	return err
}

// updatePolicy proposes lines for tables and columns that a policy does not mention.
func updatePolicy(ctx context.Context, path string) error {
	f, err := openPolicyFile(path)
	if err != nil {
		return err
	}
	conn, err := (&site.Site{Policy: f.policy}).ConnectData(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	survey, err := introspect.ReadSurvey(ctx, conn)
	if err != nil {
		return fmt.Errorf("reading the catalogue: %w", err)
	}
	edits, lost, err := suggest.Update(survey, f.given())
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		fmt.Fprintf(os.Stderr, "The database lacks what the policy has, or it may not be read: %s\n", strings.Join(lost, ", "))
	}
	return f.propose(suggest.Apply(f.text, edits))
}

// given has the decisions of the policy about tables.
func (f *policyFile) given() suggest.Given {
	g := suggest.Given{
		Text: f.text, Line: f.policy.Line, Ways: map[catalog.Name]suggest.Way{}, Columns: map[catalog.Name][]string{},
		Dated: f.policy.Dated, Brace: f.policy.Brace, GoesOn: f.policy.GoesOn,
	}
	for _, t := range f.policy.Tables.Tables {
		_, partition := f.policy.PartitionOf[t.Name]
		switch {
		case partition:
			g.Others = append(g.Others, t.Name)
		case t.Reference:
			g.Others, g.References = append(g.Others, t.Name), append(g.References, t.Name)
			g.Columns[t.Name] = slices.Sorted(maps.Keys(t.Columns))
		case t.Public:
			g.Public = append(g.Public, t.Name)
		default:
			g.Protected = append(g.Protected, t.Name)
			g.Ways[t.Name] = wayOf(t)
			g.Columns[t.Name] = slices.Sorted(maps.Keys(t.Columns))
		}
	}
	for _, v := range f.policy.Views {
		g.Others = append(g.Others, v.Name)
	}
	for _, t := range f.policy.Local {
		g.Others = append(g.Others, t.Name)
	}
	return g
}

// shownTables is how many tables are named that a policy does not mention.
const shownTables = 5

// sayUnmentioned says which tables of the database a policy does not mention, not even in a comment: they may have come since.
func sayUnmentioned(ctx context.Context, conn *pgx.Conn, path string) error {
	f, err := openPolicyFile(path)
	if err != nil {
		return err
	}
	all, err := introspect.Readable(ctx, conn)
	if err != nil {
		return err
	}
	g := f.given()
	names := []string{}
	for _, n := range all {
		if !g.Mentions(n) {
			names = append(names, n.String())
		}
	}
	if n := len(names); n > 0 {
		if n > shownTables {
			names = append(names[:shownTables:shownTables], "...")
		}
		fmt.Printf("%s: it does not mention %d of the database's tables and views (%s); dpproxy suggest --update proposes lines for them\n",
			path, n, strings.Join(names, ", "))
	}
	return nil
}

// wayOf is the way of a table's policy.
func wayOf(t policy.TablePolicy) suggest.Way {
	switch {
	case t.UnitColumn != "":
		return suggest.Way{Unit: t.UnitColumn}
	case t.ViaKey != nil:
		return suggest.Way{Via: t.ViaKey, To: t.To.Table, At: t.ViaKey}
	}
	return suggest.Way{Via: []string{t.Via}, To: t.To.Table, At: []string{t.To.Column}}
}

// askBounds asks for the bounds of the columns that have none in a policy, and proposes them.
func askBounds(ctx context.Context, path string) error {
	f, err := openPolicyFile(path)
	if err != nil {
		return err
	}
	s := &site.Site{Policy: f.policy}
	conn, err := s.ConnectData(ctx)
	if err != nil {
		return err
	}
	schema, err := s.MirrorPlan().Read(ctx, conn)
	conn.Close(ctx)
	if err != nil {
		return err
	}
	model, problems := s.Fit(s.MirrorPlan(), schema)
	if err := s.Annotate(problems); err != nil {
		return err
	}
	text, err := f.askBounds(&suggest.Conversation{In: bufio.NewReader(os.Stdin), Out: os.Stderr}, model, schema)
	if err != nil {
		return err
	}
	return f.propose(text)
}

// askBounds asks for the bounds of all dates, and for those of single columns. It returns the text of the file with the answers.
func (f *policyFile) askBounds(talk *suggest.Conversation, model *policy.Model, schema *catalog.Schema) (string, error) {
	open := f.unbounded(model)
	days := ""
	if f.policy.Defaults.Dates == nil {
		var err error
		if days, err = talk.Dates(open); err != nil {
			return "", err
		}
	}
	var edits []suggest.Edit
	write := func(o suggest.OpenColumn, bounds string) {
		line := emptyColumn.ReplaceAllString(f.lineAt(o.Place), "${1}{bounds: "+bounds+"}")
		edits = append(edits, suggest.Edit{Line: f.line(o.Place), Drop: 1, Lines: []string{line}})
	}
	if days != "" {
		open = slices.DeleteFunc(open, func(o suggest.OpenColumn) bool { return o.Times() && !o.Born })
	}
	unanswered := slices.Clone(open)
	err := talk.Bounds(open, func(o suggest.OpenColumn, bounds string) string {
		unanswered = slices.DeleteFunc(unanswered, func(u suggest.OpenColumn) bool { return u.Place == o.Place })
		write(o, bounds)
		return effectOfBounds(suggest.Apply(f.text, edits), schema, o)
	})
	if days != "" {
		for _, o := range unanswered {
			if o.Times() { // a date of birth, which the default is not for
				write(o, "none")
			}
		}
		edits = append(edits, f.defaultDates(days))
	}
	return suggest.Apply(f.text, edits), err
}

// defaultDates writes the default for dates where the file asks for it, among its other defaults, or before its tables.
func (f *policyFile) defaultDates(days string) suggest.Edit {
	lines := strings.Split(f.text, "\n")
	written := "defaults: {dates: " + days + "}"
	if i := slices.IndexFunc(lines, askedDates.MatchString); i >= 0 {
		return suggest.Edit{Line: i + 1, Drop: 1, Lines: []string{written}}
	}
	at := f.policy.Line("defaults")
	switch {
	case at == 0:
		return suggest.Edit{Line: f.policy.Line("tables"), Lines: []string{written}}
	case inBraces.MatchString(lines[at-1]):
		line := inBraces.ReplaceAllString(lines[at-1], "${1}dates: "+days+", ")
		return suggest.Edit{Line: at, Drop: 1, Lines: []string{strings.Replace(line, ", }", "}", 1)}}
	}
	return suggest.Edit{Line: at + 1, Lines: []string{"  dates: " + days}}
}

var (
	// emptyColumn is the line of a column of which a policy says nothing, with a comment or without, or none with the question.
	emptyColumn = regexp.MustCompile(`^(\s+\S.*:\s+)(?:\{\s*\}\s*(?:#.*)?|\{bounds: none\} # bounds: \?.*)$`)
	// askedDates is the line of the default for dates that a first policy asks for.
	askedDates = regexp.MustCompile(`^# defaults: \{dates: \[.*\]\}$`)
	inBraces   = regexp.MustCompile(`^(defaults:\s*\{\s*)`)
)

func (f *policyFile) line(p suggest.Place) int {
	return f.policy.Line("tables", p.Table.String(), "columns", p.Column)
}

func (f *policyFile) lineAt(p suggest.Place) string {
	if n := f.line(p); n > 0 {
		return strings.Split(f.text, "\n")[n-1]
	}
	return ""
}

// unbounded are the columns that the policy lists and says nothing of.
func (f *policyFile) unbounded(model *policy.Model) (open []suggest.OpenColumn) {
	for _, t := range f.policy.Tables.Tables {
		if _, partition := f.policy.PartitionOf[t.Name]; t.Public || partition {
			continue
		}
		of := model.Table(t.Name)
		silent := suggest.Unbounded(of.Source, func(column string) bool {
			unstated := slices.ContainsFunc(of.Columns, func(c policy.Column) bool {
				return c.Name == column && (c.ByDefault || c.Follows != "")
			})
			return !unstated && emptyColumn.MatchString(f.lineAt(suggest.Place{Table: t.Name, Column: column}))
		})
		open = append(open, slices.DeleteFunc(silent, func(o suggest.OpenColumn) bool { return !o.Times() && of.Identifies(o.Column) })...)
	}
	return open
}

// effectOfBounds describes the effect of a column's bounds on answers.
func effectOfBounds(text string, schema *catalog.Schema, o suggest.OpenColumn) string {
	if o.Times() {
		return "groups by its days, months or years are public then: all of them are shown, and nothing is spent to find them"
	}
	p, err := config.Parse("the policy", []byte(text))
	if err != nil {
		return ""
	}
	model, problems := policy.Check(p.Tables, schema)
	if len(problems) > 0 {
		return problems[0].String()
	}
	x, err := effects{p, model}.of(o.Table, "sum("+ast.QuoteIdent(o.Column)+")")
	if err != nil {
		return "refused: " + err.Error()
	}
	return fmt.Sprintf("%s at epsilon 0.1: one %s adds %s; error at 95 %%: %s", x.Label, model.Unit(), x.Contribution, x.Error)
}
