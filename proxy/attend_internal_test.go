package proxy

import (
	"context"
	"log/slog"
	"testing"

	"dpproxy/proxy/flight"
)

// firstClaim notes whether a client had its reply when a claim ended.
type firstClaim struct {
	client chan *client
	late   bool
}

func (f *firstClaim) End(context.Context, string) {
	select {
	case <-(<-f.client).landed:
		f.late = true
	default:
	}
}

// TestRepliesComeLast holds that no reply leaves before the drawing has ended for those who wait for it: a client who asks the same
// again would find it under way, and be refused as somebody who has waited in vain.
func TestRepliesComeLast(t *testing.T) {
	claim := &firstClaim{client: make(chan *client, 1)}
	d := &drawing{
		execution: &execution{p: &Proxy{cfg: Config{Log: slog.New(slog.DiscardHandler)}, flights: flight.NewBoard()}},
		pre:       &prelude{}, veil: &veil{}, claimed: claim,
	}
	c := d.fly(t.Context(), nil) // which is ended by a defect: there is no reading
	claim.client <- c
	<-c.landed
	d.p.reads.Wait()
	if claim.late {
		t.Error("the reply left before the claim had ended")
	}
}
