// Package papertest has quantities that papers give beside a ledger: the privacy loss of one
// answer at the moment it stopped, and the calibration of continuous noise. Tests compare
// the core with it; nothing is charged or released by it, and nothing but tests imports it.
package papertest
