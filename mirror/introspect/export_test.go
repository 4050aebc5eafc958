package introspect

// CheckData takes a server_version_num.
var CheckData = checkData
