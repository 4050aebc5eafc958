package main

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

// health says how dpproxy is, to whoever can reach the address: for load balancers and
// monitors. It tells nothing of the data, and no reasons.
type health struct {
	checks []check
	ending <-chan struct{}

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

// serveHealth serves the pages until stop is called.
func (v *service) serveHealth(ctx context.Context) (stop func(), err error) {
	address := v.host.policy.Health
	if address == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	v.log.Info("health", "address", listener.Addr().String())
	h := &health{ending: ctx.Done(), checks: v.checks()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, true, "ok\n") })
	mux.HandleFunc("GET /readyz", h.serveReady)
	server := &http.Server{Handler: mux, ReadTimeout: healthTime, WriteTimeout: 2 * healthTime, IdleTimeout: time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			v.log.Error("the health pages have ended", "error", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}

// checks are the ledger, the two databases, and the one that log-ins ask. They are asked over
// connections of their own: that statements or log-ins have taken all others is no failure.
func (v *service) checks() []check {
	host := v.host // a reload does not change how databases are reached
	checks := []check{
		{"ledger", func(ctx context.Context) error {
			_, err := v.ledger.Balances(ctx)
			return err
		}},
		{"data", func(ctx context.Context) error { return closing(ctx, host.connectData) }},
		{"mirror", func(ctx context.Context) error { return closing(ctx, host.connectMirror) }},
	}
	if v.auth != nil {
		checks = append(checks, check{"auth_query", v.auth.Check})
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

func (h *health) serveReady(w http.ResponseWriter, r *http.Request) {
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
func (h *health) look(ctx context.Context) (ready bool, outcome string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.checked) < healthKept {
		return h.ready, h.outcome
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTime)
	defer cancel()
	failed := make([]bool, len(h.checks))
	var all sync.WaitGroup
	for i, c := range h.checks {
		all.Go(func() { failed[i] = c.ping(ctx) != nil })
	}
	all.Wait()
	var b strings.Builder
	h.ready = true
	for i, c := range h.checks {
		state := "ok"
		if failed[i] {
			state, h.ready = "failed", false
		}
		fmt.Fprintf(&b, "%s %s\n", c.name, state)
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
