package ledger

import (
	"fmt"
	"os/user"
)

// Decision is who decides and why, for the audit trail.
type Decision struct {
	Who    string `help:"Who decides, for the audit trail; the account that runs this unless said otherwise." placeholder:"NAME"`
	Reason string `help:"Why, for the audit trail." required:""`
}

// Decider returns the name for the audit trail.
func (d Decision) Decider() (string, error) {
	if d.Who != "" {
		return d.Who, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("say who decides, with --who: %w", err)
	}
	return u.Username, nil
}
