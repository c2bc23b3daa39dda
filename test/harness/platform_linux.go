package harness

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent lets no gateway outlive a test process that was killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// apart gives the calling thread, and what it starts, one processor to itself, and the rest of this process the others.
func apart() error {
	var all, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	if all.Count() < 2 {
		return errors.New("there is only one processor")
	}
	for i := 0; first.Count() == 0; i++ {
		if all.IsSet(i) {
			first.Set(i)
			all.Clear(i)
		}
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, one := range threads {
		id, err := strconv.Atoi(one.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, &all); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	runtime.GOMAXPROCS(all.Count())
	return unix.SchedSetaffinity(0, &first)
}

// openTerminal opens a pseudo-terminal: what is written to theirs can be read from ours.
func openTerminal() (ours, theirs *os.File, err error) {
	if ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = ours.Close()
		}
	}()
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock the terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("number the terminal: %w", err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	return ours, theirs, err
}
