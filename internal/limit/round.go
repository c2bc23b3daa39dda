package limit

import (
	"os"
	"runtime"
	"syscall"
)

// round waits for the network poller to come round. While goroutines are ready to run, the runtime looks for what the network
// has brought only every 10 ms; so whoever would make more of them ready first waits until it has looked, and
// everything that came before has run.
type round struct {
	in, out *os.File
	raw     syscall.RawConn // of in
}

func newRound() (*round, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	raw, err := in.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &round{in, out, raw}, nil
}

// wait writes into its pipe and returns when the poller has seen it. Where a pipe cannot be waited for, it yields.
func (r *round) wait() {
	var one [1]byte
	sent := false
	err := r.raw.Read(func(uintptr) bool {
		if sent {
			return true
		}
		_, err := r.out.Write(one[:])
		sent = err == nil
		return !sent
	})
	if err != nil || !sent {
		runtime.Gosched()
		return
	}
	_, _ = r.in.Read(one[:]) // it is there
}
