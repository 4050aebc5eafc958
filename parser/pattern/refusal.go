package pattern

// A RefusedError names a part of an expression that plain SQL cannot express, and says how to write it otherwise.
type RefusedError struct{ What, Hint string }

// Error implements error.
func (r *RefusedError) Error() string { return r.What + " is not known here" }

func refuse(what, hint string) error { return &RefusedError{what, hint} }

var (
	errUnknown = refuse("this regular expression",
		"Write a sequence of characters, sets such as [0-9], and .*, of which each part ends where the next cannot begin; "+
			"or group by the column and search in the result.")
	errTooMany = refuse("a regular expression of more than 32 alternatives", "Write fewer, or several that OR joins.")
	errTooLong = refuse("so long a regular expression", "Write several shorter ones that AND or OR joins.")
)
