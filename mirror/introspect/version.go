package introspect

import "fmt"

// The versions of Postgres whose catalogues are known, by their first numbers: those that the
// tests run on. Another may have something that no proof here knows of.
const (
	Oldest = 13
	Newest = 18
)

// A VersionError refuses a server of a version that is not served.
type VersionError struct {
	Server string // the protected database, or the mirror
	// Major is the server's version, Oldest the first that is served for it.
	Major, Oldest int
}

// Error tells the administrator how to mend it.
func (e *VersionError) Error() string {
	if e.Major < e.Oldest {
		return fmt.Sprintf("the %s is Postgres %d; it must be %d to %d: upgrade it", e.Server, e.Major, e.Oldest, Newest)
	}
	return fmt.Sprintf("the %s is Postgres %d, which this dpproxy does not know; it must be %d to %d: use a dpproxy that knows Postgres %d",
		e.Server, e.Major, e.Oldest, Newest, e.Major)
}

// CheckVersion takes a server_version_num, and returns a [VersionError] unless its version is
// oldest to Newest.
func CheckVersion(server string, version, oldest int) error {
	if major := version / 10000; major < oldest || major > Newest {
		return &VersionError{server, major, oldest}
	}
	return nil
}

// checkData refuses a real database of a version that is not served.
func checkData(version int) error { return CheckVersion("protected database", version, Oldest) }
