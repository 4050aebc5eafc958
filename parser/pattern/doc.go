// Package pattern makes tests of plain SQL from regular expressions.
//
// Postgres makes an automaton of a regular expression when the first row needs it. For one row that takes as long as for a thousand, and
// the analyst chooses how long. So no regular expression is ever sent to the protected database. [Compile] reads an expression as Postgres
// does, and describes the texts that match it by tests with a fixed cost for each row: LIKE, and tests of which characters a part of the
// text has. An expression that such tests cannot describe exactly is refused.
//
//	^[A-Z][0-9]{2}\.[0-9]$   x LIKE '___._' AND ltrim(left(x, 1), 'AB...') = '' AND ltrim(substr(x, 2, 2), '01...') = ''
//	                                       AND ltrim(right(x, 1), '01...') = ''
//	^/product/[0-9]+$        x LIKE '/product/_%' AND ltrim(substr(x, 10), '01...') = ''
//	mg[0-9]                  translate(x, '123456789', '000000000') LIKE '%mg0%'
//
// An expression becomes sequences of items, one of which a text must match. An item is a number of characters of one set. Alternatives and
// short repetitions are written out. If ^ or $ is missing, the sequence begins or ends with any characters. An item next to .* matches as
// little as it can, and loses its + and *.
//
// In a sequence, the place of each character is known from the beginning up to the first item of variable length, and from the end back to
// the last such item. If there is only one, it matches everything between. If there are several, the first one is cut off where it must
// end: where the next item cannot begin with any of its characters. The last one is cut off in the same way, from the end.
package pattern
