package serve

import (
	"context"
	"log/slog"
	"time"
)

// Command serves analysts.
type Command struct {
	Policy string        `arg:"" help:"Policy file." type:"path"`
	Sync   bool          `help:"Refresh the mirror first."`
	Wait   time.Duration `help:"How long to wait for the two databases to be there; 0 ends at once." default:"1m"`
}

// Run implements the command.
func (c *Command) Run(ctx context.Context, log *slog.Logger) error {
	if err := forbidDumps(); err != nil {
		return err
	}
	s, err := Open(c.Policy)
	if err != nil {
		return err
	}
	s.wait = c.Wait
	if c.Sync {
		if err := await(ctx, s.Site, c.Wait, log); err != nil {
			return err
		}
		if err := s.Sync(ctx, func(change string) { log.Info("mirror", "change", change) }); err != nil {
			return err
		}
	}
	return s.Serve(ctx, log, func(addr string) { log.Info("serving", "address", addr) })
}
