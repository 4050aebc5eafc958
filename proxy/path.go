package proxy

// A step is one step of the path of a protected statement, by its place there.
type step int

const (
	stepScreen step = iota
	stepParse
	stepLet
	stepResolve
	stepPrelude
	stepDescribe
	stepPlan
	stepRecall
	stepOpen
	stepReserve
	stepRead
	stepRelease
	stepLeave
	stepSettle
	stepRemember
	stepReplay
	stepRewrite
	stepBind
)

// sight is how much of protected rows a step may see.
type sight string

const (
	nothing    sight = "no"
	statistics sight = "statistics"
	rows       sight = "**yes**"
	noise      sight = "ends here"
)

// A rule tells the work of a step, and its rights.
type rule struct {
	name string
	does string
	// where are the files and packages of it.
	where []string
	// charges says that the step may debit budgets.
	charges bool
	sees    sight
}

// path has the rule of each step. A test holds executions to it, and writes the table in
// ARCHITECTURE.md from it.
var path = [...]rule{
	stepScreen: {
		"screen", "read the message, find statements that mention a protected name; leading comments set, EXECUTE is looked up",
		[]string{"wire/requests.go", "wire/run.go", "proxy/screen.go", "proxy/settings", "proxy/execute.go"},
		false, nothing,
	},
	stepParse: {
		"parse", "expand views, find the *release blocks* (smallest SELECT that aggregates protected rows), prove the splice",
		[]string{"parser/parse.go", "parser/views.go", "parser/blocks.go", "parser/sorts.go", "parser/splice.go"},
		false, nothing,
	},
	stepLet: {
		"let", "of a statement that uses released results, or public rows as constants: plan its *bindings* and its body, at one price; " +
			"then each binding goes the rest of the path by itself, and its result stands in what uses it; the body is last (decision 34)",
		[]string{"parser/let.go", "parser/let_seek.go", "parser/let_result.go", "proxy/let.go", "proxy/binding.go"},
		false, nothing,
	},
	stepResolve: {
		"resolve", "FROM and WHERE become a *source* whose rows each belong to one unit; resolve expressions, bound them, " +
			"make them total; allow or refuse every node",
		[]string{"planner/analyze.go", "planner/source", "planner/scalar"},
		false, nothing,
	},
	stepPrelude: {
		"prelude", "settings, relation OIDs, constants and the lists of public groups, evaluated in the client's own mirror session",
		[]string{"proxy/prelude.go", "proxy/lists.go", "planner/groups.go", "planner/lists.go"},
		false, nothing,
	},
	stepDescribe: {
		"describe", "the result has a place to stay, and the rewritten statement has the columns of the original, says the mirror",
		[]string{"proxy/destination.go", "proxy/describe.go"},
		false, nothing,
	},
	stepPlan: {
		"plan", "for each *grouping set*: contributions, statistics, mechanisms, then the SQL for DATA, and how rows are folded",
		[]string{
			"planner/specialize.go", "planner/grouping_set.go", "planner/statistic.go", "planner/assign.go",
			"planner/read.go", "planner/read_writer.go", "planner/folded.go", "planner/folded_sums.go",
		},
		false, nothing,
	},
	stepRecall: {
		"recall", "look for what was released before: it is not read again; what costs must be wanted (`dp.spend`); what another " +
			"statement draws is waited for",
		[]string{"proxy/memory", "answers", "proxy/consent.go", "proxy/join.go", "proxy/flight"},
		false, nothing,
	},
	stepOpen: {
		"open", "take a session, claim the question (decision 23), lock the tables, compare their fingerprints in the snapshot of the " +
			"read, have the rest planned by DATA, and compare what no lock excludes (`mirror/steady`); from here on a *veil* hides what " +
			"changes (decision 13)",
		[]string{"proxy/read.go", "proxy/join.go", "proxy/reader", "proxy/veil.go"},
		false, statistics,
	},
	stepReserve: {
		"reserve", "**charge** every budget, durably, all or nothing: the whole cost, or a hold of which each round takes its part",
		[]string{"proxy/drawing.go", "proxy/cashier", "accountant/logledger"},
		true, nothing,
	},
	stepRead: {
		"read", "read exact integers, or rows of which `fold` makes them, and put them in their partitions, of private ones those that " +
			"selection keeps; it goes on when its client leaves",
		[]string{"proxy/attend.go", "proxy/reader/reading.go", "fold", "proxy/reader/collect.go"},
		false, rows,
	},
	stepRelease: {
		"release", "choose limits, add noise, round by round: nothing outside `mechanisms` looks into a `Private`; each further " +
			"round is charged before it is drawn",
		[]string{"proxy/drawing.go", "proxy/release", "proxy/reader/exact.go"},
		true, noise,
	},
	stepLeave: {
		"leave", "hold the reply back until the next point of the grid of times, and with it all that analysts can see: " +
			"history, memory, balances, incidents, the queue",
		[]string{"proxy/grid.go", "proxy/veil.go"},
		false, nothing,
	},
	stepSettle:   {"settle", "give back what no round has cost", []string{"proxy/cashier/payment.go"}, false, nothing},
	stepRemember: {"remember", "keep what was released, for the same question", []string{"proxy/memory", "answers"}, false, nothing},
	stepReplay: {
		"replay", "evaluate the query above the blocks over replicas of the released integers, for errors that no formula has, and " +
			"put errors into the columns that keep places for them",
		[]string{
			"proxy/replaying.go", "proxy/replay", "parser/marks", "estimate/replay.go", "estimate/gathered.go", "planner/redrawn.go",
			"planner/shifts.go", "proxy/beside.go",
		},
		false, nothing,
	},
	stepRewrite: {
		"rewrite", "make totals agree, compute each cell from the released integers, with its error",
		[]string{"planner/margins.go", "planner/columns.go", "planner/estimator.go", "planner/errorbar.go", "estimate"},
		false, nothing,
	},
	stepBind: {
		"bind", "let a published table keep a record of its result; bind the client's portal to the rewritten statement; Postgres does " +
			"the rest on the mirror",
		[]string{"proxy/publishing.go", "wire/extended.go", "wire/simple.go"},
		false, nothing,
	},
}
