package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"golang.org/x/term"

	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/policy"
	"dpproxy/suggest"
)

// Suggest makes a first policy.
type Suggest struct {
	Data     string   `arg:"" optional:"" help:"The protected database, a URL or host=... dbname=.... Its catalogue is read, and no row."`
	Yes      bool     `short:"y" help:"Ask nothing: take the defaults."`
	Unit     string   `help:"Whom to protect: a table with a row for each, or a column." placeholder:"TABLE[.COLUMN]"`
	Public   []string `help:"Tables whose rows every analyst may read; clear: all that nothing speaks against." placeholder:"TABLE"`
	Output   string   `short:"o" help:"File for the policy, which must not exist yet." type:"path" placeholder:"FILE"`
	Listen   string   `help:"Where analysts will connect." default:"127.0.0.1:6432"`
	Mirror   string   `help:"The mirror's connection, without a password." placeholder:"URL"`
	Ledger   string   `help:"The ledger's folder." default:"/var/lib/dpproxy"`
	Analyst  string   `help:"An analyst, who may ask about all tables." placeholder:"NAME"`
	Verifier string   `help:"The analyst's password, as dpproxy verifier makes it." placeholder:"SCRAM"`
	Update   string   `help:"Propose what a policy does not speak of yet, as a diff." type:"path" placeholder:"POLICY"`
	Bounds   string   `help:"Ask for the bounds of a policy's columns, and propose them as a diff." type:"path" placeholder:"POLICY"`
}

// Run implements the command.
func (c *Suggest) Run(ctx context.Context) error {
	switch {
	case c.Update != "":
		return updatePolicy(ctx, c.Update)
	case c.Bounds != "":
		return askBounds(ctx, c.Bounds)
	case c.Data == "":
		return errors.New("say which database: dpproxy suggest postgres://reader@host/database")
	case (c.Analyst == "") != (c.Verifier == ""):
		return errors.New("--analyst and --verifier belong together")
	}
	conn, err := site.ConnectTo(ctx, c.Data)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	survey, err := introspect.ReadSurvey(ctx, conn)
	if err != nil {
		return fmt.Errorf("reading the catalogue: %w", err)
	}
	choices, err := c.choices(survey)
	if err != nil {
		return err
	}
	s := &suggestion{ctx: ctx, conn: conn, survey: survey, choices: choices}
	draft, err := s.fitting()
	if !c.Yes && term.IsTerminal(int(os.Stdin.Fd())) {
		if _, unclear := errors.AsType[*suggest.UnclearError](err); err != nil && !unclear {
			return err
		}
		talk := &suggest.Conversation{In: bufio.NewReader(os.Stdin), Out: os.Stderr, Effects: s}
		if _, err := talk.Hold(survey, choices); err != nil {
			return err
		}
		draft, err = s.fitting()
	}
	if err != nil {
		return err
	}
	fmt.Fprint(os.Stderr, draft.Summary(c.next()))
	return c.write(draft.YAML())
}

// next names the steps that come then.
func (c *Suggest) next() string {
	file := "it"
	if c.Output != "" {
		file = filepath.Base(c.Output)
	}
	return "read " + file + "; dpproxy check --explain, dpproxy init, dpproxy sync, dpproxy run"
}

// choices are those of the command line.
func (c *Suggest) choices(survey *introspect.Survey) (*suggest.Choices, error) {
	data := withoutPassword(c.Data)
	ch := suggest.NewChoices(suggest.Service{
		Listen: c.Listen, Data: data, Mirror: c.Mirror, Ledger: c.Ledger, Analyst: c.Analyst, Verifier: c.Verifier,
	})
	if c.Mirror == "" {
		ch.Service.Mirror = "postgres://dpproxy_mirror@127.0.0.1:5433/" + url.PathEscape(survey.Database)
	}
	for _, text := range c.Public {
		n, column, err := find(survey, text)
		switch {
		case err != nil && text == "clear":
			ch.AllClear = true
		case err != nil:
			return nil, err
		case column != "":
			return nil, fmt.Errorf("there is no table %s: a table is public as a whole", text)
		default:
			ch.Public[n] = true
		}
	}
	var err error
	if c.Unit != "" {
		ch.Unit, ch.UnitColumn, err = find(survey, c.Unit)
	}
	return ch, err
}

