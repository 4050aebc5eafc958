package demo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"

	"github.com/jackc/pgx/v5"

	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/serve"
	"dpproxy/config"
	"dpproxy/internal/demo"
	"dpproxy/internal/pgtemp"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// Command serves a throwaway database.
type Command struct {
	Listen string `help:"Address to serve on (127.0.0.1:6432)." placeholder:"HOST:PORT"`
	Data   string `help:"Generated clinic, or the Mayo Clinic liver study in r-cran-survival." enum:"generated,nafld" default:"generated"`
	Keep   folder `help:"Keep databases, policy and ledger in this folder, and go on there next time." placeholder:"FOLDER"`
	Play   bool   `help:"Play a psql conversation on a free port, then stop."`
	Small  bool   `help:"Load a fiftieth of the generated data." hidden:""`
}

const (
	demoDatabase = "demo"
	demoAnalyst  = "analyst" // name and password
	demoSeed     = 1
)

// Run implements the command.
func (c *Command) Run(ctx context.Context, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer d.stop()
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	site, err := d.prepare(ctx, quiet)
	if err != nil {
		return err
	}
	if !c.Play {
		return site.Serve(ctx, log, d.announce)
	}
	ready := make(chan string, 1)
	served := make(chan error, 1)
	go func() { served <- site.Serve(ctx, quiet, func(addr string) { ready <- addr }) }()
	select {
	case err := <-served:
		return err
	case addr := <-ready:
		err := d.play(ctx, addr)
		stop()
		return errors.Join(err, <-served)
	}
}

// demonstration is the folder and the servers of one demo.
type demonstration struct {
	command      *Command
	dir          string
	data, mirror *pgtemp.Server
}

