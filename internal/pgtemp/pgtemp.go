// Package pgtemp starts throwaway Postgres servers in a folder of their own, for
// tests and for the demo. A server dies with the process that started it.
//
// Such a server does not survive a crash of the machine (fsync is off) and lets
// everybody who can reach its socket in (trust), which is a folder with mode 0700
// unless the caller asks for a TCP port.
package pgtemp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options of a server.
type Options struct {
	// Dir is the folder to live in; it must be empty, or hold an earlier
	// server's files. Empty: a new temporary folder, removed by Stop, in memory
	// where the machine has room there and TMPDIR says nothing else.
	Dir string
	// From has the files that a server in a new folder starts with; nil: it has no tables, nor roles but [Superuser].
	From *Saved
	// Port is a TCP port on 127.0.0.1; 0 listens on the socket only, -1 on a
	// free port.
	Port int
	// Settings are passed as -c name=value.
	Settings []string
	// Mirror says that the server is to be a mirror, which may have another version
	// than the real database: see [DataBin] and [MirrorBin].
	Mirror bool
}

// DataBin and MirrorBin are variables of the environment with a folder that holds initdb
// and postgres, for servers with the real database and for mirrors; unset, it is that of [Bin].
const (
	DataBin   = "DPPROXY_PG_DATA"
	MirrorBin = "DPPROXY_PG_MIRROR"
)

// Environment is a variable of the environment with others for the servers alone, such as LD_PRELOAD=... DPPROXY_AHEAD=34560000:
// NAME=value, with blanks between them.
const Environment = "DPPROXY_PG_ENVIRONMENT"

func (o Options) bin() (string, error) {
	name := DataBin
	if o.Mirror {
		name = MirrorBin
	}
	if dir := os.Getenv(name); dir != "" {
		return dir, nil
	}
	return Bin()
}

// A Server is a running Postgres.
type Server struct {
	// SocketDir and Port make the address; Port is also the TCP port when one was asked for.
	SocketDir string
	Port      int
	// Mirror is that of the options.
	Mirror bool

	dir    string
	remove bool
	cmd    *exec.Cmd
	exited chan struct{}
	output bytes.Buffer
}

// Superuser is the role that owns every server of this package.
const Superuser = "postgres"

// Bin returns the folder with initdb, postgres and the client programs, the newest version installed.
func Bin() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	p, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("pgtemp: no Postgres server is installed (Debian: apt-get install postgresql-15)")
	}
	return filepath.Dir(p), nil
}

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// Start makes a database cluster if the folder has none and starts it. It
// returns when the server takes connections.
func Start(ctx context.Context, o Options) (*Server, error) {
	bin, err := o.bin()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: o.Dir, Mirror: o.Mirror, exited: make(chan struct{})}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp(temporary(), "dpproxy-pg"); err != nil {
			return nil, err
		}
		s.remove = true
	}
	attr, err := s.prepare()
	if err != nil {
		s.cleanup()
		return nil, err
	}
	if err := (cluster{data: s.data(), bin: bin, attr: attr, brief: s.remove}).make(ctx, Superuser, o.From); err != nil {
		s.cleanup()
		return nil, err
	}
	for {
		if err := s.launch(ctx, bin, attr, o); err != nil {
			s.cleanup()
			return nil, err
		}
		err := s.waitReady(ctx)
		if err == nil {
			return s, nil
		}
		if o.Port < 0 && s.lostPort() {
			continue
		}
		s.Stop()
		return nil, fmt.Errorf("pgtemp: %w\n%s", err, s.output.String())
	}
}

// lostPort reports whether the server has ended since another process has taken the port that was free a moment ago. It can be
// launched again then.
func (s *Server) lostPort() bool {
	select {
	case <-s.exited:
	default:
		return false
	}
	lost := bytes.Contains(s.output.Bytes(), []byte("Address already in use"))
	if lost {
		s.exited = make(chan struct{})
		s.output.Reset()
	}
	return lost
}

