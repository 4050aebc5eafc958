// Package attacks holds the attacks of analysts: shapes of statements that must look alike in
// worlds that differ in one person, and recipes of several statements against budgets,
// remembered answers and the protocol.
package attacks
