// Package replay finds the errors of values that a statement computes above released relations: of a sum of groups, a share, a rank.
//
// The noise of a release has a public law, and all that stands above it is a function of released integers. So the statement is evaluated
// again over replicas: the released integers with fresh noise of the same law. How far an outcome moves there says how far the answer may
// be from the truth ([estimate.Replay]). Replicas are functions of released integers and public numbers, so they cost nothing and tell
// nothing more; nothing here sees an exact value.
//
// The noise of a replica follows from the question, its law and the released integers, so that an answer that is remembered has the same
// errors again, and a release that stands in two places has the same noise in both.
//
// All replicas are evaluated by one call on the mirror, in the client's session, with the same tables and settings. The call cannot raise:
// a replica that raises, as by dividing by a noisy zero, is left out. It changes nothing, since each batch of replicas is undone.
package replay
