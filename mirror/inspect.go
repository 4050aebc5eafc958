package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/ddl"
)

// inspect decides whether o is there and as it should be. Made are the places of the records.
func (r *reconciler) inspect(ctx context.Context, o ddl.Object, made map[ddl.Key]int) (err error) {
	var there, sound bool
	switch {
	case o.Share != nil:
		there, err = r.shared(ctx, o.Share)
		sound = there
	case o.Among != nil:
		there, sound, err = r.found(o.Key)
	default:
		there, sound, err = r.look(ctx, o.Key, o.State)
	}
	if err != nil {
		return err
	}
	i, known := made[o.Key]
	if !known && there {
		// Ours by its owner, but the record is lost.
		r.made = append(r.made, record{Key: o.Key, Drop: o.Drop, State: o.State})
	}
	r.recorded[o.Key] = known && r.made[i].Digest == o.Digest()
	recorded := r.recorded[o.Key] || !known && o.Adopt
	needy := slices.ContainsFunc(o.Needs, func(k ddl.Key) bool { return r.stale[k] })
	r.there[o.Key] = there
	r.stale[o.Key] = !there || !sound || !recorded || needy
	return nil
}

// shared reports whether a role has a privilege. All roles that have it are read at once.
func (r *reconciler) shared(ctx context.Context, s *ddl.Share) (bool, error) {
	if r.shares[s.Roles] == nil {
		rows, err := r.tx.Query(ctx, s.Roles)
		if err != nil {
			return false, err
		}
		roles, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return false, err
		}
		r.shares[s.Roles] = map[string]bool{}
		for _, role := range roles {
			r.shares[s.Roles][role] = true
		}
	}
	return r.shares[s.Roles][s.Role], nil
}

// look runs the state query of an object. One that is there but not ours is an error.
func (r *reconciler) look(ctx context.Context, k ddl.Key, state string) (there, sound bool, err error) {
	var owner string
	err = r.tx.QueryRow(ctx, state).Scan(&owner, &sound)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("%v: %w", k, err)
	case owner != ddl.Owner:
		return false, false, notOurs(k)
	}
	return true, sound, nil
}

func notOurs(k ddl.Key) error {
	return fmt.Errorf("%v exists on the mirror and was not made by dpproxy", k)
}

// found is the state of an object that is there.
type found struct {
	owner string
	sound bool
}

// found returns the state that lookUp has found.
func (r *reconciler) found(k ddl.Key) (there, sound bool, err error) {
	s, there := r.states[k]
	if there && s.owner != ddl.Owner {
		return false, false, notOurs(k)
	}
	return there, s.sound, nil
}

// lookUp selects the states of objects that are looked up together: one by one the roles of thousands of analysts would
// take the most of a sync that changes nothing.
func (r *reconciler) lookUp(ctx context.Context, wanted []ddl.Object) error {
	r.states = map[ddl.Key]found{}
	rows := map[string][]string{}
	for i, o := range wanted {
		if o.Among != nil {
			rows[o.Among.Query] = append(rows[o.Among.Query], fmt.Sprintf("(%d, %s)", i, o.Among.Row))
		}
	}
	for query, values := range rows {
		answer, err := r.tx.Query(ctx, fmt.Sprintf(query, strings.Join(values, ", ")), pgx.QueryExecModeExec)
		if err != nil {
			return err
		}
		var i int
		var s found
		if _, err := pgx.ForEachRow(answer, []any{&i, &s.owner, &s.sound}, func() error {
			r.states[wanted[i].Key] = s
			return nil
		}); err != nil {
			return fmt.Errorf("read the states of roles: %w", err)
		}
	}
	return nil
}
