package main

import (
	"context"
	_ "embed"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"dpproxy/internal/pgtemp"
)

//go:embed conversation.sql
var clinicConversation string

//go:embed conversation-nafld.sql
var nafldConversation string

// play lets psql speak to the demo, and shows both sides.
func (c *demoCommand) play(ctx context.Context, addr string) error {
	bin, err := pgtemp.Bin()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	psql := exec.CommandContext(ctx, filepath.Join(bin, "psql"), "--no-psqlrc", "--echo-all", "--pset=pager=off",
		"-h", host, "-p", port, "-U", demoAnalyst, "-d", demoDatabase, "-f", "-")
	psql.Env = append(os.Environ(), "PGPASSWORD="+demoAnalyst)
	psql.Stdin = strings.NewReader(clinicConversation)
	if c.Data == "nafld" {
		psql.Stdin = strings.NewReader(nafldConversation)
	}
	psql.Stdout, psql.Stderr = os.Stdout, os.Stdout
	return psql.Run()
}
