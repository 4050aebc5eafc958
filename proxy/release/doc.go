// Package release turns exact aggregates into released ones, round by round. A [Run] has a method
// for each grouping set: most release each integer with its noise, in one round; those of a
// statement that asks for an error measure again and again, ever more precisely, until the
// releases show that it is reached.
//
// A round is drawn after it was paid for, and values leave only in the end: whoever goes away,
// cancels, or makes a round fail has paid for all that was drawn and has seen nothing.
package release
