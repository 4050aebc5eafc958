package drift

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/policy"
)

// A Surveyor compares the policy of a site with the protected database as it is, and as it was confirmed.
type Surveyor struct{ *site.Site }

// Of returns the surveyor of a site.
func Of(s *site.Site) Surveyor { return Surveyor{s} }

// An Outlook is the policy joined with the schema that was confirmed, and the relations
// that are refused since they are not as they were then.
type Outlook struct {
	Model *policy.Model
	// Confirmed names the mirror as it was made, and Recorded the record of that.
	Confirmed, Recorded string
	// Off are the relations that are refused, with the reasons.
	Off map[catalog.Name][]mirror.Change
	// otherForm are the relations that the mirror has in another form than the policy.
	otherForm map[catalog.Name]bool
	// Misfits are the problems of a policy that does not fit any more.
	Misfits []policy.Problem
}

// Look checks the policy against the protected database and the mirror, for serving. Tables are taken as they were confirmed:
// columns and keys that came since are not there. A relation that has changed otherwise is refused. The policy has to fit the
// confirmed form then, so that nothing is planned or proved by another. A mirror that shows more than the policy permits ends in
// an error.
func (s Surveyor) Look(ctx context.Context) (*Outlook, error) {
	up, err := s.ConnectData(ctx)
	if err != nil {
		return nil, err
	}
	defer up.Close(ctx)
	down, err := s.ConnectMirror(ctx)
	if err != nil {
		return nil, err
	}
	defer down.Close(ctx)
	return s.compare(ctx, up, down)
}

