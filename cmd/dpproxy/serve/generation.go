package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/authquery"
	"dpproxy/cmd/dpproxy/auth"
	"dpproxy/cmd/dpproxy/drift"
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mechanisms"
	"dpproxy/planner/policy"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
)

// A generation serves by one policy and one schema. The next generation takes over the connections to the same places.
type generation struct {
	*Host

	outlook *drift.Outlook
	ruling  ledger.Ruling
	data    *reader.Data
	store   answers.Store    // nil if nothing is remembered
	auth    *authquery.Query // nil if the policy has no auth_query
	proxy   *proxy.Proxy
	keys    connectionKeys
	// compared are the copies of public tables on the mirror.
	compared comparison
}

// connectionKeys identify the places to which the connections of a generation lead, with passwords: they must not be logged.
type connectionKeys struct{ data, mirror, store, auth string }

func (s *Host) connectionKeys() (k connectionKeys, err error) {
	p, l := s.Policy, s.Policy.Limits
	data, err := site.DataPassword(s.Policy).Read()
	if err != nil {
		return k, err
	}
	down, err := site.MirrorPassword(s.Policy).Read()
	if err != nil {
		return k, err
	}
	k.data = fmt.Sprintf("%q %q %d %d %d %d %d %d", p.Data, data, l.DataConnections, l.StatementTimeout,
		l.AnalystDataConnections, l.DataQueue, l.AnalystDataQueue, l.FoldMemory)
	k.mirror = fmt.Sprintf("%q %q %q", p.Mirror, p.MirrorAdmin, down)
	k.store = fmt.Sprint(p.Answers.Remember, p.Answers.Keep)
	if q := p.AuthQuery; q != nil {
		own, err := site.AuthPassword(s.Policy).Read()
		if err != nil {
			return k, err
		}
		k.auth = fmt.Sprintf("%q %q %q %q", *q, own, k.data, k.mirror)
	}
	return k, nil
}

// open builds the generation of the host's policy, without its Proxy. before is the former generation, or nil. After an error, nothing that
// open has opened remains open.
func (s *Host) open(ctx context.Context, before *generation) (_ *generation, err error) {
	g := &generation{Host: s}
	if g.keys, err = s.connectionKeys(); err != nil {
		return nil, err
	}
	var old generation
	if before != nil {
		old = *before
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closeBut(&old))
		}
	}()
	if g.outlook, err = drift.Of(s.Site).Look(ctx); err != nil {
		return nil, err
	}
	if g.ruling, err = ledger.ReadRuling(ctx, s.Site); err != nil {
		return nil, err
	}
	if old.keys.data == g.keys.data {
		g.data = old.data.With(g.outlook.Model)
	} else if g.data, err = s.OpenData(ctx, g.outlook.Model); err != nil {
		return nil, err
	}
	g.turnOff(g.outlook)
	if err := g.readCopies(ctx); err != nil {
		return nil, err
	}
	if old.keys.mirror == g.keys.mirror {
		s.keeper, s.aside = old.keeper, old.aside
	} else {
		if s.keeper, err = openKeeper(ctx, s.Site); err != nil {
			return nil, err
		}
		s.aside = s.openAside()
	}
	if old.keys.auth == g.keys.auth {
		g.auth = old.auth
	} else if g.auth, err = auth.Of(s.Site).Open(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

// openProxy makes the Proxy of the generation from that of the former generation.
func (g *generation) openProxy(ctx context.Context, ledger accountant.Ledger, old *generation, log *slog.Logger) error {
	remembered, err := g.answers(ctx, g.outlook.Model, old.store, old.keys.store == g.keys.store)
	if err != nil {
		return err
	}
	why, err := g.forgotten(old)
	if err != nil {
		return err
	}
	if why != "" {
		log.Info("remembered answers are forgotten: the same questions cost again", "since", why)
	}
	g.store = remembered.Store
	cfg := g.proxyConfig(ledger, remembered, log)
	if old.proxy == nil {
		g.proxy, err = proxy.New(ctx, cfg)
	} else {
		g.proxy, err = old.proxy.Next(ctx, cfg, old.keys.data == g.keys.data)
	}
	return err
}

// closeBut closes the connections that another generation does not share.
func (g *generation) closeBut(next *generation) error {
	if g.data != nil && next.keys.data != g.keys.data {
		g.data.Close()
	}
	if next.keys.mirror != g.keys.mirror {
		if g.aside != nil {
			g.aside.Close()
		}
		if g.keeper != nil {
			g.keeper.close()
		}
	}
	if g.auth != nil && next.keys.auth != g.keys.auth {
		g.auth.Close()
	}
	if g.store != nil && next.keys.store != g.keys.store {
		return g.store.Close()
	}
	return nil
}

func (g *generation) proxyConfig(ledger accountant.Ledger, remembered proxy.Answers, log *slog.Logger) proxy.Config {
	p, model := g.Policy, g.outlook.Model
	return proxy.Config{
		Catalog: model, Views: g.ViewNames(), Ledger: ledger, Database: g.ruling.Database,
		Answers: remembered, Data: g.data, Aside: g.aside,
		Relations: g.mirrored(slices.Concat(model.Protected(), model.Public(), g.ViewNames())),
		Analysts:  g.analysts(), Source: mechanisms.NewSource(), Log: log, Defaults: g.defaults(), Now: time.Now,
		Publications: g.Secret.Publications(),
		Surveys:      g.desk, LeftReads: p.Limits.AnalystLeftReads,
		Limits: policy.Limits{PublicFanout: p.Limits.MaxPublicFanout, Work: p.Limits.MaxWork},
		Sharing: reader.Sharing{
			AnalystSessions: p.Limits.AnalystDataConnections,
			Waiting:         p.Limits.DataQueue, AnalystWaiting: p.Limits.AnalystDataQueue,
			Memory: foldMemory(&p.Limits),
		},
		Grid: proxy.Grid{
			Quantum: p.Limits.ReplyGrid, Now: time.Now,
			Wait:  func(d time.Duration) { <-time.NewTimer(d).C },
			After: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
		},
	}
}

// ready reports whether no relation of the policy is refused.
func (g *generation) ready() bool { return len(g.data.Off()) == 0 }
