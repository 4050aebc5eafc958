package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/mirror/ddl"
)

// Warning begins the report of Sync on something that the mirror's server cannot have as the
// real one has it: a collation, an index, a type. It is said when the thing is made.
const Warning = "warning: "

// A record is of something that an earlier Sync made.
type record struct {
	ddl.Key
	Digest, Drop, State string
}

// A reconciler brings the objects of one database to the wanted state: it has the transaction, and
// the records of the objects that were made.
type reconciler struct {
	tx     pgx.Tx
	report func(string)
	// warnings are reported when their object is made.
	warnings map[ddl.Key][]string
	made     []record // in the order of creation
	// before are the records as they were, dropped the objects whose records go, and added the records that come.
	before, added []record
	dropped       map[ddl.Key]bool
	stale         map[ddl.Key]bool
	there         map[ddl.Key]bool
	// recorded are the objects whose records are as they are wanted.
	recorded map[ddl.Key]bool
	// states are those of objects that are looked up together, before anything is changed; one that is not there has none.
	states map[ddl.Key]found
	// shares are the roles that have a privilege, by [ddl.Share.Roles].
	shares map[string]map[string]bool
}

// reconcile drops the objects that are no longer wanted or stale, in reverse order of creation,
// and then makes those that are missing, in order. Rows is called behind the tables and before
// the foreign keys. A second run changes nothing. An object is made anew when its scripts change,
// when it is not sound, or when something that it needs is made anew.
func (r *reconciler) reconcile(ctx context.Context, wanted []ddl.Object, rows func() error) error {
	r.stale, r.there, r.recorded = map[ddl.Key]bool{}, map[ddl.Key]bool{}, map[ddl.Key]bool{}
	r.shares, r.dropped = map[string]map[string]bool{}, map[ddl.Key]bool{}
	if err := r.load(ctx); err != nil {
		return err
	}
	made := map[ddl.Key]int{}
	for i, m := range r.made {
		made[m.Key] = i
	}
	if err := r.lookUp(ctx, wanted); err != nil {
		return err
	}
	keep := map[ddl.Key]bool{}
	for _, o := range wanted {
		keep[o.Key] = true
		if err := r.inspect(ctx, o, made); err != nil {
			return err
		}
	}
	old := r.old(keep)
	if err := r.lock(ctx, old); err != nil {
		return err
	}
	if err := r.dropOld(ctx, old, keep); err != nil {
		return err
	}
	keys := slices.IndexFunc(wanted, func(o ddl.Object) bool { return o.Kind == ddl.KindForeignKey })
	if keys < 0 {
		keys = len(wanted)
	}
	if err := r.makeAll(ctx, wanted[:keys]); err != nil {
		return err
	}
	if err := rows(); err != nil {
		return err
	}
	if err := r.makeAll(ctx, wanted[keys:]); err != nil {
		return err
	}
	return r.save(ctx)
}

func (r *reconciler) makeAll(ctx context.Context, objects []ddl.Object) error {
	var grants []ddl.Object
	for _, o := range objects {
		if o.Share != nil && r.stale[o.Key] {
			grants = append(grants, o)
			continue
		}
		if err := r.make(ctx, o); err != nil {
			return err
		}
	}
	return r.grant(ctx, grants)
}

// grant makes grants, each privilege for all its roles at once.
func (r *reconciler) grant(ctx context.Context, grants []ddl.Object) error {
	var privileges []string
	roles := map[string][]string{}
	for _, o := range grants {
		p := o.Share.Privilege
		if roles[p] == nil {
			privileges = append(privileges, p)
		}
		roles[p] = append(roles[p], o.Share.Role)
	}
	for _, p := range privileges {
		if _, err := r.tx.Exec(ctx, ddl.GrantTo(p, roles[p])); err != nil {
			return fmt.Errorf("grant %s: %w", p, err)
		}
	}
	for _, o := range grants {
		r.say(o)
	}
	r.record(grants...)
	return nil
}

func (r *reconciler) load(ctx context.Context) error {
	text, err := madeRecords.read(ctx, r.tx)
	if err != nil || text == nil {
		return err
	}
	if err := json.Unmarshal(text, &r.before); err != nil {
		return fmt.Errorf("read what was made: %w", err)
	}
	r.made = slices.Clone(r.before)
	return nil
}

