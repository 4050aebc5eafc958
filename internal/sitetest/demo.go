package sitetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/demo"
	"dpproxy/internal/logtest"
	"dpproxy/internal/needs"
)

// A Demo is a dpproxy demo that serves.
type Demo struct {
	Analyst, Data string // where psql connects to
	Conn          *pgx.Conn
}

// StartDemo starts a demo with further arguments of the command. It skips the test if the data are R's and there is no R.
func StartDemo(t *testing.T, args ...string) *Demo {
	t.Helper()
	dir, err := os.MkdirTemp("", "dpproxy-demo") // t.TempDir is closed to the account that Postgres runs as
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	log, exited := &logtest.Buffer{}, make(chan struct{})
	cmd := exec.Command(Program(t), append([]string{"demo", "--listen", "127.0.0.1:0", "--keep", dir}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { cmd.Wait(); close(exited) }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-exited
	})
	shown := regexp.MustCompile(`psql "(postgres://[^"]+)"`)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			if strings.Contains(log.String(), demo.ErrNeedsR.Error()) {
				needs.Missing(t, demo.ErrNeedsR.Error(), "r-base-core", "r-cran-survival")
			}
			t.Fatalf("dpproxy demo ended:\n%s", log)
		case <-tick.C:
		}
		if m := shown.FindStringSubmatch(log.String()); m != nil {
			return &Demo{Analyst: m[1], Data: demoData(t, dir), Conn: Dial(t, m[1])}
		}
	}
}

// demoData reads from the policy where the protected rows are.
func demoData(t *testing.T, dir string) string {
	t.Helper()
	policy, err := os.ReadFile(filepath.Join(dir, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^data: +(".*")$`).FindSubmatch(policy)
	if m == nil {
		t.Fatalf("no address in\n%s", policy)
	}
	conninfo, err := strconv.Unquote(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return conninfo
}
