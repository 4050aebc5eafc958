package mechanisms_test

import (
	"testing"

	"dpproxy/internal/stattest"
)

func TestMain(m *testing.M) { stattest.Main(m) }
