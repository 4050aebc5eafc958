package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A key identifies an object of the mirror.
type key struct{ kind, name string }

// String writes the key for reports.
func (k key) String() string { return k.kind + " " + k.name }

// An object is something that Sync keeps as the plan says. It is made anew when its
// script changes, when it is not sound, or when something it needs is made anew.
type object struct {
	key
	create, drop string
	// state selects (owner text, sound boolean), or no row if there is no such
	// object. An owner other than Owner means that it is not ours.
	state string
	needs []key
	// adopt keeps an existing object that is ours although this database has no
	// record of it: roles belong to the whole server.
	adopt bool
	// otherwise is made where the server cannot make create, for want of something that
	// is not installed; loss says what is lost then.
	otherwise, loss string
	// beside are made after create where the server can make them.
	beside []definition
	// warnings are reported when it is made.
	warnings []string
}

// A definition is a script for something of that name.
type definition struct{ name, script string }

// digest of the scripts, as dp.made records it.
func (o object) digest() string {
	scripts := []string{o.create, o.drop}
	for _, d := range o.beside {
		scripts = append(scripts, d.script)
	}
	sum := sha256.Sum256([]byte(strings.Join(scripts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// A record is a row of dp.made: something that an earlier Sync made.
type record struct {
	key
	digest, drop, state string
}

// A reconciler brings the objects of one database to the wanted state.
type reconciler struct {
	tx     pgx.Tx
	report func(string)
	made   []record // in the order of creation
	stale  map[key]bool
	there  map[key]bool
	// recorded are the objects that dp.made has as they are wanted.
	recorded map[key]bool
}

// reconcile drops what is no longer wanted or stale, in reverse order of creation,
// and then makes what is missing, in order. Rows is called behind the tables and before
// the foreign keys. A second run changes nothing.
func reconcile(ctx context.Context, tx pgx.Tx, wanted []object, rows func() error, report func(string)) error {
	r := &reconciler{tx: tx, report: report, stale: map[key]bool{}, there: map[key]bool{}, recorded: map[key]bool{}}
	if err := r.load(ctx); err != nil {
		return err
	}
	for _, o := range wanted {
		if err := r.inspect(ctx, o); err != nil {
			return err
		}
	}
	old := r.old(wanted)
	if err := r.lock(ctx, old); err != nil {
		return err
	}
	if err := r.dropOld(ctx, old, wanted); err != nil {
		return err
	}
	keys := slices.IndexFunc(wanted, func(o object) bool { return o.kind == foreignKeyKind })
	if keys < 0 {
		keys = len(wanted)
	}
	if err := r.makeAll(ctx, wanted[:keys]); err != nil {
		return err
	}
	if err := rows(); err != nil {
		return err
	}
	return r.makeAll(ctx, wanted[keys:])
}

func (r *reconciler) makeAll(ctx context.Context, objects []object) error {
	for _, o := range objects {
		if err := r.make(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (r *reconciler) load(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, "SELECT kind, name, digest, remove, state FROM dp.made ORDER BY seq")
	if err != nil {
		return err
	}
	r.made, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m record, err error) {
		return m, row.Scan(&m.kind, &m.name, &m.digest, &m.drop, &m.state)
	})
	return err
}

// inspect decides whether o is there and as it should be.
func (r *reconciler) inspect(ctx context.Context, o object) error {
	there, sound, err := r.look(ctx, o.key, o.state)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.made, func(m record) bool { return m.key == o.key })
	if i < 0 && there {
		// Ours by its owner, but the record is lost.
		r.made = append(r.made, record{key: o.key, drop: o.drop, state: o.state})
	}
	r.recorded[o.key] = i >= 0 && r.made[i].digest == o.digest()
	recorded := r.recorded[o.key] || i < 0 && o.adopt
	needy := slices.ContainsFunc(o.needs, func(k key) bool { return r.stale[k] })
	r.there[o.key] = there
	r.stale[o.key] = !there || !sound || !recorded || needy
	return nil
}

// look runs the state query of an object. What is there but not ours is an error.
func (r *reconciler) look(ctx context.Context, k key, state string) (there, sound bool, err error) {
	var owner string
	err = r.tx.QueryRow(ctx, state).Scan(&owner, &sound)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("%v: %w", k, err)
	case owner != Owner:
		return false, false, fmt.Errorf("%v exists on the mirror and was not made by dpproxy", k)
	}
	return true, sound, nil
}

// old returns what is to be dropped, the last that was made first.
func (r *reconciler) old(wanted []object) []record {
	var old []record
	for _, m := range slices.Backward(r.made) {
		if r.stale[m.key] || !isWanted(wanted, m.key) {
			old = append(old, m)
		}
	}
	return old
}

func isWanted(wanted []object, k key) bool {
	return slices.ContainsFunc(wanted, func(o object) bool { return o.key == k })
}

// locked are the tables of a list of tables and foreign keys, with those at the other end of
// their foreign keys. Sessions that read several lock them in orders of their own, so each try
// takes another.
const locked = `WITH k AS (SELECT k.conrelid, k.confrelid, n.nspname || '.' || c.relname AS name, k.conname
		FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE k.contype = 'f'),
	t AS (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND n.nspname || '.' || c.relname = ANY ($1)),
	ends AS (SELECT conrelid, confrelid FROM k
		WHERE name || '.' || conname = ANY ($1) OR conrelid IN (TABLE t) OR confrelid IN (TABLE t))
	SELECT coalesce(string_agg(oid::regclass::text, ', ' ORDER BY random()), '')
	FROM (TABLE t UNION SELECT conrelid FROM ends UNION SELECT confrelid FROM ends) AS tables`

// lock takes all locks that dropping needs one right after the other. Were one held while
// other work is done, sessions that read several tables would have time to take the next and
// to wait for the first.
func (r *reconciler) lock(ctx context.Context, old []record) error {
	var names []string
	for _, m := range old {
		if m.kind == tableKind || m.kind == foreignKeyKind {
			names = append(names, m.name)
		}
	}
	var tables string
	if err := r.tx.QueryRow(ctx, locked, names).Scan(&tables); err != nil || tables == "" {
		return err
	}
	_, err := r.tx.Exec(ctx, "LOCK TABLE "+tables)
	return err
}

func (r *reconciler) dropOld(ctx context.Context, old []record, wanted []object) error {
	for _, m := range old {
		if err := r.drop(ctx, m); err != nil {
			return err
		}
		if !isWanted(wanted, m.key) {
			r.report("drop " + m.String())
		}
	}
	return nil
}

// drop removes what m records, unless something else has removed it.
func (r *reconciler) drop(ctx context.Context, m record) error {
	there, _, err := r.look(ctx, m.key, m.state)
	if err != nil {
		return err
	}
	if there {
		if err := r.exec(ctx, m.key, m.drop); err != nil {
			return err
		}
	}
	_, err = r.tx.Exec(ctx, "DELETE FROM dp.made WHERE kind = $1 AND name = $2", m.kind, m.name)
	return err
}

// make makes an object that is not as it should be. One that is keeps its OID, and nothing
// is written for it.
func (r *reconciler) make(ctx context.Context, o object) error {
	if !r.stale[o.key] && r.recorded[o.key] {
		return nil
	}
	if r.stale[o.key] {
		if err := r.create(ctx, o); err != nil {
			return err
		}
		verb := "create "
		if r.there[o.key] {
			verb = "recreate "
		}
		r.report(verb + o.String())
	}
	_, err := r.tx.Exec(ctx, `INSERT INTO dp.made (kind, name, digest, remove, state) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (kind, name) DO NOTHING`, o.kind, o.name, o.digest(), o.drop, o.state)
	return err
}

// create makes an object as far as the server can.
func (r *reconciler) create(ctx context.Context, o object) error {
	warnings := slices.Clone(o.warnings)
	if o.otherwise == "" {
		if err := r.exec(ctx, o.key, o.create); err != nil {
			return err
		}
	} else {
		why, err := r.attempt(ctx, o.key, o.create)
		if err != nil {
			return err
		}
		if why != "" {
			warnings = append(warnings, fmt.Sprintf("%v: %s, as the mirror cannot make it: %s", o.key, o.loss, why))
			if err := r.exec(ctx, o.key, o.otherwise); err != nil {
				return err
			}
		}
	}
	for _, d := range o.beside {
		why, err := r.attempt(ctx, o.key, d.script)
		if err != nil {
			return err
		}
		if why != "" {
			warnings = append(warnings, fmt.Sprintf("%v: %s is left out, as the mirror cannot make it: %s", o.key, d.name, why))
		}
	}
	for _, w := range warnings {
		r.report(Warning + w)
	}
	return nil
}

// attempt runs a script, and undoes it where the server says that it cannot do such a
// thing: why is what it says.
func (r *reconciler) attempt(ctx context.Context, k key, script string) (why string, err error) {
	savepoint, err := r.tx.Begin(ctx)
	if err != nil {
		return "", err
	}
	err = r.exec(ctx, k, script)
	if err == nil {
		return "", savepoint.Commit(ctx)
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || !slices.Contains(cannot, refused.Code[:2]) {
		return "", err
	}
	return refused.Message, savepoint.Rollback(ctx)
}

// cannot are the classes of the errors of a server that lacks something: 0A is a feature
// that is not supported, 22 a parameter that has no such value, 42 a name that is not known.
var cannot = []string{"0A", "22", "42"}

// exec runs a script of several statements.
func (r *reconciler) exec(ctx context.Context, k key, script string) error {
	if _, err := r.tx.Conn().PgConn().Exec(ctx, script).ReadAll(); err != nil {
		return fmt.Errorf("%v: %w", k, err)
	}
	return nil
}
