package sdk

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"sync"
	"time"

	"fairlead.dev/test/harness"
)

// Limits of a client program. They do not depend on how busy the machine is: the time limit applies only while the program and its
// children use almost no processor time. Otherwise, the processor time is limited.
const (
	maxWaiting = 2 * time.Minute  // maximum time without a request to the vendor and without output
	maxWorking = 10 * time.Minute // processor time of the whole run
)

var (
	errWaiting = errors.New("the program made no progress")
	errWorking = errors.New("the program used too much processor time")
)

// output collects the output of a program.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// runWatched runs a program until it ends or exceeds the limits. requests returns the number of requests that the vendor received.
func runWatched(ctx context.Context, cmd *exec.Cmd, requests func() int) (string, error) {
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	harness.OwnGroup(cmd)
	cmd.WaitDelay = 10 * time.Second // a child that is still running may keep the output open
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer harness.KillGroup(cmd) // some agents leave a server running
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	const interval = 2 * time.Second
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	progress, worked, waited := 0, time.Duration(0), time.Duration(0)
	for {
		var reason error
		select {
		case err := <-ended:
			if errors.Is(err, exec.ErrWaitDelay) {
				err = nil
			}
			return out.String(), err
		case <-ctx.Done():
			reason = ctx.Err()
		case <-ticker.C:
			now, cpu := requests()+len(out.String()), harness.GroupCPU(cmd)
			switch {
			case now != progress:
				waited = 0
			case cpu-worked < interval/50:
				waited += interval
			}
			progress, worked = now, cpu
			switch {
			case waited >= maxWaiting:
				reason = errWaiting
			case worked >= maxWorking:
				reason = errWorking
			}
		}
		if reason != nil {
			harness.KillGroup(cmd)
			<-ended
			return out.String(), reason
		}
	}
}
