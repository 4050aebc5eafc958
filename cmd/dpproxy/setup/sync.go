package setup

import (
	"context"
	"fmt"
	"os"
	"strings"

	"dpproxy/cmd/dpproxy/local"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mirror"
)

// Sync makes or refreshes the mirror.
type Sync struct {
	Policy   string `arg:"" help:"Policy file." type:"path"`
	TakeOver bool   `help:"Take a mirror over that another dpproxy has made, whose secret is another."`
}

// Run implements the command.
func (c *Sync) Run(ctx context.Context) error {
	s, err := site.Open(c.Policy)
	if err != nil {
		return err
	}
	s.TakesOver = c.TakeOver
	changes := 0
	report := func(change string) {
		if !strings.HasPrefix(change, mirror.Warning) {
			changes++
		}
		fmt.Println(change)
	}
	if err = s.Sync(ctx, report); err == nil {
		err = local.Of(s).ShowAnswers(ctx, report)
	}
	if err == nil {
		fmt.Fprintf(os.Stderr, "the mirror is in order, %d changes\n", changes)
	}
	return err
}
