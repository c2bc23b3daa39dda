package main

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSecondSignalExitsImmediatelyUnlessDuplicate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		stopped, exited := false, false
		go handleSignals(signals, func() { stopped = true }, func() { exited = true })
		send := func() {
			signals <- syscall.SIGTERM
			synctest.Wait()
		}
		synctest.Wait()
		if stopped {
			t.Error("stop was called without a signal")
		}
		send()
		send()
		if !stopped || exited {
			t.Errorf("after a duplicate signal: stopped = %v, exited = %v, want true and false", stopped, exited)
		}
		time.Sleep(duplicateWindow)
		send()
		if !exited {
			t.Error("the second signal did not exit")
		}
	})
}
