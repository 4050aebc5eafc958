package site

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

// A Site is a policy with its secret: it reaches both databases.
type Site struct {
	Path   string // of the policy
	Policy *config.Policy
	Secret Secret
	// TakesOver says that the mirror becomes this site's, whosever it is.
	TakesOver bool
}

// Open reads the policy and the secret.
func Open(path string) (*Site, error) {
	policy, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	secret, err := ReadSecret(policy.SecretFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no secret in %s: dpproxy init makes it, once", policy.SecretFile)
	}
	if err != nil {
		return nil, err
	}
	return &Site{Path: path, Policy: policy, Secret: secret}, nil
}

// ConnectData connects to the protected database.
func (s *Site) ConnectData(ctx context.Context) (*pgx.Conn, error) {
	return connect(ctx, "the protected database", s.Policy.Data, DataPassword(s.Policy))
}

// ConnectMirror connects as the mirror's superuser, to a mirror of a version that is served.
func (s *Site) ConnectMirror(ctx context.Context) (*pgx.Conn, error) {
	conn, err := connect(ctx, "the mirror", s.mirrorURL(), MirrorPassword(s.Policy))
	if err != nil {
		return nil, err
	}
	if err := mirror.CheckServer(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

func connect(ctx context.Context, what, url string, p Password) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", what, err)
	}
	text, err := p.Read()
	if err != nil {
		return nil, err
	}
	if text != "" {
		cfg.Password = text
	}
	cfg.ConnectTimeout, cfg.DialFunc = ConnectTimeout, Watched(cfg.DialFunc)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", what, p.Told(err))
	}
	return conn, nil
}

// ProtectedTables names the tables of the policy that have protected rows, listed partitions among
// them.
func (s *Site) ProtectedTables() []catalog.Name {
	var names []catalog.Name
	for _, t := range s.Policy.Tables.Tables {
		if !t.Public {
			names = append(names, t.Name)
		}
	}
	return names
}

// ReadCatalog checks the policy against the protected database.
func (s *Site) ReadCatalog(ctx context.Context, up *pgx.Conn) (*policy.Model, error) {
	schema, err := s.MirrorPlan().Read(ctx, up)
	if err != nil {
		return nil, err
	}
	cat, problems := s.Fit(s.MirrorPlan(), schema)
	return cat, s.Annotate(problems)
}

// Fit checks the policy against the schema: its tables, and that the views and partitions of
// the plan are as it takes them. With problems the catalogue must not be used.
func (s *Site) Fit(plan mirror.Plan, schema *catalog.Schema) (*policy.Model, []policy.Problem) {
	cat, problems := policy.Check(s.Policy.Tables, schema)
	for _, p := range plan.Problems(schema) {
		problems = append(problems, policy.Problem{Path: []string{"tables", p.Table.String(), p.Key}, Message: p.Message})
	}
	return cat, problems
}

// Annotate returns the problems as one error that quotes the policy, nil if there are none. Problems that are alike are told once.
func (s *Site) Annotate(problems []policy.Problem) error {
	var all error
	for _, alike := range policy.Alike(problems) {
		first := alike[0]
		all = errors.Join(all, s.Policy.Annotate(first.Path, first.Message+s.likewise(alike)))
	}
	return all
}

// likewise names where else there are problems like the first, with their lines.
func (s *Site) likewise(alike []policy.Problem) string {
	others := alike[1:]
	if len(others) == 0 {
		return ""
	}
	places := make([]string, len(others))
	for i, p := range others {
		places[i] = strings.Join(p.Path, ".")
		if line := s.Policy.Line(p.Path...); line > 0 {
			places[i] += fmt.Sprintf(" (line %d)", line)
		}
		if own := p.Own(alike); own != "" {
			places[i] += " of " + own
		}
	}
	return "; likewise " + strings.Join(places, "; ")
}

// ViewNames lists the views over protected tables.
func (s *Site) ViewNames() []catalog.Name {
	var names []catalog.Name
	for _, v := range s.Policy.Views {
		names = append(names, v.Name)
	}
	return names
}

// ConnectWitness connects to the server of ledger.witness.
func (s *Site) ConnectWitness(ctx context.Context) (*pgx.Conn, error) {
	l := s.Policy.Ledger
	return connect(ctx, "the server of ledger.witness", l.Witness, witnessPassword(l))
}

// ConnectTo connects to a protected database of which there is no policy yet.
func ConnectTo(ctx context.Context, data string) (*pgx.Conn, error) {
	return connect(ctx, "the protected database", data, Password{variable: dataVariable})
}
