// Package memory knows earlier releases. The question of a block has all that its release
// depends on. Where an error is asked for, the question does not name it: whoever asks for a larger
// one is shown the same, and whoever asks for a smaller one pays for the rounds that are missing.
// Each read that adds measurements is a generation of its own, and the last one has all of them.
package memory
