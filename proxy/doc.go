// Package proxy is the path of a statement: text, plan, charge, read, release,
// rewrite. The path itself is execution.release in execution.go, and its order is the
// product: a statement is refused before it is charged, charged before a row is
// read, and rewritten with released values only.
//
// Between the packages it joins, this one decides these things alone: the words that a
// client reads when something fails (errors.go), the memory of a failure (incidents.go), the moments at which anything
// shows (veil.go), and who waits for whom: a statement for another one that draws the same (join.go), and a client for
// a read, which goes on without them (attend.go).
//
// The files, from the ground up, so that a file uses those before it; archtest counts the uses that run the other way:
//
//   - kept values: recent.go, cache.go (plans), relations.go (OIDs), account.go (costs of an answer), brief.go (in one line),
//     replayed.go (errors from replicas), path.go (the steps);
//   - words for clients: wrap.go, notice.go, copies.go (of public tables), instead.go, coarser.go, errors.go, incidents.go;
//   - sessions: aside.go (other ones on the mirror), session.go, allowance.go, grid.go and veil.go (when anything shows);
//   - dp.history, dp.budget and their kin: statenames.go, history.go;
//   - permission: grant.go, concealed.go, lists.go, prelude.go, destination.go, describe.go, fitting.go,
//     remark.go;
//   - a statement: proxy.go, metered.go (planning that takes too long ends), execution.go (the path), probe.go, explain.go, execute.go,
//     consent.go, binding.go, join.go, let.go (statements that use released results), drawing.go, attend.go, read.go,
//     publishing.go (results that stay in published tables),
//     beside.go (columns of errors),
//     replaying.go (the query above the blocks, over replicas);
//   - statements of other kinds: estimation.go, forecast.go, surveying.go, refuse.go;
//   - the proxy, and which kind a text is: localstate.go, state.go, advice.go, watch.go, widen.go, screen.go, front.go.
package proxy
