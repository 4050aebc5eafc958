package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	healthTime = 2 * time.Second // for all checks together, and for a request
	healthKept = time.Second     // how long the outcome of the checks is reused
)

// healthPages report the state of dpproxy to everybody who can reach the address, such as load balancers and monitors. They contain nothing
// about the data, and no reasons.
type healthPages struct {
	service *service
	ending  <-chan struct{}
	server  *http.Server // nil if there is no address

	mu      sync.Mutex
	checked time.Time
	outcome string
	ready   bool
}

// A check tests something on which answers depend.
type check struct {
	name string
	ping func(ctx context.Context) error
}

// serveHealth serves the pages at an address, unless it is empty.
func (v *service) serveHealth(ctx context.Context, address string) (*healthPages, error) {
	h := &healthPages{service: v, ending: ctx.Done()}
	if address == "" {
		return h, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	v.log.Info("health", "address", listener.Addr().String())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, true, "ok\n") })
	mux.HandleFunc("GET /readyz", h.serveReady)
	h.server = &http.Server{Handler: mux, ReadTimeout: healthTime, WriteTimeout: 2 * healthTime, IdleTimeout: time.Minute}
	go func() {
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			v.log.Error("the health pages have ended", "error", err)
		}
	}()
	return h, nil
}

func (h *healthPages) stop() {
	if h.server != nil {
		_ = h.server.Close()
	}
}

// checks are the ledger, the two databases, and the database of auth_query. Connections of statements and log-ins are not used: it is no
// failure that all of these are taken.
func (v *service) checks() []check {
	g := v.now.Load()
	checks := []check{
		{"ledger", func(ctx context.Context) error {
			_, err := v.ledger.Balances(ctx)
			return err
		}},
		{"data", func(ctx context.Context) error { return v.rights.connect(ctx, g.Site) }},
		{"mirror", func(ctx context.Context) error {
			if shut := v.door.Load(); shut != nil {
				return shut.reason
			}
			return closing(ctx, g.ConnectMirror)
		}},
	}
	if g.auth != nil {
		checks = append(checks, check{"auth_query", g.auth.Check})
	}
	return checks
}

// closing opens a connection, closes it, and reports an error of either.
func closing[C interface {
	Close(ctx context.Context) error
}](ctx context.Context, connect func(context.Context) (C, error)) error {
	conn, err := connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func (h *healthPages) serveReady(w http.ResponseWriter, r *http.Request) {
	select {
	case <-h.ending:
		answerHealth(w, false, "stopping\n")
		return
	default:
	}
	ready, outcome := h.look(r.Context())
	answerHealth(w, ready, outcome)
}

// look makes the checks, unless they were made less than healthKept ago.
func (h *healthPages) look(ctx context.Context) (ready bool, outcome string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.checked) < healthKept {
		return h.ready, h.outcome
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTime)
	defer cancel()
	checks := h.service.checks()
	failed := make([]bool, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { failed[i] = c.ping(ctx) != nil })
	}
	all.Wait()
	var b strings.Builder
	h.ready = true
	for i, c := range checks {
		state := "ok"
		if failed[i] {
			state, h.ready = "failed", false
		}
		fmt.Fprintf(&b, "%s %s\n", c.name, state)
	}
	if !h.service.rights.well() {
		b.WriteString("rights degraded\n")
	}
	if !h.service.now.Load().ready() {
		b.WriteString("schema degraded\n") // the other relations are served
	}
	h.checked, h.outcome = time.Now(), b.String()
	return h.ready, h.outcome
}

func answerHealth(w http.ResponseWriter, ok bool, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprint(w, text) // the client may be gone
}