// find reads [SCHEMA.]TABLE or [SCHEMA.]TABLE.COLUMN.
func find(survey *introspect.Survey, text string) (n catalog.Name, column string, err error) {
	exists := func(schema, name string) bool {
		n = catalog.Name{Schema: schema, Name: name}
		return survey.Tables[n] != nil
	}
	parts := strings.Split(text, ".")
	switch count := len(parts); {
	case count > 1 && exists(parts[0], strings.Join(parts[1:], ".")):
		return n, "", nil
	case count > 2 && exists(parts[0], strings.Join(parts[1:count-1], ".")):
		return n, parts[count-1], nil
	case count > 1 && exists("public", strings.Join(parts[:count-1], ".")):
		return n, parts[count-1], nil
	case exists("public", text):
		return n, "", nil
	}
	return n, "", fmt.Errorf("there is no table %v, or it may not be read", n)
}

var passwordWord = regexp.MustCompile(`(?i)(^|\s)password\s*=\s*('(\\.|[^'])*'|\S*)`)

// withoutPassword returns a connection as a policy may hold it.
func withoutPassword(connection string) string {
	u, err := url.Parse(connection)
	if err != nil || u.Scheme == "" {
		return strings.TrimSpace(passwordWord.ReplaceAllString(connection, " "))
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	q.Del("password")
	u.RawQuery = q.Encode()
	return u.String()
}

// write writes the policy to a file that is new, or to standard output.
func (c *Suggest) write(text string) error {
	if c.Output == "" {
		_, err := fmt.Print(text)
		return err
	}
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// A suggestion is made until it fits the database.
type suggestion struct {
	ctx     context.Context //nolint:containedctx // of one command
	conn    *pgx.Conn
	survey  *introspect.Survey
	choices *suggest.Choices
}

// fitting leaves out all that dpproxy check would refuse, with its reason.
func (s *suggestion) fitting() (*suggest.Draft, error) {
	for {
		draft, err := suggest.New(s.survey, s.choices)
		if err != nil {
			return nil, err
		}
		problems, err := s.problems(draft)
		if err != nil || len(problems) == 0 {
			return draft, err
		}
		for _, p := range problems {
			if err := s.leaveOut(p); err != nil {
				return nil, err
			}
		}
	}
}

// problems are those that dpproxy check finds.
func (s *suggestion) problems(d *suggest.Draft) ([]policy.Problem, error) {
	at, err := s.site(d)
	if err != nil {
		return nil, err
	}
	model, problems := at.Fit(at.MirrorPlan(), s.schemaOf(at.Policy))
	if len(problems) > 0 {
		return problems, nil
	}
	return nil, mirror.Check(s.ctx, s.conn, at.MirrorPlanOf(model))
}

// schemaOf is the part of the survey that a policy is about.
func (s *suggestion) schemaOf(p *config.Policy) *catalog.Schema {
	schema := *s.survey.Schema
	schema.Tables, schema.Local = map[catalog.Name]*catalog.Table{}, map[catalog.Name]*catalog.Table{}
	for _, t := range p.Tables.Tables {
		schema.Tables[t.Name] = s.survey.Tables[t.Name]
	}
	for _, v := range p.Views {
		schema.Tables[v.Name] = s.survey.Tables[v.Name]
	}
	return &schema
}

func (*suggestion) site(d *suggest.Draft) (*site.Site, error) {
	p, err := config.Parse("the suggested policy", []byte(d.YAML()))
	if err != nil {
		return nil, fmt.Errorf("please report this, with the schema: %w", err)
	}
	return &site.Site{Policy: p}, nil
}

// leaveOut hides a column, or leaves a table out. A problem that this does not mend is an error.
func (s *suggestion) leaveOut(p policy.Problem) error {
	if len(p.Path) < 2 || p.Path[0] != "tables" {
		return errors.New(p.String())
	}
	schema, name, _ := strings.Cut(p.Path[1], ".")
	n := catalog.Name{Schema: schema, Name: name}
	if len(p.Path) > 3 && p.Path[2] == "columns" {
		at := suggest.Place{Table: n, Column: p.Path[3]}
		if s.choices.Hidden[at] == "" {
			s.choices.Hidden[at] = p.Message
			return nil
		}
	}
	if s.choices.Dropped[n] != "" {
		return errors.New(p.String())
	}
	s.choices.Dropped[n] = p.Message
	return nil
}

// Budget implements suggest.Effects.
func (s *suggestion) Budget(d *suggest.Draft) string {
	at, err := s.site(d)
	if err != nil {
		return ""
	}
	limit, err := at.Policy.Unit.Limit()
	if err != nil {
		return ""
	}
	each := int64(effectEpsilonPico)
	if limit.Measure() == dp.ZCDP {
		each = effectEpsilonPico / 10 / 2 // ρ = ε²/2
	}
	return fmt.Sprintf("about %d statements at epsilon 0.1, or %d that are twice as precise, by all analysts together",
		limit.Pico()/each, limit.Pico()/each/4)
}
