package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/pgerr"
)

func TestPageIsUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page(pgerr.Descriptions())), string(got)); diff != "" {
		t.Errorf("docs/errors.md is stale; run go generate ./pgerr (-want +got):\n%s", diff)
	}
}
