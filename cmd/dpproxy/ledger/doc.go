// Package ledger has the ledger of a policy, embedded or in Redis, and the commands about it: dpproxy init, budget, ledger and
// incidents.
//
// [Books] find the ledger and look at it. [Open] opens it to be charged, as long as the marks at other places show that it is the latest
// copy. [Rule] has it take the budgets of a policy. Decisions of an administrator go to the dpproxy that runs, over a socket, and
// otherwise into the files or Redis.
package ledger
