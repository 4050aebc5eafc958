package main

import (
	"context"

	"dpproxy/mirror"
)

// sync checks the policy against the database, makes the mirror, and proves that
// no protected relation can be read there.
func (s *site) sync(ctx context.Context, report func(string)) error {
	up, err := s.connectData(ctx)
	if err != nil {
		return err
	}
	defer up.Close(ctx)
	if err := checkRights(ctx, s.mirrorPlan(), up, report); err != nil {
		return err
	}
	cat, err := s.readCatalog(ctx, up)
	if err != nil {
		return err
	}
	down, err := s.connectMirror(ctx)
	if err != nil {
		return err
	}
	defer down.Close(ctx)
	if mirror.OnSameServer(ctx, up, down) {
		report(mirror.Warning + sameServer)
	}
	for _, line := range ofUnlisted(s.policy, cat) {
		report(line)
	}
	return mirror.Sync(ctx, up, down, s.mirrorPlanOf(cat), report)
}

// sameServer is the fault of a mirror on the server of the protected database.
const sameServer = "the mirror is on the server of the protected database, or that cannot be ruled out: " +
	"analysts can count what is written there (docs/operations.md); give the mirror a server of its own"
