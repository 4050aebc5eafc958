package demo

import (
	"context"
	_ "embed"
	"fmt"
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

// play runs a conversation of psql with the demo, shows both sides, and then prints the answers next to the truth.
func (d *demonstration) play(ctx context.Context, addr string) error {
	conversation := clinicConversation
	if d.command.Data == "nafld" {
		conversation = nafldConversation
	}
	if err := converse(ctx, addr, conversation); err != nil {
		return err
	}
	proxy := fmt.Sprintf("postgres://%[1]s:%[1]s@%[2]s/%[3]s", demoAnalyst, addr, demoDatabase)
	return printBeside(ctx, proxy, d.data.URL(demoDatabase, pgtemp.Superuser), conversation)
}

// converse plays a conversation with psql.
func converse(ctx context.Context, addr, conversation string) error {
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
	psql.Stdin = strings.NewReader(conversation)
	psql.Stdout, psql.Stderr = os.Stdout, os.Stdout
	return psql.Run()
}
