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

func TestASecondSignalEndsAtOnceUnlessItIsTheSameGesture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		stopped, ended := false, false
		go heed(signals, func() { stopped = true }, func() { ended = true })
		send := func() {
			signals <- syscall.SIGTERM
			synctest.Wait()
		}
		synctest.Wait()
		if stopped {
			t.Error("stopped without a signal")
		}
		send()
		send()
		if !stopped || ended {
			t.Errorf("after a signal that came twice: stopped %v, ended %v", stopped, ended)
		}
		time.Sleep(sameGesture)
		send()
		if !ended {
			t.Error("the second signal did not end it")
		}
	})
}
