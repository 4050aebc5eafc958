// Package answers remembers releases, so that the same question costs nothing the second time: a dashboard that refreshes all day pays
// once.
//
// A [Release] has the released integers of one release block, and the keys of its groups if they were released too. It is stored under a
// [Key], which covers everything that the integers depend on: the SQL of the read and its constants, the noise, the policy and the schema,
// the secret, and the data epoch. A second draw for the same key would be a second release; a remembered release is post-processing of the
// first. It is kept as JSON with a version.
//
// A [Store] may forget at any time. It keeps a bounded number of releases, the latest used. Forgetting costs budget later and never
// privacy. A release that a Store returns was put there whole: a damaged release is not returned. Someone who can write to its files or
// keys can make it lie to analysts, but cannot learn from it anything that was not released.
package answers
