// Package upstream is a model provider for measurements. It has little overhead, because its responses are prepared in
// advance and it reads only the pace from a request. Without a pace, it responds immediately and does not stream.
package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"fairlead.dev/bench/http1"
)

// Serve accepts connections until ctx is done. Open connections are served until their clients close them.
func Serve(ctx context.Context, ln net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	say := compose()
	for {
		conn, err := ln.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		go say.converse(conn)
	}
}

// converse serves the requests of one connection.
func (s *script) converse(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := http1.NewReader(conn, 16<<10)
	for {
		_, last, err := in.Head()
		if err != nil {
			return
		}
		var w paceReader
		part, err := in.Part()
		for ; err == nil; part, err = in.Part() {
			w.read(part)
		}
		if !errors.Is(err, io.EOF) {
			return
		}
		if err := s.answer(conn, &w); err != nil || last {
			return
		}
	}
}

func (s *script) answer(to io.Writer, w *paceReader) error {
	if p, streams := w.pace(); streams && s.streams[p.Format] != nil {
		return s.streams[p.Format].write(to, p)
	}
	_, err := to.Write(s.whole)
	return err
}

func (s *stream) write(to io.Writer, p Pace) error {
	time.Sleep(p.First)
	if _, err := to.Write(s.opening); err != nil {
		return err
	}
	for i := range p.Chunks {
		if i > 0 {
			time.Sleep(p.Gap)
		}
		if _, err := to.Write(s.chunk); err != nil {
			return err // the client has disconnected
		}
	}
	_, err := to.Write(s.ending)
	return err
}
