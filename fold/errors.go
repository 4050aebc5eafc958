package fold

import "errors"

// errRow says that a row does not fit the Spec. It says no more, since the row is somebody's.
var errRow = errors.New("fold: a row is not of the form that was asked for")

// errBroken replaces the text of a defect, which could reveal rows.
var errBroken = errors.New("fold: a row could not be taken")

// guard turns a panic into errBroken.
func guard(err *error) {
	if recover() != nil {
		*err = errBroken
	}
}
