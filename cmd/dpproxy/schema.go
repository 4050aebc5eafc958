package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/policy"
)

// A surveyor compares the policy of a site with the protected database as it is, and as it was confirmed.
type surveyor struct{ *site }

// driftOf returns the surveyor of a site.
func driftOf(s *site) surveyor { return surveyor{s} }

// An outlook is the policy joined with the schema that was confirmed, and the relations
// that are refused since they are not as they were then.
type outlook struct {
	model *policy.Model
	// confirmed names the mirror as it was made, and recorded the record of that.
	confirmed, recorded string
	// off are the relations that are refused, with the reasons.
	off map[catalog.Name][]mirror.Change
	// otherForm are the relations that the mirror has in another form than the policy.
	otherForm map[catalog.Name]bool
	// misfits are the problems of a policy that does not fit any more.
	misfits []policy.Problem
}

// look checks the policy against the protected database and the mirror, for serving. Tables are taken as they were confirmed:
// columns and keys that came since are not there. A relation that has changed otherwise is refused. The policy has to fit the
// confirmed form then, so that nothing is planned or proved by another. A mirror that shows more than the policy permits ends in
// an error.
func (s surveyor) look(ctx context.Context) (*outlook, error) {
	up, err := s.connectData(ctx)
	if err != nil {
		return nil, err
	}
	defer up.Close(ctx)
	down, err := s.connectMirror(ctx)
	if err != nil {
		return nil, err
	}
	defer down.Close(ctx)
	return s.compare(ctx, up, down)
}

func (s surveyor) compare(ctx context.Context, up, down *pgx.Conn) (*outlook, error) {
	o := &outlook{off: map[catalog.Name][]mirror.Change{}}
	was, err := s.record(ctx, down, o)
	if err != nil {
		return nil, err
	}
	plan := s.mirrorPlan()
	plan.Known = s.known(was.Schema)
	schema, err := plan.Read(ctx, up)
	if err != nil {
		return nil, err
	}
	if schema.TimeZones, err = introspect.TimeZones(ctx, up); err != nil {
		return nil, fmt.Errorf("reading the time zones: %w", err)
	}
	for _, n := range s.relations() {
		if changes := plan.Changes(n, was.Schema, schema); len(changes) > 0 {
			o.off[n] = changes
		}
	}
	faults, err := mirror.Faults(ctx, up, plan, schema)
	if err != nil {
		return nil, err
	}
	if _, problems := s.fit(plan, schema); len(problems) > 0 {
		whole, err := s.mirrorPlan().Read(ctx, up)
		if err != nil {
			return nil, err
		}
		_, o.misfits = s.fit(plan, whole)
		asConfirmed(was.Schema, schema)
	}
	var problems []policy.Problem
	if o.model, problems = s.fit(plan, schema); len(problems) > 0 {
		return nil, s.annotate(problems)
	}
	now, err := mirror.ReadOrigins(ctx, up, was.Schema)
	if err != nil {
		return nil, err
	}
	if err := mirror.Prove(ctx, down, s.mirrorPlanOf(o.model), was.Schema, now); err != nil {
		return nil, err
	}
	if err := s.refuse(ctx, o, down, was, faults); err != nil {
		return nil, err
	}
	if was.Earlier {
		if err := mirror.Raise(ctx, down, s.mirrorPlanOf(o.model)); err != nil {
			return nil, err
		}
		return s.compare(ctx, up, down)
	}
	there := slices.DeleteFunc(slices.Clone(plan.Public), func(n catalog.Name) bool { return o.otherForm[n] })
	if schema.PublicRows, err = mirror.CountRows(ctx, down, there); err != nil {
		return nil, err
	}
	if schema.PublicRepeats, err = mirror.CountRepeats(ctx, down, schema.PublicRows); err != nil {
		return nil, err
	}
	o.model, _ = s.fit(plan, schema) // with the sizes, which are no problem
	return o, nil
}

