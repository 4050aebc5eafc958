// Package serve serves analysts.
//
// A [Host] is a site that serves. A generation serves by one policy and one schema: it has their connections and their Proxy. A service has
// a current generation. It replaces it when the policy is reloaded, when the mirror is remade, and when the schema changes. While the
// mirror shows more than the policy permits, the service admits nobody.
package serve
