package protocol_test

import (
	"testing"

	"dpproxy/internal/sitetest"
)

func TestMain(m *testing.M) { sitetest.Main(m) }