func (s Surveyor) compare(ctx context.Context, up, down *pgx.Conn) (*Outlook, error) {
	o := &Outlook{Off: map[catalog.Name][]mirror.Change{}}
	was, err := s.record(ctx, down, o)
	if err != nil {
		return nil, err
	}
	plan := s.MirrorPlan()
	plan.Known = s.Known(was.Schema)
	schema, err := plan.Read(ctx, up)
	if err != nil {
		return nil, err
	}
	if schema.TimeZones, err = introspect.TimeZones(ctx, up); err != nil {
		return nil, fmt.Errorf("reading the time zones: %w", err)
	}
	for _, n := range s.Relations() {
		if changes := plan.Changes(n, was.Schema, schema); len(changes) > 0 {
			o.Off[n] = changes
		}
	}
	faults, err := mirror.Faults(ctx, up, plan, schema)
	if err != nil {
		return nil, err
	}
	if _, problems := s.Fit(plan, schema); len(problems) > 0 {
		whole, err := s.MirrorPlan().Read(ctx, up)
		if err != nil {
			return nil, err
		}
		_, o.Misfits = s.Fit(plan, whole)
		asConfirmed(was.Schema, schema)
	}
	var problems []policy.Problem
	if o.Model, problems = s.Fit(plan, schema); len(problems) > 0 {
		return nil, s.Annotate(problems)
	}
	now, err := mirror.ReadOrigins(ctx, up, was.Schema)
	if err != nil {
		return nil, err
	}
	if err := mirror.Prove(ctx, down, s.MirrorPlanOf(o.Model), was.Schema, now); err != nil {
		return nil, err
	}
	if err := s.refuse(ctx, o, down, was, faults); err != nil {
		return nil, err
	}
	if was.Outdated() {
		if err := mirror.Raise(ctx, down, s.MirrorPlanOf(o.Model)); err != nil {
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
	if schema.PublicLengths, err = mirror.MeasureTexts(ctx, down, schema.PublicRows); err != nil {
		return nil, err
	}
	o.Model, _ = s.Fit(plan, schema) // with the sizes, which are no problem
	return o, nil
}

// record reads what was confirmed, and notes its names in the outlook.
func (s Surveyor) record(ctx context.Context, down *pgx.Conn, o *Outlook) (was *mirror.Confirmation, err error) {
	if o.Confirmed, err = mirror.ConfirmedAs(ctx, down); err != nil {
		return nil, err
	}
	if was, err = mirror.Confirmed(ctx, down); err != nil {
		return nil, err
	}
	if was == nil {
		return nil, errors.New("the mirror was not made by this version of dpproxy: run dpproxy sync")
	}
	if err := mirror.CheckSite(ctx, down, s.MirrorPlan()); err != nil || was.Outdated() {
		return was, err
	}
	o.Recorded, err = mirror.RecordedAs(ctx, down)
	return was, err
}

// refuse refuses the relations that are otherwise on the mirror, or whose rows may be those of others. Of a mirror that an earlier
// version has made nothing must be so, since that version copied rows without asking for all.
func (s Surveyor) refuse(ctx context.Context, o *Outlook, down *pgx.Conn, was *mirror.Confirmation, faults []*mirror.SourceError) error {
	const earlier = "the mirror was made by an earlier dpproxy, and cannot be taken over as it is: %s: run dpproxy sync"
	for _, f := range faults {
		if was.Earlier {
			return &mirror.UnsafeError{Reason: fmt.Sprintf(earlier, f.Message)}
		}
		o.Off[f.Table] = append(o.Off[f.Table], mirror.Change{Text: f.Message, Told: "the relations that it shows rows of", Takes: true})
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

// Permitted proves by the catalogue of the mirror that it shows nothing that the policy does not permit, and by that of the protected
// database too, where it is there. An error of another kind than [mirror.UnsafeError] says that something could not be read.
func (s Surveyor) Permitted(ctx context.Context) error {
	if err := s.ProveShown(ctx, nil); err != nil {
		return err
	}
	up, err := s.ConnectData(ctx)
	if err != nil {
		return err
	}
	defer up.Close(ctx)
	return s.ProveShown(ctx, up)
}

// ProveShown is that proof, by names alone without a connection to the protected database.
func (s Surveyor) ProveShown(ctx context.Context, up *pgx.Conn) error {
	down, err := s.ConnectMirror(ctx)
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
	return mirror.ProveShown(ctx, down, s.MirrorPlan(), was.Schema, now)
}

// Known are the confirmed relations as far as the policy names no column that came since: such a one is new to
// the administrator's sync, not to the policy.
func (s Surveyor) Known(was *catalog.Schema) map[catalog.Name]*catalog.Table {
	known := map[catalog.Name]*catalog.Table{}
	for n, t := range was.Tables {
		if !slices.ContainsFunc(s.named(n), func(column string) bool { _, ok := t.Column(column); return !ok }) {
			known[n] = t
		}
	}
	return known
}

// named lists the columns of a table that the policy names.
func (s Surveyor) named(n catalog.Name) (columns []string) {
	for _, t := range s.Policy.Tables.Tables {
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

// Relations names all tables and views of the policy.
func (s Surveyor) Relations() []catalog.Name {
	names := s.ViewNames()
	for _, t := range s.Policy.Tables.Tables {
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
func (s Surveyor) otherForms(ctx context.Context, o *Outlook, down *pgx.Conn) ([]catalog.Name, error) {
	schema := &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}}
	for _, n := range o.Model.Relations() {
		schema.Tables[n] = o.Model.Source(n)
	}
	others, err := s.MirrorPlanOf(o.Model).OtherForms(ctx, down, schema)
	o.otherForm = map[catalog.Name]bool{}
	for _, n := range others {
		o.otherForm[n] = true
		if o.Off[n] == nil {
			const text = "the mirror has other columns than the policy shows, or another kind of relation"
			o.Off[n] = []mirror.Change{{Text: text, Told: "the mirror was made for another policy"}}
		}
	}
	return others, err
}

// Why writes the changes for the administrator, and those that analysts may know for them.
func Why(changes []mirror.Change) (text, told string) {
	var texts, tolds []string
	for _, c := range changes {
		texts = append(texts, c.Text)
		if c.Told != "" && !slices.Contains(tolds, c.Told) {
			tolds = append(tolds, c.Told)
		}
	}
	return strings.Join(texts, "; "), strings.Join(tolds, "; ")
}

// Takes reports whether one of the changes takes something away.
func Takes(changes []mirror.Change) bool {
	return slices.ContainsFunc(changes, func(c mirror.Change) bool { return c.Takes })
}

// SyncItself makes the mirror as the database is by now, if nothing that has changed takes anything away. Known tables
// have their known columns and keys: there is nothing more to ask about than before. A mirror of another policy is made for this
// one only if the administrator has just said so.
func (s Surveyor) SyncItself(ctx context.Context, said bool, report func(string)) error {
	down, err := s.ConnectMirror(ctx)
	if err != nil {
		return err
	}
	defer down.Close(ctx)
	was, err := mirror.Confirmed(ctx, down)
	if err != nil || was == nil {
		return cmp.Or(err, errors.New("the mirror was never made"))
	}
	up, err := s.ConnectData(ctx)
	if err != nil {
		return err
	}
	defer up.Close(ctx)
	plan := s.MirrorPlan()
	plan.Known = s.Known(was.Schema)
	schema, err := plan.Read(ctx, up)
	if err != nil {
		return err
	}
	model, problems := s.Fit(plan, schema)
	if len(problems) > 0 {
		return s.Annotate(problems)
	}
	known := plan.Known
	plan = s.MirrorPlanOf(model)
	if !said && !was.IsOf(plan) {
		return errors.New("the mirror was made for another policy")
	}
	plan.Known, plan.Accept = known, func(schema *catalog.Schema) error {
		if _, problems := s.Fit(plan, schema); len(problems) > 0 {
			return s.Annotate(problems)
		}
		for _, n := range s.Relations() {
			if changes := plan.Changes(n, was.Schema, schema); Takes(changes) {
				text, _ := Why(changes)
				return fmt.Errorf("%v: %s", n, text)
			}
		}
		return nil
	}
	return mirror.Sync(ctx, up, down, plan, report)
}
