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
	healthTime = 2 * time.Second // for one check, and for one request
	healthKept = time.Second     // how long the outcome of the checks holds
)

// healthPages say how dpproxy is, to whoever can reach the address: for load balancers and
// monitors. They tell nothing of the data, and no reasons.
type healthPages struct {
	service *service
	ending  <-chan struct{}
	server  *http.Server // nil: there are none

	mu      sync.Mutex
	checked time.Time
	outcome string
	ready   bool
}

// check is one of the things that answers depend on.
type check struct {
	name string
	ping func(ctx context.Context) error
}

// serveHealth serves the pages at an address, if it is one.
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

// checks are the ledger, the two databases, and the one that log-ins ask. They are asked over
// connections of their own: that statements or log-ins have taken all others is no failure.
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

// closing reports whether a connection can be opened.
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

// look makes the checks, unless somebody did a moment ago.
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
		b.WriteString("schema degraded\n") // what is not refused is served
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
	_, _ = fmt.Fprint(w, text) // who asked may be gone
}
