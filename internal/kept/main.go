// Command kept names the functions that no command reaches and that stay, each with its use.
// It is never run: "make lint" takes it for a command when it looks for unreachable code, so
// that a function is reached by a command, named here, or gone. A line leaves this file once
// a command reaches the function.
package main

import (
	"dpproxy/accountant"
	"dpproxy/accountant/pld"
	"dpproxy/brdp"
	"dpproxy/internal/pgtemp"
	"dpproxy/mechanisms"
)

func main() {
	keep(
		// A report of the spent budget as an (ε, δ), which is tighter than the ledger's sum, and for groups of units.
		pld.Report, pld.Distribution.Delta, pld.Compose, pld.FromPair, accountant.GroupPrivacy,

		// Standing alerts, which search for the first answer above a threshold.
		mechanisms.NewAboveThreshold, mechanisms.AboveThreshold.Event, mechanisms.AboveThreshold.String,
		mechanisms.AboveThreshold.Begin, (*mechanisms.Search).Above, (*mechanisms.Search).Halted,

		// The cheapest and the most accepted of all recycled noise, with which bench/ compares the planner's choice.
		(*brdp.Designer).Cheapest, (*brdp.Designer).MostAccepted, (*brdp.Designer).MostAcceptedApproximate,

		// Tests of several packages start a server for each side.
		pgtemp.StartPair,

		// A test of sessions has the machine of a client be gone without a word.
		pgtemp.Deafen,

		// Tests of changes of the schema change it while a transaction waits for a lock.
		pgtemp.Blocks, pgtemp.Waits,
	)
}

func keep(...any) {}
