package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
)

// The notes in Redis about the secret that the proxies of a ledger share.
const (
	secretNoted = "the secret of this ledger's proxies has the fingerprint "
	secretNoter = "dpproxy"
)

// errSecret is wrapped where a proxy has another secret than the others. Its
// answers would choose other rows of a person, and its sessions could not log in
// to a mirror that the others use.
var errSecret = errors.New("this proxy has another secret than the one that made the ledger")

// agree compares the secret with the one that the ledger notes. Where it notes
// none yet, it does so from then on.
func (s *Books) agree(ctx context.Context, o redisledger.Options) error {
	noted := ""
	l, err := redisledger.OpenReader(ctx, o, func(r history.Record) {
		if n, ok := r.Entry.(history.NoteEntry); ok && noted == "" && n.Who == secretNoter && strings.HasPrefix(n.Text, secretNoted) {
			noted = strings.TrimPrefix(n.Text, secretNoted)
		}
	})
	if err != nil {
		return s.advise(err)
	}
	switch noted {
	case s.Secret.Fingerprint():
	case "":
		err = l.Decide(ctx, history.NoteEntry{Who: secretNoter, Text: secretNoted + s.Secret.Fingerprint()})
	default:
		err = fmt.Errorf("%s: %w: copy that proxy's secret to %s", s.where(), errSecret, s.Policy.SecretFile)
	}
	return errors.Join(err, l.Close())
}
