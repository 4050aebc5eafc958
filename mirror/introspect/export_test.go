package introspect

// FingerprintSQL is the query of FingerprintOf with the OIDs as its parameter.
const FingerprintSQL = fingerprintSQL

// CheckData takes a server_version_num.
var CheckData = checkData