// record reads what was confirmed, and notes its names in the outlook.
func (s surveyor) record(ctx context.Context, down *pgx.Conn, o *outlook) (was *mirror.Confirmation, err error) {
	if o.confirmed, err = mirror.ConfirmedAs(ctx, down); err != nil {
		return nil, err
	}
	if was, err = mirror.Confirmed(ctx, down); err != nil {
		return nil, err
	}
	if was == nil {
		return nil, errors.New("the mirror was not made by this version of dpproxy: run dpproxy sync")
	}
	if err := mirror.CheckSite(ctx, down, s.mirrorPlan()); err != nil || was.Earlier {
		return was, err
	}
	o.recorded, err = mirror.RecordedAs(ctx, down)
	return was, err
}

// refuse refuses the relations that are otherwise on the mirror, or whose rows may be those of others. Of a mirror that an earlier
// version has made nothing must be so, since that version copied rows without asking for all.
func (s surveyor) refuse(ctx context.Context, o *outlook, down *pgx.Conn, was *mirror.Confirmation, faults []*mirror.SourceError) error {
	const earlier = "the mirror was made by an earlier dpproxy, and cannot be taken over as it is: %s: run dpproxy sync"
	for _, f := range faults {
		if was.Earlier {
			return &mirror.UnsafeError{Reason: fmt.Sprintf(earlier, f.Message)}
		}
		o.off[f.Table] = append(o.off[f.Table], mirror.Change{Text: f.Message, Told: "the relations that it shows rows of", Takes: true})
	}
	others, err := s.otherForms(ctx, o, down)
	if err != nil {
		return err
	}
	if was.Earlier && len(others) > 0 {
		return &mirror.UnsafeError{Reason: fmt.Sprintf(earlier, others[0].String()+" has another form there than the policy")}
	}
	return nil
}

// permitted proves by the catalogue of the mirror that it shows nothing that the policy does not permit, and by that of the protected
// database too, where it is there. An error of another kind than [mirror.UnsafeError] says that something could not be read.
func (s surveyor) permitted(ctx context.Context) error {
	if err := s.proveShown(ctx, nil); err != nil {
		return err
	}
	up, err := s.connectData(ctx)
	if err != nil {
		return err
	}
	defer up.Close(ctx)
	return s.proveShown(ctx, up)
}

// proveShown is that proof, by names alone without a connection to the protected database.
func (s surveyor) proveShown(ctx context.Context, up *pgx.Conn) error {
	down, err := s.connectMirror(ctx)
	if err != nil {
		return err
	}
	defer down.Close(ctx)
	was, err := mirror.Confirmed(ctx, down)
	if err != nil || was == nil {
		return err
	}
	var now mirror.Origins
	if up != nil {
		if now, err = mirror.ReadOrigins(ctx, up, was.Schema); err != nil {
			return err
		}
	}
	return mirror.ProveShown(ctx, down, s.mirrorPlan(), was.Schema, now)
}

// known are the confirmed relations as far as the policy names no column that came since: such a one is new to
// the administrator's sync, not to the policy.
func (s surveyor) known(was *catalog.Schema) map[catalog.Name]*catalog.Table {
	known := map[catalog.Name]*catalog.Table{}
	for n, t := range was.Tables {
		if !slices.ContainsFunc(s.named(n), func(column string) bool { _, ok := t.Column(column); return !ok }) {
			known[n] = t
		}
	}
	return known
}

// named lists the columns of a table that the policy names.
func (s surveyor) named(n catalog.Name) (columns []string) {
	for _, t := range s.policy.Tables.Tables {
		if t.To.Table == n && t.To.Column != "" {
			columns = append(columns, t.To.Column)
		}
		if t.Name != n {
			continue
		}
		columns = append(columns, t.NotProtected...)
		columns = append(columns, t.ViaKey...)
		for _, c := range []string{t.UnitColumn, t.Via} {
			if c != "" {
				columns = append(columns, c)
			}
		}
		for c := range t.Columns {
			columns = append(columns, c)
		}
	}
	return columns
}

