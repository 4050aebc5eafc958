// Package serve serves analysts.
//
// A [Host] is a site that serves. A generation is all that serves by one policy and one schema: its connections, and its Proxy. A service
// has the generation of now, and replaces it when the policy is reloaded, the mirror is made anew, or the schema changes; it shuts the
// door while the mirror shows more than the policy permits.
package serve
