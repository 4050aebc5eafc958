module dpproxy/bench

go 1.26.0

require (
	dpproxy v0.0.0-00010101000000-000000000000
	github.com/google/differential-privacy/go/v3 v3.0.0
)

require (
	github.com/golang/glog v1.2.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace dpproxy => ../