// relations names all tables and views of the policy.
func (s surveyor) relations() []catalog.Name {
	names := s.viewNames()
	for _, t := range s.policy.Tables.Tables {
		names = append(names, t.Name)
	}
	return names
}

// asConfirmed gives the relations that have changed since the last sync their form of then,
// but with neither an OID nor a fingerprint: a read cannot find them as they should be. A
// relation that was never confirmed stays as it is.
func asConfirmed(was, schema *catalog.Schema) {
	for n, t := range was.Tables {
		if has := schema.Tables[n]; has == nil || has.Fingerprint != t.Fingerprint {
			form := *t
			form.OID, form.Fingerprint = 0, ""
			schema.Tables[n] = &form
		}
	}
	for n, t := range was.Types {
		if schema.Types[n] == nil {
			schema.Types[n] = t
		}
	}
}

// otherForms refuses the relations that the mirror has with other columns than the policy shows, or as another kind.
func (s surveyor) otherForms(ctx context.Context, o *outlook, down *pgx.Conn) ([]catalog.Name, error) {
	schema := &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}}
	for _, n := range o.model.Relations() {
		schema.Tables[n] = o.model.Source(n)
	}
	others, err := s.mirrorPlanOf(o.model).OtherForms(ctx, down, schema)
	o.otherForm = map[catalog.Name]bool{}
	for _, n := range others {
		o.otherForm[n] = true
		if o.off[n] == nil {
			const text = "the mirror has other columns than the policy shows, or another kind of relation"
			o.off[n] = []mirror.Change{{Text: text, Told: "the mirror was made for another policy"}}
		}
	}
	return others, err
}

// why writes the changes for the administrator, and those that analysts may know for them.
func why(changes []mirror.Change) (text, told string) {
	var texts, tolds []string
	for _, c := range changes {
		texts = append(texts, c.Text)
		if c.Told != "" && !slices.Contains(tolds, c.Told) {
			tolds = append(tolds, c.Told)
		}
	}
	return strings.Join(texts, "; "), strings.Join(tolds, "; ")
}

// takes reports whether one of the changes takes something away.
func takes(changes []mirror.Change) bool {
	return slices.ContainsFunc(changes, func(c mirror.Change) bool { return c.Takes })
}

// syncItself makes the mirror as the database is by now, if nothing that has changed takes anything away. Known tables
// have their known columns and keys: there is nothing more to ask about than before. A mirror of another policy is made for this
// one only if the administrator has just said so.
func (s surveyor) syncItself(ctx context.Context, said bool, report func(string)) error {
	down, err := s.connectMirror(ctx)
	if err != nil {
		return err
	}
	defer down.Close(ctx)
	was, err := mirror.Confirmed(ctx, down)
	if err != nil || was == nil {
		return cmp.Or(err, errors.New("the mirror was never made"))
	}
	up, err := s.connectData(ctx)
	if err != nil {
		return err
	}
	defer up.Close(ctx)
	plan := s.mirrorPlan()
	plan.Known = s.known(was.Schema)
	schema, err := plan.Read(ctx, up)
	if err != nil {
		return err
	}
	model, problems := s.fit(plan, schema)
	if len(problems) > 0 {
		return s.annotate(problems)
	}
	known := plan.Known
	plan = s.mirrorPlanOf(model)
	if !said && !was.IsOf(plan) {
		return errors.New("the mirror was made for another policy")
	}
	plan.Known, plan.Accept = known, func(schema *catalog.Schema) error {
		if _, problems := s.fit(plan, schema); len(problems) > 0 {
			return s.annotate(problems)
		}
		for _, n := range s.relations() {
			if changes := plan.Changes(n, was.Schema, schema); takes(changes) {
				text, _ := why(changes)
				return fmt.Errorf("%v: %s", n, text)
			}
		}
		return nil
	}
	return mirror.Sync(ctx, up, down, plan, report)
}
