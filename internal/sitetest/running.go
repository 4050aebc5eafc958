package sitetest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpproxy/internal/await"
	"dpproxy/internal/logtest"
)

// ResidentKiB returns the resident memory of a process.
func ResidentKiB(t *testing.T, r *Running) (kib int) {
	t.Helper()
	return statusKiB(t, r, "VmRSS:")
}

// PeakKiB returns the most resident memory that a process has had.
func PeakKiB(t *testing.T, r *Running) (kib int) {
	t.Helper()
	return statusKiB(t, r, "VmHWM:")
}

func statusKiB(t *testing.T, r *Running, name string) (kib int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), name)
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// Signal sends a signal to processes.
func Signal(t *testing.T, what syscall.Signal, pids ...int32) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(int(pid), what); err != nil {
			t.Fatalf("%v for process %d: %v", what, pid, err)
		}
	}
}

// Files counts the files and connections that dpproxy has open.
func (r *Running) Files(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// Running is a dpproxy process that serves.
type Running struct {
	Cmd    *exec.Cmd
	Addr   string
	Log    *logtest.Buffer
	Exited chan struct{} // closed when the process has ended

	site *Site
}

var serving = regexp.MustCompile(`msg=serving address=(\S+)`)

// Run starts dpproxy and waits until it serves.
func (s *Site) Run(t testing.TB) *Running {
	t.Helper()
	r := s.Start(t)
	if r.Addr == "" {
		t.Fatalf("dpproxy run ended:\n%s", r.Log)
	}
	return r
}

// Start starts dpproxy and waits until it serves, or ends: then it has no address.
func (s *Site) Start(t testing.TB) *Running {
	t.Helper()
	r := s.Launch(t)
	r.Serve()
	return r
}

// Launch starts dpproxy, which has no address until [Running.Serve] returns.
func (s *Site) Launch(t testing.TB) *Running {
	t.Helper()
	r := &Running{Cmd: exec.Command(Program(t), "run", s.Policy), Log: &logtest.Buffer{}, Exited: make(chan struct{}), site: s}
	r.Cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.Cmd.Stderr = r.Log
	if err := r.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.Cmd.Wait(); close(r.Exited) }()
	t.Cleanup(r.Stop)
	return r
}

// Serve waits until dpproxy serves, or ends: then it has no address.
func (r *Running) Serve() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.Exited:
			return
		case <-tick.C:
			if m := serving.FindStringSubmatch(r.Log.String()); m != nil {
				r.Addr = m[1]
				return
			}
		}
	}
}

// Stop asks dpproxy to end, and waits for it.
func (r *Running) Stop() {
	r.Cmd.Process.Signal(syscall.SIGTERM)
	<-r.Exited
}

// Kill ends the process as a crash would.
func (r *Running) Kill() {
	r.Cmd.Process.Kill()
	<-r.Exited
}

// URL is the address for a user, who checks the certificate where the site has an authority.
func (r *Running) URL(user string) string {
	url := fmt.Sprintf("postgres://%s:%s@%s/%s", user, Password, r.Addr, r.site.Database)
	if r.site.Authority != nil {
		url += "?sslmode=verify-full&sslrootcert=" + r.site.Authority.Root
	}
	return url
}

var healthy = regexp.MustCompile(`msg=health address=(\S+)`)

// Page reads a page of the health listener, such as /readyz.
func (r *Running) Page(t *testing.T, name string) (status int, text string) {
	t.Helper()
	address := healthy.FindStringSubmatch(r.Log.String())
	if address == nil {
		t.Fatalf("there is no health page:\n%s", r.Log)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address[1]+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// HangUp sends SIGHUP and waits for the line in the log that tells its outcome.
func (r *Running) HangUp(t *testing.T, want string) {
	t.Helper()
	before := len(r.Log.String())
	Signal(t, syscall.SIGHUP, int32(r.Cmd.Process.Pid))
	await.That(t, "the policy is read anew: "+want, func() bool {
		log := r.Log.String()[before:]
		if strings.Contains(log, "reloaded") && !strings.Contains(log, want) {
			t.Fatalf("the log says %s, want %s", log, want)
		}
		return strings.Contains(log, want)
	})
}
