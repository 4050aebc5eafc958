package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"golang.org/x/term"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/policy"
	"dpproxy/suggest"
)

// suggestCommand makes a first policy.
type suggestCommand struct {
	Data     string   `arg:"" help:"The protected database, a URL or host=... dbname=.... Its catalogue is read, and no row."`
	Yes      bool     `short:"y" help:"Ask nothing: take the defaults."`
	Unit     string   `help:"The table that has a row for each privacy unit." placeholder:"TABLE"`
	Public   []string `help:"Tables whose rows every analyst may read." placeholder:"TABLE"`
	Output   string   `short:"o" help:"File for the policy, which must not exist yet." type:"path" placeholder:"FILE"`
	Listen   string   `help:"Where analysts will connect." default:"127.0.0.1:6432"`
	Mirror   string   `help:"The mirror's connection, without a password." placeholder:"URL"`
	Ledger   string   `help:"The ledger's folder." default:"/var/lib/dpproxy"`
	Analyst  string   `help:"An analyst, who may ask about all tables." placeholder:"NAME"`
	Verifier string   `help:"The analyst's password, as dpproxy verifier makes it." placeholder:"SCRAM"`
}

// Run implements the command.
func (c *suggestCommand) Run(ctx context.Context) error {
	if (c.Analyst == "") != (c.Verifier == "") {
		return errors.New("--analyst and --verifier belong together")
	}
	conn, err := connect(ctx, "the protected database", c.Data, password{variable: "DPPROXY_DATA_PASSWORD"})
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
	if err != nil {
		return err
	}
	if !c.Yes && term.IsTerminal(int(os.Stdin.Fd())) {
		talk := &suggest.Conversation{In: bufio.NewReader(os.Stdin), Out: os.Stderr, Effects: s}
		if _, err := talk.Hold(survey, choices); err != nil {
			return err
		}
		if draft, err = s.fitting(); err != nil {
			return err
		}
	}
	if err := c.write(draft.YAML()); err != nil {
		return err
	}
	summarise(draft)
	return nil
}

// choices are those of the command line.
func (c *suggestCommand) choices(survey *introspect.Survey) (*suggest.Choices, error) {
	data := withoutPassword(c.Data)
	ch := suggest.NewChoices(suggest.Service{
		Listen: c.Listen, Data: data, Mirror: c.Mirror, Ledger: c.Ledger, Analyst: c.Analyst, Verifier: c.Verifier,
	})
	if c.Mirror == "" {
		ch.Service.Mirror = "postgres://dpproxy_mirror@127.0.0.1:5433/" + url.PathEscape(survey.Database)
	}
	find := func(text string) (catalog.Name, error) {
		n := catalog.Name{Schema: "public", Name: text}
		if schema, name, qualified := strings.Cut(text, "."); qualified {
			n = catalog.Name{Schema: schema, Name: name}
		}
		if survey.Tables[n] == nil {
			return n, fmt.Errorf("there is no table %v, or it may not be read", n)
		}
		return n, nil
	}
	for _, text := range c.Public {
		n, err := find(text)
		if err != nil {
			return nil, err
		}
		ch.Public[n] = true
	}
	var err error
	if c.Unit != "" {
		ch.Unit, err = find(c.Unit)
	}
	return ch, err
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
func (c *suggestCommand) write(text string) error {
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

// summarise names the next steps.
func summarise(d *suggest.Draft) {
	fmt.Fprintf(os.Stderr, "%d protected tables, %d public, %d views", len(d.Tables), len(d.Public), len(d.Views))
	if n := len(d.Unrelated) + len(d.Ambiguous); n > 0 {
		fmt.Fprintf(os.Stderr, "; %d tables are left out until you decide", n)
	}
	fmt.Fprintf(os.Stderr, ": see the comments with ?\nNext: read it; dpproxy check --explain, dpproxy init, dpproxy sync, dpproxy run\n")
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
	schema, err := at.mirrorPlan().Read(s.ctx, s.conn)
	if err != nil {
		return nil, err
	}
	model, problems := at.fit(at.mirrorPlan(), schema)
	if len(problems) > 0 {
		return problems, nil
	}
	return nil, mirror.Check(s.ctx, s.conn, at.mirrorPlanOf(model))
}

func (*suggestion) site(d *suggest.Draft) (*site, error) {
	p, err := config.Parse("the suggested policy", []byte(d.YAML()))
	if err != nil {
		return nil, fmt.Errorf("please report this, with the schema: %w", err)
	}
	return &site{policy: p}, nil
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