func (c *Command) start(ctx context.Context) (*demonstration, error) {
	d := &demonstration{command: c, dir: string(c.Keep)}
	if c.Play {
		c.Listen = "127.0.0.1:0"
	}
	if d.dir == "" {
		dir, err := os.MkdirTemp("", "dpproxy-demo")
		if err != nil {
			return nil, err
		}
		d.dir = dir
	}
	// The account of Postgres must be able to pass through the folder.
	if err := errors.Join(os.MkdirAll(d.dir, 0o755), os.Chmod(d.dir, 0o711)); err != nil {
		return nil, err
	}
	var err error
	if d.data, err = pgtemp.Start(ctx,
		pgtemp.Options{Dir: filepath.Join(d.dir, "data"), Settings: []string{"max_wal_size=4GB"}}); err != nil {
		d.stop()
		return nil, err
	}
	if d.mirror, err = pgtemp.Start(ctx,
		pgtemp.Options{Dir: filepath.Join(d.dir, "mirror"), Settings: knownSettings(), Mirror: true}); err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

// knownSettings returns the settings that declare dpproxy's settings to a server, as docs/operations.md has them for postgresql.conf. The
// server knows them before a session sets them.
func knownSettings() []string {
	var all []string
	for _, name := range settings.Names() {
		all = append(all, "dp."+name+"=")
	}
	return all
}

func (d *demonstration) stop() {
	for _, s := range []*pgtemp.Server{d.data, d.mirror} {
		if s != nil {
			s.Stop()
		}
	}
	if d.command.Keep == "" {
		os.RemoveAll(d.dir)
	}
}

// prepare loads the data, writes the policy and makes ledger and mirror. It keeps whatever an earlier run in the same folder has made.
func (d *demonstration) prepare(ctx context.Context, log *slog.Logger) (*serve.Host, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	path := filepath.Join(d.dir, "policy.yaml")
	if err := d.writePolicy(path); err != nil {
		return nil, err
	}
	policy, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(policy.SecretFile); errors.Is(err, fs.ErrNotExist) {
		if err := (&ledger.Books{Policy: policy}).Make(ctx, log); err != nil {
			return nil, err
		}
	}
	s, err := serve.Open(path)
	if err != nil {
		return nil, err
	}
	return s, s.Sync(ctx, func(string) {})
}

func (d *demonstration) dataset() demo.Dataset {
	if d.command.Data == "nafld" {
		return demo.NAFLD
	}
	return demo.Clinic
}

// writePolicy writes the policy of the demo. It keeps the policy of an earlier run, but with the addresses of this run.
func (d *demonstration) writePolicy(path string) error {
	kept, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	verifier, err := wire.MakeVerifier(demoAnalyst, 4096)
	if err != nil {
		return err
	}
	text, err := d.dataset().Policy(demo.PolicyValues{
		Listen: cmp.Or(d.command.Listen, "127.0.0.1:6432"), LedgerDir: filepath.Join(d.dir, "ledger"),
		Analyst: demoAnalyst, Verifier: verifier,
		Data: d.data.URL(demoDatabase, pgtemp.Superuser), Mirror: d.mirror.URL(demoDatabase, pgtemp.Superuser),
	})
	if err != nil {
		return err
	}
	if kept != nil {
		text = withAddresses(kept, text, d.command.Listen != "")
	}
	return os.WriteFile(path, text, 0o600)
}

var addressLine = regexp.MustCompile(`(?m)^(listen|data|mirror|ledger):[ \t]+[^ \t#].*$`)

// withAddresses returns the kept policy with the addresses of the new one. The address to listen on is replaced only if listen says so.
func withAddresses(kept, made []byte, listen bool) []byte {
	lines := map[string][]byte{}
	for _, m := range addressLine.FindAllSubmatch(made, -1) {
		lines[string(m[1])] = m[0]
	}
	if !listen {
		delete(lines, "listen")
	}
	return addressLine.ReplaceAllFunc(kept, func(line []byte) []byte {
		key, _, _ := bytes.Cut(line, []byte(":"))
		if made := lines[string(key)]; made != nil {
			return made
		}
		return line
	})
}

// load makes the two databases, and fills the database that has people in it.
func (d *demonstration) load(ctx context.Context) (err error) {
	for _, s := range []*pgtemp.Server{d.mirror, d.data} {
		made, err := makeDatabase(ctx, s)
		if err != nil {
			return err
		}
		if !made && s == d.data {
			fmt.Fprintln(os.Stderr, "using the data that are there")
			return nil
		}
	}
	source, closeSource, err := d.source(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	conn, err := pgx.Connect(ctx, d.data.URL(demoDatabase, pgtemp.Superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return demo.Load(ctx, conn, source, progress())
}

func makeDatabase(ctx context.Context, s *pgtemp.Server) (made bool, err error) {
	conn, err := pgx.Connect(ctx, s.URL("postgres", pgtemp.Superuser))
	if err != nil {
		return false, err
	}
	defer conn.Close(ctx)
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)",
		demoDatabase).Scan(&there); err != nil || there {
		return false, err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+demoDatabase)
	return true, err
}

func (d *demonstration) source(ctx context.Context) (demo.Source, func() error, error) {
	if d.dataset() == demo.NAFLD {
		fmt.Fprintln(os.Stderr, "reading the liver study from R")
		study, err := demo.OpenStudy(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, note := range study.Counts.Notes() {
			fmt.Fprintln(os.Stderr, note)
		}
		return study, study.Close, nil
	}
	size := demo.FullSize
	if d.command.Small {
		size = demo.SmallSize
	}
	g, err := demo.Generate(demoSeed, size)
	return g, func() error { return nil }, err
}

// announce says how to connect.
func (d *demonstration) announce(addr string) {
	fmt.Fprintf(os.Stderr, `
dpproxy serves the demo. Connect from another terminal:

  psql "postgres://%[1]s:%[1]s@%[2]s/%[3]s"

and try:

  \d+
  SELECT count(*) FROM %[4]s;
  EXPLAIN SELECT count(*) FROM %[4]s;
  SELECT * FROM dp.budget;

Ctrl-C stops it.
`, demoAnalyst, addr, demoDatabase, map[string]string{"generated": "patients", "nafld": "people"}[d.command.Data])
}
