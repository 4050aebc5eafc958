package scalar

// Builtin returns a built-in type without a modifier.
func Builtin(oid uint32) Type { return typ(oid) }
