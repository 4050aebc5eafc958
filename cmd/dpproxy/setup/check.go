package setup

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/cmd/dpproxy/auth"
	"dpproxy/cmd/dpproxy/drift"
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/local"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/policy"
)

// Check checks a policy.
type Check struct {
	Policy  string `arg:"" help:"Policy file." type:"path"`
	Offline bool   `help:"Check the file alone."`
	Online  bool   `help:"Fail if the database cannot be reached."`
	Explain bool   `help:"Say what else could be stated of contributions. It tells where there are few rows: not for analysts."`
	Data    bool   `help:"Read the protected rows: do references lead to rows of one person? It says yes or no, for you alone."`

	Patience time.Duration `help:"How long --data waits for each answer." default:"5m"`
}

// Run implements the command. Where the database cannot be reached the file alone
// is checked, and that is said.
func (c *Check) Run(ctx context.Context) error {
	if c.Data && c.Offline {
		return errors.New("--data reads the protected rows, and --offline says not to")
	}
	policy, err := config.Load(c.Policy)
	if err != nil {
		return err
	}
	tables := fmt.Sprintf("%d tables", len(policy.Tables.Tables))
	if n := len(policy.Local); n > 0 {
		tables += fmt.Sprintf(", and %d of the local model", n)
	}
	fmt.Printf("%s: the file is well formed: %s, %d analysts, privacy unit %q\n", c.Policy, tables, len(policy.Analysts),
		policy.Tables.Unit)
	if err := ledger.SayQuestions(c.Policy, policy, c.left(ctx, policy)); err != nil {
		return err
	}
	if err := ledger.CheckAnswers(ctx, policy); err != nil {
		return err
	}
	s := &site.Site{Policy: policy}
	s.Secret, err = site.ReadSecret(policy.SecretFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if line := site.Exposed(policy.Data); line != "" {
		fmt.Printf("%s: %s%s\n", c.Policy, mirror.Warning, line)
	}
	if err := c.certificate(s); err != nil {
		return err
	}
	if policy.AuthQuery != nil {
		if err := auth.Of(s).Check(); err != nil {
			return err
		}
	}
	if c.Offline {
		return nil
	}
	return c.against(ctx, s)
}

// against checks the policy against the databases.
func (c *Check) against(ctx context.Context, s *site.Site) error {
	conn, err := s.ConnectData(ctx)
	if err != nil && (c.Online || c.Data) {
		return err
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: NOT checked against the database: %v\n", c.Policy, err)
		return nil
	}
	defer conn.Close(ctx)
	if err := site.CheckRights(ctx, s.MirrorPlan(), conn, func(line string) { fmt.Printf("%s: %s\n", c.Policy, line) }); err != nil {
		return err
	}
	cat, err := s.ReadCatalog(ctx, conn)
	if err != nil {
		return err
	}
	data, err := s.OpenData(ctx, cat) // sessions as those of reads
	if err != nil {
		return err
	}
	data.Close()
	if err := mirror.Check(ctx, conn, s.MirrorPlanOf(cat)); err != nil {
		return err
	}
	if err := checkMirror(ctx, s); err != nil {
		return err
	}
	if err := c.checkRuling(ctx, s); err != nil {
		return err
	}
	fmt.Printf("%s: it fits the database: %d protected tables\n", c.Policy, len(cat.Protected()))
	for _, line := range slices.Concat(idleDates(s.Policy, cat), site.Unlisted(s.Policy, cat)) {
		fmt.Printf("%s: %s\n", c.Policy, line)
	}
	c.warn(slices.Concat(policy.Remarks(cat), ofDeclared(cat), ofBirths(cat)))
	if err := errors.Join(local.Of(s).Check(ctx, c.Policy, cat), c.confirmed(ctx, s, conn, cat)); err != nil {
		return err
	}
	if err := c.compressed(ctx, conn, s); err != nil {
		return err
	}
	if err := sayUnmentioned(ctx, conn, c.Policy); err != nil {
		return err
	}
	if c.Explain {
		if err := explain(ctx, s, conn, cat); err != nil {
			return err
		}
	}
	if c.Data {
		tell := func(line string) { fmt.Printf("%s: %s\n", c.Policy, line) }
		if err := (look{conn, cat.Unit(), c.Patience}).references(ctx, policy.Unproven(cat), tell); err != nil {
			return err
		}
	}
	c.sameServer(ctx, s, conn)
	report, err := auth.Of(s).Try(ctx)
	for _, line := range report {
		fmt.Printf("%s: %s\n", c.Policy, line)
	}
	return err
}

// soon is how long before its end a certificate is warned of.
const soon = 14 * 24 * time.Hour

// certificate reads the files of tls as run does, and warns of a certificate that does not hold now, or not for long. Files that
// whoever checks may not read are said to be unchecked: the key is often that of dpproxy's account alone.
func (c *Check) certificate(s *site.Site) error {
	if s.Policy.TLSCert == "" {
		return nil
	}
	cfg, err := site.ServerTLS(s.Policy)
	if errors.Is(err, fs.ErrPermission) {
		fmt.Printf("%s: %sthe files of tls are not checked: %v\n", c.Policy, mirror.Warning, err)
		return nil
	}
	if err != nil {
		return err
	}
	if line := holds(cfg.Certificates[0].Leaf, time.Now()); line != "" {
		fmt.Printf("%s: %s%s\n", c.Policy, mirror.Warning, line)
	}
	return nil
}

// holds says when a certificate does not hold, if that is now or soon.
func holds(leaf *x509.Certificate, now time.Time) string {
	switch {
	case now.Before(leaf.NotBefore):
		return "tls.cert does not hold before " + leaf.NotBefore.Format(time.DateTime)
	case now.After(leaf.NotAfter):
		return "tls.cert has not held since " + leaf.NotAfter.Format(time.DateTime)
	case now.Add(soon).After(leaf.NotAfter):
		return "tls.cert holds until " + leaf.NotAfter.Format(time.DateTime) + " only"
	}
	return ""
}

// sameServer warns of a mirror on the server of the protected database, where there is a mirror.
func (c *Check) sameServer(ctx context.Context, s *site.Site, up *pgx.Conn) {
	down, err := s.ConnectMirror(ctx)
	if err != nil {
		return
	}
	defer down.Close(ctx)
	if mirror.OnSameServer(ctx, up, down) {
		fmt.Printf("%s: %s%s\n", c.Policy, mirror.Warning, site.SameServer)
	}
}

// compressed warns of columns that take longer to read where their values are longer.
func (c *Check) compressed(ctx context.Context, conn *pgx.Conn, s *site.Site) error {
	packed, err := introspect.Compressed(ctx, conn, s.ProtectedTables())
	var remarks []policy.Remark
	for _, p := range packed {
		said, alike := p.Warning()
		remarks = append(remarks, policy.Remark{Table: p.Table, Said: said, Alike: alike, Own: p.Column})
	}
	c.warn(remarks)
	return err
}

// warn prints remarks, those that are alike as one line.
func (c *Check) warn(remarks []policy.Remark) {
	for _, line := range policy.Together(remarks) {
		fmt.Printf("%s: %s%s\n", c.Policy, mirror.Warning, line)
	}
}

// confirmed says which tables are not as they were at the last sync, where there is a mirror that tells. A mirror that shows more than
// the policy permits is an error: dpproxy does not serve with it.
func (c *Check) confirmed(ctx context.Context, s *site.Site, up *pgx.Conn, cat *policy.Model) error {
	down, err := s.ConnectMirror(ctx)
	if err != nil { // there may be no mirror yet
		fmt.Fprintf(os.Stderr, "%s: NOT checked against the mirror: %v\n", c.Policy, err)
		return nil
	}
	defer down.Close(ctx)
	plan := s.MirrorPlanOf(cat)
	if s.Secret != nil {
		if err := mirror.CheckSite(ctx, down, plan); err != nil {
			return err
		}
	}
	was, err := mirror.Confirmed(ctx, down)
	if err != nil || was == nil {
		return err
	}
	now, err := mirror.ReadOrigins(ctx, up, was.Schema)
	if err != nil {
		return err
	}
	if err := mirror.Prove(ctx, down, plan, was.Schema, now); err != nil {
		return err
	}
	plan.Known = drift.Of(s).Known(was.Schema)
	schema, err := plan.Read(ctx, up)
	if err != nil {
		return err
	}
	var remarks []policy.Remark
	for _, n := range drift.Of(s).Relations() {
		changes := plan.Changes(n, was.Schema, schema)
		if len(changes) == 0 {
			continue
		}
		text, _ := drift.Why(changes)
		todo := "dpproxy sync takes it over"
		if s.Policy.SyncItself && !drift.Takes(changes) {
			todo = "dpproxy takes it over by itself"
		}
		said := fmt.Sprintf("changed since the last sync, and refused: %s; %s", text, todo)
		remarks = append(remarks, policy.Remark{Table: n, Said: said, Alike: said})
	}
	c.warn(remarks)
	if !was.Earlier && !was.IsOf(plan) {
		fmt.Printf("%s: %sthe mirror was made for another policy: dpproxy sync makes it for this one\n", c.Policy, mirror.Warning)
	}
	return nil
}

// checkMirror refuses a mirror of a version that is not served; one that cannot be reached yet
// is sync's affair.
func checkMirror(ctx context.Context, s *site.Site) error {
	conn, err := s.ConnectMirror(ctx)
	if unserved, ok := errors.AsType[*introspect.VersionError](err); ok {
		return unserved
	}
	if err == nil {
		conn.Close(ctx)
	}
	return nil
}

// left returns the rests of the budgets of the policy, as far as its ledger may be asked for them.
func (c *Check) left(ctx context.Context, p *config.Policy) ledger.Rests {
	if c.Offline && (&ledger.Books{Policy: p}).Shared() {
		return nil
	}
	return ledger.RestsOf(ctx, p)
}
