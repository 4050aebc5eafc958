package pgtemp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Standby starts a server that replays the server's log and takes reads. Reads that the replay conflicts with are
// ended at once.
func (s *Server) Standby(ctx context.Context) (*Server, error) {
	bin, err := Options{}.bin()
	if err != nil {
		return nil, err
	}
	standby := &Server{remove: true, exited: make(chan struct{})}
	if standby.dir, err = os.MkdirTemp(temporary(), "dpproxy-pg"); err != nil {
		return nil, err
	}
	attr, err := standby.prepare()
	if err != nil {
		standby.cleanup()
		return nil, err
	}
	copied := (cluster{data: standby.data(), bin: bin, attr: attr}).command(ctx, "pg_basebackup", "-D", standby.data(), "-h", s.SocketDir,
		"-p", strconv.Itoa(s.Port), "-U", Superuser, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	if copied != nil {
		standby.cleanup()
		return nil, copied
	}
	conflicts := Options{Settings: []string{"max_standby_streaming_delay=0", "hot_standby_feedback=off"}}
	if err := standby.launch(ctx, bin, attr, conflicts); err != nil {
		standby.cleanup()
		return nil, err
	}
	if err := standby.waitReady(ctx); err != nil {
		standby.Stop()
		return nil, fmt.Errorf("pgtemp: %w\n%s", err, standby.output.String())
	}
	return standby, nil
}

// Promote makes a standby a primary, and returns when it takes writes.
func (s *Server) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres", Superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var promoted bool
	if err := conn.QueryRow(ctx, "SELECT pg_promote()").Scan(&promoted); err != nil {
		return err
	}
	if !promoted {
		return errors.New("pgtemp: the standby was not promoted in time")
	}
	return nil
}
