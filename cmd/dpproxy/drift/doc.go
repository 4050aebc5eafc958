// Package drift compares the policy of a site with the protected database as it is, and as the last sync confirmed it. A relation that
// has changed since is refused, with the reason, until a sync takes the change over. A mirror that shows more than the policy permits
// is an error, and nobody is served.
package drift
