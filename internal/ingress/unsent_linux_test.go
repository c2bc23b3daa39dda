package ingress

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// A client that reads nothing uses at most 256 KiB of kernel memory. Data accepted by the kernel counts as delivered.
func TestKernelBuffersLittleForAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	ended := make(chan struct{})
	o := options(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		control := http.NewResponseController(w)
		for piece := make([]byte, 4<<10); ; taken.Add(int64(len(piece))) {
			if _, err := w.Write(piece); err != nil {
				return
			}
			if err := control.Flush(); err != nil {
				return
			}
		}
	})
	o.Unread, o.ReadPause = 256<<10, 200*time.Millisecond // real time until a blocked write fails
	_, ln := start(t, o)
	c := dial(t, ln)
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(32 << 10); err != nil {
		t.Fatal(err)
	}
	c.send("%s", get("/"))
	<-ended
	if n := taken.Load(); n == 0 || n > 256<<10 {
		t.Errorf("the kernel buffered %d KiB, want 1 to 256", n>>10)
	}
}
