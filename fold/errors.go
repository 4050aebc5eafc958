package fold

import "errors"

// errRow says that a row is none of the Spec. It has no more to tell: the row is somebody's.
var errRow = errors.New("fold: a row is not of the form that was asked for")

// errBroken stands for a defect, whose own words could tell of rows.
var errBroken = errors.New("fold: a row could not be taken")

// guard makes one error of a defect.
func guard(err *error) {
	if recover() != nil {
		*err = errBroken
	}
}
