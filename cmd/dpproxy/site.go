package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/mirror"
	"dpproxy/planner/policy"
)

// A site is a policy with its secret: it reaches both databases.
type site struct {
	path   string // of the policy
	policy *config.Policy
	secret secret
	// takesOver says that the mirror becomes this site's, whosever it is.
	takesOver bool
}

// openSite reads the policy and the secret.
func openSite(path string) (*site, error) {
	policy, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	secret, err := readSecret(policy.SecretFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no secret in %s: dpproxy init makes it, once", policy.SecretFile)
	}
	if err != nil {
		return nil, err
	}
	return &site{path: path, policy: policy, secret: secret}, nil
}

// connectData connects to the protected database.
func (s *site) connectData(ctx context.Context) (*pgx.Conn, error) {
	return connect(ctx, "the protected database", s.policy.Data, dataPassword(s.policy))
}

// connectMirror connects as the mirror's superuser, to a mirror of a version that is served.
func (s *site) connectMirror(ctx context.Context) (*pgx.Conn, error) {
	conn, err := connect(ctx, "the mirror", s.mirrorURL(), mirrorPassword(s.policy))
	if err != nil {
		return nil, err
	}
	if err := mirror.CheckServer(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

func connect(ctx context.Context, what, url string, p password) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", what, err)
	}
	text, err := p.read()
	if err != nil {
		return nil, err
	}
	if text != "" {
		cfg.Password = text
	}
	cfg.ConnectTimeout, cfg.DialFunc = connectTimeout, watched(cfg.DialFunc)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", what, p.told(err))
	}
	return conn, nil
}

// protectedTables names the tables of the policy that have protected rows, listed partitions among
// them.
func (s *site) protectedTables() []catalog.Name {
	var names []catalog.Name
	for _, t := range s.policy.Tables.Tables {
		if !t.Public {
			names = append(names, t.Name)
		}
	}
	return names
}

// readCatalog checks the policy against the protected database.
func (s *site) readCatalog(ctx context.Context, up *pgx.Conn) (*policy.Model, error) {
	schema, err := s.mirrorPlan().Read(ctx, up)
	if err != nil {
		return nil, err
	}
	cat, problems := s.fit(s.mirrorPlan(), schema)
	return cat, s.annotate(problems)
}

// fit checks the policy against the schema: its tables, and that the views and partitions of
// the plan are as it takes them. With problems the catalogue must not be used.
func (s *site) fit(plan mirror.Plan, schema *catalog.Schema) (*policy.Model, []policy.Problem) {
	cat, problems := policy.Check(s.policy.Tables, schema)
	for _, p := range plan.Problems(schema) {
		problems = append(problems, policy.Problem{Path: []string{"tables", p.Table.String(), p.Key}, Message: p.Message})
	}
	return cat, problems
}

// annotate returns the problems as one error that quotes the policy, nil if there are none. Problems that are alike are told once.
func (s *site) annotate(problems []policy.Problem) error {
	var all error
	for _, alike := range policy.Alike(problems) {
		first := alike[0]
		all = errors.Join(all, s.policy.Annotate(first.Path, first.Message+s.likewise(alike)))
	}
	return all
}

// likewise names where else there are problems like the first, with their lines.
func (s *site) likewise(alike []policy.Problem) string {
	others := alike[1:]
	if len(others) == 0 {
		return ""
	}
	places := make([]string, len(others))
	for i, p := range others {
		places[i] = strings.Join(p.Path, ".")
		if line := s.policy.Line(p.Path...); line > 0 {
			places[i] += fmt.Sprintf(" (line %d)", line)
		}
		if own := p.Own(alike); own != "" {
			places[i] += " of " + own
		}
	}
	return "; likewise " + strings.Join(places, "; ")
}

// viewNames lists the views over protected tables.
func (s *site) viewNames() []catalog.Name {
	var names []catalog.Name
	for _, v := range s.policy.Views {
		names = append(names, v.Name)
	}
	return names
}

// connectWitness connects to the server of ledger.witness.
func (s *site) connectWitness(ctx context.Context) (*pgx.Conn, error) {
	l := s.policy.Ledger
	return connect(ctx, "the server of ledger.witness", l.Witness, witnessPassword(l))
}

// connectTo connects to a protected database of which there is no policy yet.
func connectTo(ctx context.Context, data string) (*pgx.Conn, error) {
	return connect(ctx, "the protected database", data, password{variable: dataVariable})
}
