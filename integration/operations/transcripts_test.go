package operations_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"dpproxy/internal/needs"
	"dpproxy/internal/sitetest"
)

// TestClientTranscripts plays what docs/clients.md shows of psql, pandas and R, and docs/dashboards.md of psql: numbers aside, each prints
// what stands there.
func TestClientTranscripts(t *testing.T) {
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	dashboards, err := os.ReadFile("../../docs/dashboards.md")
	if err != nil {
		t.Fatal(err)
	}
	demo := sitetest.StartDemo(t, "--small")
	u, err := url.Parse(demo.Analyst)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	env := append(os.Environ(), "PGHOST="+u.Hostname(), "PGPORT="+u.Port(), "PGDATABASE=demo", "PGUSER="+u.User.Username(),
		"PGPASSWORD="+password)
	play := func(t *testing.T, all bool, input string, command ...string) string {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Env, cmd.Stdin = env, strings.NewReader(input)
		var out strings.Builder
		cmd.Stdout = &out
		if all {
			cmd.Stderr = &out
		}
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
		return out.String()
	}
	t.Run("psql", func(t *testing.T) {
		blocks := regexp.MustCompile("(?s)```psql\n(demo=> .*?)```").FindAllStringSubmatch(string(text)+string(dashboards), -1)
		if len(blocks) < 2 {
			t.Fatal("there are no transcripts")
		}
		for _, block := range blocks {
			typed, shown := session(block[1])
			told := strings.Contains(shown, "NOTICE:") || strings.Contains(shown, "ERROR:")
			sitetest.SameTranscript(t, play(t, told, typed, "psql", "-X"), shown)
		}
	})
	for _, c := range []struct {
		language, packages string
		needs, command     []string
	}{
		{
			"python", "python3-pandas python3-psycopg2",
			[]string{"/usr/bin/python3", "-I", "-c", "import pandas, psycopg2"},
			[]string{"/usr/bin/python3", "-I", "-W", "ignore", "-"},
		},
		{
			"r", "r-base-core r-cran-rpostgresql",
			[]string{"Rscript", "-e", "library(RPostgreSQL)"},
			[]string{"R", "--no-echo", "--no-save"},
		},
	} {
		t.Run(c.language, func(t *testing.T) {
			if out, err := exec.CommandContext(t.Context(), c.needs[0], c.needs[1:]...).CombinedOutput(); err != nil {
				needs.Missing(t, string(out), strings.Fields(c.packages)...)
			}
			block := regexp.MustCompile("(?s)```" + c.language + "\n(.*?)```\n\n```output\n(.*?)```").FindSubmatch(text)
			if block == nil {
				t.Fatal("there is no transcript")
			}
			sitetest.SameTranscript(t, play(t, false, string(block[1]), c.command...), string(block[2]))
		})
	}
}

// session splits a transcript of psql into what was typed and what was printed.
func session(transcript string) (typed, shown string) {
	for line := range strings.Lines(transcript) {
		if sql, ok := strings.CutPrefix(line, "demo=> "); ok {
			typed += sql
		} else {
			shown += line
		}
	}
	return typed, shown
}
