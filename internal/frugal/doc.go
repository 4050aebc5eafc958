// Package frugal has sockets and alarms that disturb Go's scheduler little. A statement that is
// passed on, or that reads a small table, takes less work of ours than the scheduler spends on waking
// threads for it.
package frugal
