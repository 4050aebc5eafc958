package pgerr

import "slices"

//go:generate go run ./gen ../docs/errors.md

// Codes of Postgres itself, with Postgres's meaning.
var (
	FeatureNotSupported = declare("0A000", "feature_not_supported",
		"The statement is valid Postgres that dpproxy does not take, here or at all.")
	ProtocolViolation = declare("08P01", "protocol_violation",
		"The client sent a message that does not follow the protocol.")
	InvalidPassword = declare("28P01", "invalid_password",
		"The login failed. The same reply is given for a wrong password and an unknown user.")
	InvalidAuthorization = declare("28000", "invalid_authorization_specification",
		"This login is not allowed.")
	InvalidParameterValue = declare("22023", "invalid_parameter_value",
		"A dp. setting, or a setting at log-in, has a value that cannot be used.")
	InvalidLimit = declare("2201W", "invalid_row_count_in_limit_clause",
		"LIMIT has a negative number, by a parameter.")
	UndefinedObject = declare("42704", "undefined_object",
		"There is no dp. setting of that name, or no setting at log-in.")
	InsufficientPrivilege = declare("42501", "insufficient_privilege",
		"The analyst may not ask about this table, or may not change the setting.")
	CannotChange = declare("55P02", "cant_change_runtime_param",
		"A setting at log-in cannot be changed while Postgres runs.")
	Syntax = declare("42601", "syntax_error",
		"The statement, or options in a connection string, cannot be parsed.")
	ReservedName = declare("42939", "reserved_name",
		"The statement has a name that begins like those which dpproxy makes up.")
	StatementTooComplex = declare("54001", "statement_too_complex",
		"The statement is longer, or has a longer chain of operators, than dpproxy parses, or takes too much work to be planned. "+
			"Nothing was read.")
	CardinalityViolation = declare("21000", "cardinality_violation",
		"A sub-select that stands for one value has several rows. It was released and charged.")
	ProgramLimitExceeded = declare("54000", "program_limit_exceeded",
		"A limit of dpproxy is exceeded: message size, statements, portals, groups.")
	TooManyConnections = declare("53300", "too_many_connections",
		"No more connections are allowed, or too many statements wait for the protected database. Nothing was charged.")
	QueryCanceled = declare("57014", "query_canceled",
		"The statement was cancelled or ran out of time. What it was charged stays charged.")
	AdminShutdown = declare("57P01", "admin_shutdown",
		"dpproxy is shutting down.")
	IdleSession = declare("57P05", "idle_session_timeout",
		"The session was idle for longer than the policy allows.")
	IdleTransaction = declare("25P03", "idle_in_transaction_session_timeout",
		"A transaction was open without a statement for longer than the policy allows.")
	CannotConnectNow = declare("57P03", "cannot_connect_now",
		"The mirror database cannot be reached, or the one that knows the passwords of auth_query.")
	Internal = declare("XX000", "internal_error",
		"A defect of dpproxy. Nothing was released by the statement.")
)

// Codes of class PB: privacy.
var (
	BudgetExhausted = declare("PB001", "privacy_budget_exhausted",
		"The statement costs more than what is left of a privacy budget. Nothing was read or charged. The detail names the budget.")
	Unconfirmed = declare("PB018", "spending_not_confirmed",
		"The statement costs budget, and the session spends none unasked (dp.spend). Nothing was read or charged. "+
			"The message has the price.")
	RowAccess = declare("PB002", "protected_row_access",
		"The statement asks for rows of a protected table. Ask for an aggregate: count, sum, avg.")
	NoBounds = declare("PB003", "no_value_bounds",
		"A value has no bounds, and is used where they are needed: in a percentile, an extreme, a variance or a function, or in a sum "+
			"of a column that has no step either.")
	NotAllowed = declare("PB004", "not_allowed_on_protected_data",
		"A function, operator, type or clause is not on the list of those that may touch protected rows.")
	NoContribution = declare("PB006", "no_contribution_bound",
		"A fixed limit of contributions is asked for (dp.contribution), and neither the policy (max_rows_per_group) nor the session "+
			"(dp.max_rows) states one.")
	Ownership = declare("PB007", "ownership_unclear",
		"The rows of the statement do not each belong to exactly one privacy unit.")
	PrivateGroupKey = declare("PB008", "private_group_key",
		"The values of a grouping column are not public and cannot be selected by noise: the budget has no delta, their type does not "+
			"allow it, or each of them is of one privacy unit.")
	ReadFailed = declare("PB009", "protected_read_failed",
		"The read of protected data did not finish. The reason is withheld, since it may depend on the data. The charge stays.")
	ReadInterrupted = declare("PB017", "protected_read_interrupted",
		"The protected database ended the read, by a restart, a conflict or a lost connection, which says nothing about the data. "+
			"Ask the same again: it is paid, until it is answered.")
	Backstop = declare("PB010", "protected_relation",
		"A protected relation was reached in a place where dpproxy does not answer: a view, a function, DO, SQL in a string.")
	Quarantined = declare("PB011", "statement_quarantined",
		"A statement of this shape failed while it read protected data; it is refused until the administrator clears it.")
	Suspended = declare("PB012", "analyst_suspended",
		"Too many of this analyst's statements failed while they read protected data; the administrator must clear it.")
	SchemaChanged = declare("PB013", "protected_schema_changed",
		"A table is not as it was when the policy was checked, a public one has more rows for a value than its copy, "+
			"or the mirror was made for another policy. "+
			"The administrator must check again.")
	LedgerUnavailable = declare("PB014", "ledger_unavailable",
		"The privacy ledger cannot record a charge, so nothing is answered.")
	DataUnavailable = declare("PB015", "protected_data_unavailable",
		"The database with the protected data cannot be reached, does not take the statement now, or denies dpproxy a right. "+
			"Nothing was charged.")
	Imprecise = declare("PB016", "mechanism_out_of_range",
		"No allowed mechanism can serve this statement with these settings.")
)

// A Description documents one code.
type Description struct {
	Code    Code
	Name    string
	Meaning string
}

var descriptions []Description

func declare(state, name, meaning string) Code {
	c := Code{state}
	descriptions = append(descriptions, Description{c, name, meaning})
	return c
}

// Descriptions returns every declared code, in the order of this file.
func Descriptions() []Description { return slices.Clone(descriptions) }
