// Package auth finds the verifiers by which analysts log in: in the policy, or by its auth_query. The query must not read a protected
// relation, and neither its time nor its failures tell who is an analyst.
package auth
