package site

import (
	"context"

	"dpproxy/mirror"
)

// Sync checks the policy against the database, makes the mirror, and proves that
// no protected relation can be read there.
func (s *Site) Sync(ctx context.Context, report func(string)) error {
	up, err := s.ConnectData(ctx)
	if err != nil {
		return err
	}
	defer up.Close(ctx)
	if err := CheckRights(ctx, s.MirrorPlan(), up, report); err != nil {
		return err
	}
	cat, err := s.ReadCatalog(ctx, up)
	if err != nil {
		return err
	}
	down, err := s.ConnectMirror(ctx)
	if err != nil {
		return err
	}
	defer down.Close(ctx)
	if mirror.OnSameServer(ctx, up, down) {
		report(mirror.Warning + SameServer)
	}
	for _, line := range Unlisted(s.Policy, cat) {
		report(line)
	}
	return mirror.Sync(ctx, up, down, s.MirrorPlanOf(cat), report)
}

// SameServer is the fault of a mirror on the server of the protected database.
const SameServer = "the mirror is on the server of the protected database, or that cannot be ruled out: " +
	"analysts can count what is written there (docs/operations.md); give the mirror a server of its own"
