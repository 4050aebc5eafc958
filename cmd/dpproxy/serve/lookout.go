package serve

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mirror"
)

// A lookout logs changes of the rights of dpproxy's role while it serves.
type lookout struct {
	// seen are the rights that the role lacked when it was last examined; nil if it was never examined.
	seen atomic.Pointer[[]string]
	log  *slog.Logger
}

// look logs the rights that dpproxy's role lacks, if they are others than before, and that it has them again. At the first call it also
// logs rights that the role does not need.
func (l *lookout) look(ctx context.Context, plan mirror.Plan, up *pgx.Conn) error {
	rights, err := mirror.ReadRights(ctx, up, plan)
	if err != nil {
		return err
	}
	before := l.seen.Swap(&rights.Missing)
	switch {
	case before != nil && slices.Equal(*before, rights.Missing):
	case len(rights.Missing) > 0:
		l.log.Error("dpproxy's role lacks rights in the protected database: statements that need them are refused",
			"role", rights.Role, "to do", strings.Join(rights.Missing, " "))
	case before != nil:
		l.log.Info("dpproxy's role has its rights in the protected database again", "role", rights.Role)
	}
	if before == nil {
		for _, what := range rights.Excess {
			l.log.Warn("dpproxy's role may do more in the protected database than it needs", "role", rights.Role, "it", what)
		}
	}
	return nil
}

// connect connects to the protected database of a site, and looks.
func (l *lookout) connect(ctx context.Context, s *site.Site) error {
	conn, err := s.ConnectData(ctx)
	if err != nil {
		return err
	}
	return errors.Join(l.look(ctx, s.MirrorPlan(), conn), conn.Close(ctx))
}

// well reports whether the role lacked no right when it was last examined.
func (l *lookout) well() bool {
	seen := l.seen.Load()
	return seen == nil || len(*seen) == 0
}