// save writes the records, if they are others than before.
func (r *reconciler) save(ctx context.Context) error {
	now := slices.DeleteFunc(slices.Clone(r.before), func(m record) bool { return r.dropped[m.Key] })
	if len(now) == len(r.before) && len(r.added) == 0 {
		return nil
	}
	text, err := json.Marshal(slices.Concat(now, r.added))
	if err != nil {
		return err
	}
	return madeRecords.write(ctx, r.tx, text)
}

// old returns the objects to be dropped, the last that was made first.
func (r *reconciler) old(wanted map[ddl.Key]bool) []record {
	var old []record
	for _, m := range slices.Backward(r.made) {
		if r.stale[m.Key] || !wanted[m.Key] {
			old = append(old, m)
		}
	}
	return old
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
		if m.Kind == ddl.KindTable || m.Kind == ddl.KindForeignKey {
			names = append(names, m.Name)
		}
	}
	var tables string
	if err := r.tx.QueryRow(ctx, locked, names).Scan(&tables); err != nil || tables == "" {
		return err
	}
	_, err := r.tx.Exec(ctx, "LOCK TABLE "+tables)
	return err
}

func (r *reconciler) dropOld(ctx context.Context, old []record, wanted map[ddl.Key]bool) error {
	for _, m := range old {
		if err := r.drop(ctx, m); err != nil {
			return err
		}
		if !wanted[m.Key] {
			r.report("drop " + m.String())
		}
	}
	return nil
}

// drop removes the object that m records, unless something else has removed it.
func (r *reconciler) drop(ctx context.Context, m record) error {
	there, _, err := r.look(ctx, m.Key, m.State)
	if err != nil {
		return err
	}
	if there {
		if err := r.spare(ctx, m); err != nil {
			return err
		}
		if err := r.exec(ctx, m.Key, m.Drop); err != nil {
			return err
		}
	}
	r.dropped[m.Key] = true
	return nil
}

// make makes an object that is not as it should be. One that is keeps its OID, and nothing
// is written for it.
func (r *reconciler) make(ctx context.Context, o ddl.Object) error {
	if !r.stale[o.Key] && r.recorded[o.Key] {
		return nil
	}
	if r.stale[o.Key] {
		if err := r.create(ctx, o); err != nil {
			return err
		}
		r.say(o)
	}
	r.record(o)
	return nil
}

// say reports that an object was made.
func (r *reconciler) say(o ddl.Object) {
	verb := "create "
	if r.there[o.Key] {
		verb = "recreate "
	}
	r.report(verb + o.String())
}

// record notes that objects were made, in their order.
func (r *reconciler) record(objects ...ddl.Object) {
	for _, o := range objects {
		r.added = append(r.added, record{Key: o.Key, Digest: o.Digest(), Drop: o.Drop, State: o.State})
	}
}

// create makes an object as far as the server can.
func (r *reconciler) create(ctx context.Context, o ddl.Object) error {
	warnings := slices.Clone(r.warnings[o.Key])
	if o.Otherwise == "" {
		if err := r.exec(ctx, o.Key, o.Create); err != nil {
			return err
		}
	} else {
		why, err := r.attempt(ctx, o.Key, o.Create)
		if err != nil {
			return err
		}
		if why != "" {
			warnings = append(warnings, fmt.Sprintf("%v: %s, as the mirror cannot make it: %s", o.Key, o.Loss, why))
			if err := r.exec(ctx, o.Key, o.Otherwise); err != nil {
				return err
			}
		}
	}
	for _, d := range o.Beside {
		why, err := r.attempt(ctx, o.Key, d.Script)
		if err != nil {
			return err
		}
		if why != "" {
			warnings = append(warnings, fmt.Sprintf("%v: %s is left out, as the mirror cannot make it: %s", o.Key, d.Name, why))
		}
	}
	for _, w := range warnings {
		r.report(Warning + w)
	}
	return nil
}

// attempt runs a script, and undoes it where the server says that it cannot do such a
// thing: why is its message.
func (r *reconciler) attempt(ctx context.Context, k ddl.Key, script string) (why string, err error) {
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
func (r *reconciler) exec(ctx context.Context, k ddl.Key, script string) error {
	if _, err := r.tx.Conn().PgConn().Exec(ctx, script).ReadAll(); err != nil {
		return fmt.Errorf("%v: %w", k, err)
	}
	return nil
}
