// Package pattern has tests of plain SQL that stand for regular expressions.
//
// Postgres makes an automaton of a regular expression, when the first row asks for it and as it is asked: for
// one row that takes as long as for a thousand, and how long is the analyst's choice. So none is ever sent to the
// protected database. [Compile] reads an expression as Postgres does, and writes down which texts match it as
// tests that cost so much for each row: LIKE of patterns, and of which characters a part of the text consists.
// An expression that cannot be said so exactly is refused.
//
//	^[A-Z][0-9]{2}\.[0-9]$   x LIKE '___._' AND ltrim(left(x, 1), 'AB...') = '' AND ltrim(substr(x, 2, 2), '01...') = ''
//	                                       AND ltrim(right(x, 1), '01...') = ''
//	^/product/[0-9]+$        x LIKE '/product/_%' AND ltrim(substr(x, 10), '01...') = ''
//	mg[0-9]                  translate(x, '123456789', '000000000') LIKE '%mg0%'
//
// An expression becomes sequences of items, each so many characters of a set, of which a text must match one:
// alternatives and short repetitions are written out. Where ^ or $ is missing, any characters stand there. An item
// beside .* matches as little as it can, and loses its + and *.
//
// In a sequence the place of each character is known up to the first item of variable length, and from the end back to
// the last. One such item matches all that is left between. Of several, the first one is cut off where it must end:
// where the next cannot begin with any of its characters. The same from the end.
package pattern
