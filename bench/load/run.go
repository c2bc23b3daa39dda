// Package load drives chat requests at a target over plain HTTP/1.1 and
// reports what the client saw and what the target's processes used.
package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fairlead/bench/h1"
	"fairlead/bench/hist"
	"fairlead/bench/proc"
)

// Target is where to send requests.
type Target struct {
	Name    string            `json:"name"`
	BaseURL string            `json:"base_url"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Model   string            `json:"model"`
	PID     int               `json:"pid"` // with its descendants; 0: none to sample
}

// Spec is one workload.
type Spec struct {
	Stream      bool          `json:"stream"`
	PromptBytes int           `json:"prompt_bytes"`
	Concurrency int           `json:"concurrency"`
	Rate        float64       `json:"rate"` // requests a second, open loop; 0: closed loop
	Warmup      time.Duration `json:"warmup"`
	Duration    time.Duration `json:"duration"`
	// Hold keeps Concurrency streams open at once: they start over Warmup, are
	// watched for Duration, and are then hung up. The upstream has to be set
	// to streams that outlast both.
	Hold bool `json:"hold"`
}

// Result is what one run showed. CPU and memory are of the target's processes.
type Result struct {
	Target string `json:"target"`
	Spec   Spec   `json:"spec"`

	Seconds  float64        `json:"seconds"`
	Requests uint64         `json:"requests"` // answered whole and well within the window
	RPS      float64        `json:"rps"`
	Errors   uint64         `json:"errors"`
	ErrorsBy map[string]int `json:"errors_by,omitempty"`
	BytesIn  int64          `json:"bytes_in"`
	Latency  hist.Summary   `json:"latency"`

	TTFT       *hist.Summary `json:"ttft,omitempty"`
	ChunkDelay *hist.Summary `json:"chunk_delay,omitempty"`
	Chunks     int64         `json:"chunks,omitempty"`
	Open       int           `json:"streams_open,omitempty"`

	CPUSeconds       float64 `json:"cpu_seconds"`
	CPUMicrosPerReq  float64 `json:"cpu_us_per_request"`
	CPUMicrosPerPart float64 `json:"cpu_us_per_chunk,omitempty"`
	RSSBefore        int64   `json:"rss_before"`
	RSSMax           int64   `json:"rss_max"`
	RSSEnd           int64   `json:"rss_end"`
	Procs            int     `json:"procs"`
}

type run struct {
	spec    Spec
	addr    string
	request []byte

	measuring      atomic.Bool
	latency, ttft  hist.H
	delay          hist.H
	good, bad      atomic.Uint64
	bytes, chunks  atomic.Int64
	open, sent     atomic.Int64
	stop           atomic.Bool
	deadline       time.Time
	mu             sync.Mutex
	errorsBy       map[string]int
	conns          map[net.Conn]bool
	readBufferSize int
}

// Request renders the whole request for a target.
func Request(t Target, s Spec) (addr string, raw []byte, err error) {
	u, err := url.Parse(t.BaseURL)
	if err != nil {
		return "", nil, err
	}
	if u.Scheme != "http" || u.Port() == "" {
		return "", nil, fmt.Errorf("base URL %q is not http://host:port", t.BaseURL)
	}
	path := t.Path
	if path == "" {
		path = "/v1/chat/completions"
	}
	body := Body(t.Model, s.PromptBytes, s.Stream)
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nUser-Agent: fairlead-bench\r\n", u.Path, path, u.Host)
	for k, v := range t.Headers {
		fmt.Fprintf(&b, "%s: %s\r\n", k, v)
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	return u.Host, b.Bytes(), nil
}

// Run executes a workload. It returns early, with an error, only when nothing
// could be measured at all.
func Run(ctx context.Context, t Target, s Spec) (Result, error) {
	res := Result{Target: t.Name, Spec: s}
	if s.Concurrency <= 0 || s.Duration <= 0 {
		return res, errors.New("concurrency and duration must be positive")
	}
	addr, raw, err := Request(t, s)
	if err != nil {
		return res, err
	}
	r := &run{
		spec: s, addr: addr, request: raw, errorsBy: map[string]int{}, conns: map[net.Conn]bool{},
		deadline:       time.Now().Add(s.Warmup + s.Duration + 15*time.Second),
		readBufferSize: 16 << 10,
	}
	r.sent.Store(time.Now().UnixMicro() % 9_000_000_000) // other prompts than those of the run before
	if s.Hold {
		r.readBufferSize = 2 << 10
	}
	var pids []int
	if t.PID != 0 {
		if pids, err = proc.Tree([]int{t.PID}); err != nil {
			return res, err
		}
	}
	idle, err := proc.Sample(pids)
	if err != nil {
		return res, err
	}
	res.RSSBefore, res.Procs = idle.RSS, idle.Procs

	var wg sync.WaitGroup
	var arrivals chan time.Time
	if s.Rate > 0 {
		arrivals = make(chan time.Time, 1<<16)
		wg.Go(func() { r.arrive(arrivals) })
	}
	for i := range s.Concurrency {
		wg.Go(func() { r.work(ctx, i, arrivals) })
	}

	sleep(ctx, s.Warmup)
	before, _ := proc.Sample(pids)
	r.measuring.Store(true)
	begin := time.Now()
	res.RSSMax = before.RSS
	for left := s.Duration; left > 0 && ctx.Err() == nil; left = s.Duration - time.Since(begin) {
		sleep(ctx, min(left, 250*time.Millisecond))
		if u, err := proc.Sample(pids); err == nil {
			res.RSSMax = max(res.RSSMax, u.RSS)
		}
	}
	r.measuring.Store(false)
	res.Seconds = time.Since(begin).Seconds()
	after, err := proc.Sample(pids)
	if err != nil {
		return res, fmt.Errorf("the target died: %w", err)
	}
	res.Open = int(r.open.Load())
	r.stop.Store(true)
	if s.Hold {
		r.hangUp()
	}
	wg.Wait()
	r.hangUp()

	res.Requests, res.Errors, res.ErrorsBy = r.good.Load(), r.bad.Load(), r.errorsBy
	res.RPS = float64(res.Requests) / res.Seconds
	res.BytesIn = r.bytes.Load()
	res.Latency = r.latency.Summary()
	if s.Stream {
		ttft, delay := r.ttft.Summary(), r.delay.Summary()
		res.TTFT, res.ChunkDelay, res.Chunks = &ttft, &delay, r.chunks.Load()
	}
	res.RSSEnd = after.RSS
	cpu := after.CPUSince(before)
	res.CPUSeconds = cpu.Seconds()
	if res.Requests > 0 {
		res.CPUMicrosPerReq = cpu.Seconds() * 1e6 / float64(res.Requests)
	}
	if res.Chunks > 0 {
		res.CPUMicrosPerPart = cpu.Seconds() * 1e6 / float64(res.Chunks)
	}
	return res, ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// arrive sends Poisson arrival times. It sleeps in the kernel on a thread of
// its own because the runtime's timers are only good to about a millisecond.
func (r *run) arrive(to chan<- time.Time) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(to)
	next := time.Now()
	for !r.stop.Load() {
		next = next.Add(time.Duration(rand.ExpFloat64() / r.spec.Rate * 1e9))
		if d := time.Until(next); d > 0 {
			ts := syscall.NsecToTimespec(int64(d))
			_ = syscall.Nanosleep(&ts, nil)
		}
		select {
		case to <- next:
		default:
			r.fail("arrival queue full")
		}
	}
}

func (r *run) fail(what string) {
	if !r.measuring.Load() && !r.spec.Hold {
		return
	}
	r.bad.Add(1)
	r.mu.Lock()
	r.errorsBy[what]++
	r.mu.Unlock()
}

func (r *run) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
	}
}

func (r *run) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	c, err := dialer.DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(r.deadline)
	r.mu.Lock()
	r.conns[c] = true
	r.mu.Unlock()
	return c, nil
}

func (r *run) drop(c net.Conn) {
	_ = c.Close()
	r.mu.Lock()
	delete(r.conns, c)
	r.mu.Unlock()
}

// work is one connection's life, over as many dials as it takes.
func (r *run) work(ctx context.Context, i int, arrivals <-chan time.Time) {
	if r.spec.Hold { // spread the start over three quarters of the warm-up
		time.Sleep(r.spec.Warmup * 3 / 4 * time.Duration(i) / time.Duration(r.spec.Concurrency))
	}
	var c net.Conn
	x := exchange{run: r, in: h1.NewReader(nil, r.readBufferSize), request: bytes.Clone(r.request)}
	x.serial = x.request[bytes.Index(x.request, []byte(serial))+len("no "):][:len("0000000000")]
	defer func() {
		if c != nil {
			r.drop(c)
		}
	}()
	for !r.stop.Load() {
		var from time.Time
		if arrivals != nil {
			var ok bool
			if from, ok = <-arrivals; !ok {
				return
			}
		}
		if c == nil {
			var err error
			if c, err = r.dial(ctx); err != nil {
				r.fail("dial: " + reason(err))
				time.Sleep(10 * time.Millisecond)
				continue
			}
			x.in.Reset(c)
		}
		if from.IsZero() {
			from = time.Now()
		}
		if reusable := x.do(c, from); !reusable {
			r.drop(c)
			c = nil
		}
	}
}

func reason(err error) string {
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		return "timeout"
	}
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		s = s[i+2:]
	}
	return s
}

// exchange is one request and its answer.
type exchange struct {
	*run
	in       *h1.Reader
	request  []byte // of its own
	serial   []byte // the part of it that differs from one to the next
	from     time.Time
	line     []byte // a line that has not ended yet
	events   int
	finished bool // the last event of a stream, or the usage of a whole answer
}

func (x *exchange) do(c net.Conn, from time.Time) (reusable bool) {
	x.from, x.line, x.events, x.finished = from, x.line[:0], 0, false
	copy(x.serial, fmt.Sprintf("%010d", x.sent.Add(1)))
	if _, err := c.Write(x.request); err != nil {
		x.fail("write: " + reason(err))
		return false
	}
	h, err := x.in.ReadHead()
	if err != nil {
		x.failUnlessStopped("read: " + reason(err))
		return false
	}
	status, closing := h.Status(), h.Close
	each := x.whole
	if x.spec.Stream && status == 200 {
		each = x.part
		x.open.Add(1)
		defer x.open.Add(-1)
	}
	if err := x.in.ReadBody(h, true, each); err != nil {
		x.failUnlessStopped("body: " + reason(err))
		return false
	}
	switch {
	case status != 200:
		x.fail("status " + strconv.Itoa(status))
	case !x.finished:
		x.fail("incomplete answer")
	case x.measuring.Load():
		x.good.Add(1)
		x.latency.Record(time.Since(from))
	}
	return !closing
}

func (x *exchange) failUnlessStopped(what string) {
	if !x.stop.Load() {
		x.fail(what)
	}
}

var (
	usageKey = []byte(`"usage"`)
	dataKey  = []byte("data:")
	doneMark = []byte("[DONE]")
	stopMark = []byte("message_stop")
	timeMark = []byte("t=")
)

func (x *exchange) whole(p []byte) error {
	x.count(p)
	if !x.finished {
		// The key may fall on the border of two parts; keep a little overlap.
		x.line = append(x.line, p...)
		x.finished = bytes.Contains(x.line, usageKey)
		if n := len(x.line); n > len(usageKey) {
			x.line = append(x.line[:0], x.line[n-len(usageKey):]...)
		}
	}
	return nil
}

func (x *exchange) count(p []byte) {
	if x.measuring.Load() {
		x.bytes.Add(int64(len(p)))
	}
}

func (x *exchange) part(p []byte) error {
	x.count(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			x.line = append(x.line, p...)
			return nil
		}
		if len(x.line) > 0 {
			x.line = append(x.line, p[:i]...)
			x.event(x.line)
			x.line = x.line[:0]
		} else {
			x.event(p[:i])
		}
		p = p[i+1:]
	}
}

func (x *exchange) event(line []byte) {
	if !bytes.HasPrefix(line, dataKey) {
		return
	}
	now := time.Now()
	measuring := x.measuring.Load()
	if x.events++; x.events == 1 && (measuring || x.spec.Hold) {
		x.ttft.Record(now.Sub(x.from))
	}
	if bytes.Contains(line, doneMark) || bytes.Contains(line, stopMark) {
		x.finished = true
		return
	}
	if !measuring {
		return
	}
	if _, after, found := bytes.Cut(line, timeMark); found {
		if sent, ok := digits(after); ok {
			x.chunks.Add(1)
			x.delay.Record(time.Duration(now.UnixNano() - sent))
		}
	}
}

func digits(p []byte) (n int64, ok bool) {
	for i, c := range p {
		if c < '0' || c > '9' {
			return n, i == 19
		}
		n = n*10 + int64(c-'0')
	}
	return 0, false
}
