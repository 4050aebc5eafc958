// Package answers remembers releases, so that the same question costs
// nothing the second time: a dashboard that refreshes all day pays once.
//
// A [Release] has the released integers of one release block, with the keys of its
// groups where those were released too, under a [Key], which covers all that they depend
// on: the SQL of the read and its constants, the noise, the policy and the schema, the
// secret, and the data epoch. A second draw for the same key would be a second release; a
// remembered one is post-processing of the first. It is kept as JSON with a version.
//
// A [Store] may forget at any time, and keeps a bounded number of releases, the
// latest used. That costs budget later and never privacy. A release that it returns was put
// there whole: a damaged one is none. Whoever may write to its files or keys can
// make it lie to analysts, but not learn from it anything that was not released.
package answers
