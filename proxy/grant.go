package proxy

import (
	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// checkGrants refuses relations that the analyst may not ask about. Whoever may ask
// about a view needs no right to its tables, as in Postgres: their names stand where
// the view's does, behind it.
func checkGrants(named []ast.TableRef, granted map[catalog.Name]bool) error {
	for _, t := range written(named) {
		if !granted[tableName(t)] {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s", t.Resolved.Name).At(t.At)
		}
	}
	return nil
}

// written are the relations that the client wrote, without those behind its views.
func written(named []ast.TableRef) (all []ast.TableRef) {
	views := map[int]bool{} // the places of the views
	for _, t := range named {
		if !views[t.At] {
			views[t.At] = t.Resolved.View != ""
			all = append(all, t)
		}
	}
	return all
}