// StartPair starts a server for the real database and one for its mirror, which are one
// where both have the same programs.
func StartPair(ctx context.Context, o Options) (data, mirror *Server, err error) {
	if data, err = Start(ctx, o); err != nil || os.Getenv(DataBin) == os.Getenv(MirrorBin) {
		return data, data, err
	}
	o.Mirror = true
	if mirror, err = Start(ctx, o); err != nil {
		data.Stop()
	}
	return data, mirror, err
}

const (
	memory = "/dev/shm" // where Linux keeps files in memory
	room   = 6 << 30    // bytes, more than the servers of all tests that run at a time
)

func temporary() string {
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= room {
		return memory
	}
	return os.TempDir()
}

// prepare makes the folder fit for the account that Postgres runs as: Postgres
// refuses to run as root, so root switches to the account "postgres".
func (s *Server) prepare() (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.SocketDir = s.dir
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return attr, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("pgtemp: root needs the account postgres: %w", err)
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	if err := os.Chown(s.dir, uid, gid); err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// launch starts the server. It outlives ctx: Stop ends it.
func (s *Server) launch(ctx context.Context, bin string, attr *syscall.SysProcAttr, o Options) error {
	listen := ""
	s.Port = 5432
	if o.Port != 0 {
		listen, s.Port = "127.0.0.1", o.Port
	}
	if o.Port < 0 {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.Port = l.Addr().(*net.TCPAddr).Port
		l.Close()
	}
	args := []string{
		"-D", s.data(), "-k", s.SocketDir, "-p", strconv.Itoa(s.Port),
		"-c", "listen_addresses=" + listen, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
		"-c", "shared_buffers=64MB", "-c", "max_wal_size=1GB", "-c", "wal_keep_size=64MB", "-c", "jit=off",
		"-c", "logging_collector=off", "-c", "max_connections=300",
	}
	for _, setting := range o.Settings {
		args = append(args, "-c", setting)
	}
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin, "postgres"), args...)
	s.cmd.Dir, s.cmd.SysProcAttr = s.dir, attr
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	s.cmd.Env = append(os.Environ(), strings.Fields(os.Getenv(Environment))...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is in its output
		close(s.exited)
	}()
	return nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres", Superuser))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.exited:
			return errors.New("the server stopped at once")
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// Version returns the server's major version, such as 15.
func (s *Server) Version() (int, error) {
	text, err := os.ReadFile(filepath.Join(s.data(), "PG_VERSION"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// InfiniteNumerics reports whether numerics can be infinite there, as they can from 14 on.
func (s *Server) InfiniteNumerics() bool {
	version, err := s.Version()
	return err == nil && version >= 14
}

// URL returns a connection string over the server's socket.
func (s *Server) URL(database, role string) string {
	return fmt.Sprintf("host=%s port=%d dbname=%s user=%s sslmode=disable", s.SocketDir, s.Port, database, role)
}

// TCP returns a connection string over 127.0.0.1, if a port was asked for.
func (s *Server) TCP(database, role string) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d dbname=%s user=%s sslmode=disable", s.Port, database, role)
}

// Stop ends the server at once and waits for it; a folder of its own is removed.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // it may have exited
	<-s.exited
	s.cleanup()
}

// Crash kills the server and leaves its files, for tests of a server that died.
func (s *Server) Crash() { s.End(syscall.SIGKILL) }

// End sends the server a signal to end by, and leaves its files.
func (s *Server) End(by syscall.Signal) {
	_ = s.cmd.Process.Signal(by) // it may have exited
	<-s.exited
}

// Kill kills the server and all of its processes, as if the machine had failed, and leaves its files.
func (s *Server) Kill() error {
	pid := s.cmd.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	_ = s.cmd.Process.Signal(syscall.SIGSTOP) // it starts no more of them
	for child := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // it may have exited
		}
	}
	s.Crash()
	return nil
}

func (s *Server) cleanup() {
	if s.remove {
		os.RemoveAll(s.dir)
	}
}
