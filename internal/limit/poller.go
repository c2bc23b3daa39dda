package limit

import (
	"os"
	"runtime"
	"syscall"
)

// poller waits for the runtime's network poller to come round. While goroutines are ready to run, it looks for what the network
// has brought only every 10 ms; so whoever would make more of them ready first waits until it has looked, and everything
// that came before has run. The zero value is ready; one goroutine uses it at a time.
type poller struct {
	in, out *os.File
	raw     syscall.RawConn // of in
}

// comeRound writes into a pipe and returns when the poller has seen it. Where a pipe cannot be waited for, it yields.
func (p *poller) comeRound() {
	var one [1]byte
	sent := false
	if p.open() {
		_ = p.raw.Read(func(uintptr) bool { // a pipe that cannot be waited for has nothing sent
			if sent {
				return true
			}
			_, err := p.out.Write(one[:])
			sent = err == nil
			return !sent
		})
	}
	if !sent {
		runtime.Gosched()
		return
	}
	_, _ = p.in.Read(one[:]) // it is there
}

func (p *poller) open() bool {
	if p.raw != nil {
		return true
	}
	var err error
	if p.in, p.out, err = os.Pipe(); err != nil {
		return false
	}
	p.raw, err = p.in.SyscallConn()
	return err == nil
}
