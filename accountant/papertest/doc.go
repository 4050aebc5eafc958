// Package papertest has quantities that papers give beside a ledger: the privacy loss of one
// answer at the moment it stopped, the calibration of continuous noise, and how many questions
// one object answers. Tests compare
// the core with it; nothing is charged or released by it, and nothing but tests imports it.
package papertest
