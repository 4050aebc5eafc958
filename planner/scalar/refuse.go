package scalar

import "dpproxy/pgerr"

func notAllowed(what string, at int) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, "%s is not allowed on protected data", what).At(at).
		WithHint("Write the condition without it, or apply it to the result of the aggregate.")
}

func notUTF8(what string, at int) error {
	return pgerr.New(pgerr.NotAllowed, "%s is not allowed on protected data that is not encoded in UTF8", what).At(at).
		WithHint("A text that is not valid in the database's locale would make it fail.")
}
