// Package ddl has the objects of a mirror as values: for each kind of object, the statements that
// make and drop it, the query that tells whether it is there and sound, and the objects that it
// needs. It sends nothing and knows no policy: package mirror chooses the objects, orders them and
// carries them out.
//
// An existing mirror remembers the text of the statements: [Object.Digest] is kept beside each
// object that was made. An object whose text changes is made anew at every site, with all that
// needs it and its rows.
//
// # Nothing of value
//
// Constructors take names, types and flags of the catalogue, and write nothing else: no default, no
// CHECK text, no expression of a generated column or an index. The labels of an enum and the query
// of a view are written as far as the caller shows them.
package ddl
