package load

import (
	"os/exec"
	"testing"
	"time"
)

func TestUsageCountsChildren(t *testing.T) {
	t.Parallel()
	// The outer shell only waits. The inner shell counts, so the CPU time is used by a child process.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done; read x'; true")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	used, err := UsageOf(cmd.Process.Pid)
	_ = in.Close()
	_ = cmd.Wait()
	if err != nil || used.CPU < 5*time.Millisecond || used.CPU > time.Minute || used.Memory < 1<<20 || used.File <= 0 || used.File > used.Memory {
		t.Errorf("UsageOf = %+v, %v, want the CPU time of the child, and memory with a part from the file", used, err)
	}
	if _, err := UsageOf(cmd.Process.Pid); err == nil {
		t.Error("UsageOf of a process that has ended returned no error")
	}
}
