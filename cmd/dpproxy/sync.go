package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"dpproxy/mirror"
)

// syncCommand makes or refreshes the mirror.
type syncCommand struct {
	Policy   string `arg:"" help:"Policy file." type:"path"`
	TakeOver bool   `help:"Take a mirror over that another dpproxy has made, whose secret is another."`
}

// Run implements the command.
func (c *syncCommand) Run(ctx context.Context) error {
	s, err := openSite(c.Policy)
	if err != nil {
		return err
	}
	s.takesOver = c.TakeOver
	changes := 0
	report := func(change string) {
		if !strings.HasPrefix(change, mirror.Warning) {
			changes++
		}
		fmt.Println(change)
	}
	if err = s.sync(ctx, report); err == nil {
		err = localOf(s).showAnswers(ctx, report)
	}
	if err == nil {
		fmt.Fprintf(os.Stderr, "the mirror is in order, %d changes\n", changes)
	}
	return err
}
