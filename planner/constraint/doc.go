// Package constraint judges which values of a column its type, its CHECK constraints and the CHECK constraints of its domain admit. It
// understands comparisons of the column with constants, combined by AND, OR and NOT; any other condition excludes nothing.
//
// The result decides only which remarks an answer has, and which values are proposed for a policy. It bounds no contribution and proves no
// key, because rows may violate a constraint: the constraints of foreign tables are not enforced, nor are those of a database that was
// restored in part.
package constraint
