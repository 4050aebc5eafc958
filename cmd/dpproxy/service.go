package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"dpproxy/accountant"
	"dpproxy/authquery"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
	"dpproxy/wire"
)

// service is a dpproxy that serves.
type service struct {
	host   *host
	proxy  *proxy.Proxy
	server *wire.Server
	ledger accountant.Ledger
	data   *reader.Data
	auth   *authquery.Query // nil: the policy has none
	log    *slog.Logger
}

// serve takes analysts until the context ends, and the policy anew at each SIGHUP.
func (v *service) serve(ctx context.Context, ready func(addr string)) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", v.host.policy.Listen)
	if err != nil {
		return err
	}
	health, err := v.serveHealth(ctx)
	if err != nil {
		listener.Close()
		return err
	}
	defer health()
	decisions, err := v.serveDecisions(ctx)
	if err != nil {
		listener.Close()
		return err
	}
	defer decisions()
	ready(listener.Addr().String())
	notify("READY=1")
	defer context.AfterFunc(ctx, func() { notify("STOPPING=1") })()
	go v.reloadAt(ctx, hup)
	go v.watchSchema(ctx)
	return v.server.Serve(ctx, listener)
}

func (v *service) reloadAt(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			if err := v.reload(ctx); err != nil {
				v.log.Error("the policy was not reloaded: the old one stays", "error", err)
			} else {
				v.log.Info("the policy was reloaded")
			}
		}
	}
}
