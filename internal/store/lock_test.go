package store

import (
	"errors"
	"testing"
)

func TestLockAllowsOneServerPerDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}

	_, second := Lock(dir)
	if !errors.Is(second, ErrLocked) {
		t.Errorf("second server: %v, want ErrLocked", second)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatalf("after the first server ended: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}
