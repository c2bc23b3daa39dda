package gateway

import (
	"bytes"
	"io"

	"fairlead/internal/llm"
)

// leastSecret is how long a credential is that is looked for: shorter ones would be found in ordinary text.
const leastSecret = 8

// conceal returns an answer's body with stars wherever the provider repeats the credential that it was sent. The length
// stays as it was. A failure's body is short, and its reader takes the credential out by itself.
func conceal(body io.ReadCloser, secret string) io.ReadCloser {
	if len(secret) < leastSecret {
		return body
	}
	return &concealed{body: body, secret: []byte(secret)}
}

type concealed struct {
	body   io.ReadCloser
	secret []byte
	back   []byte // the end of what was read, where it is the beginning of the credential
	ready  []byte // read and looked through, for a reader that takes little at a time
	err    error
}

func (c *concealed) Read(p []byte) (int, error) {
	if len(p) < 4*len(c.secret) {
		return c.readLittle(p)
	}
	if len(c.ready) > 0 {
		n := copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}
	return c.fill(p)
}

// Wait returns when there is something to read, or an end.
func (c *concealed) Wait() {
	if from, ok := c.body.(llm.Waiter); ok && len(c.ready) == 0 && c.err == nil {
		from.Wait()
	}
}

// readLittle serves a reader whose buffer has no room for a credential.
func (c *concealed) readLittle(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(c.ready) == 0 {
		room := make([]byte, 8*len(c.secret))
		n, err := c.fill(room)
		if err != nil {
			return 0, err
		}
		c.ready = room[:n]
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// fill reads until there is something to give: bytes, or else the error that ended the body.
func (c *concealed) fill(p []byte) (int, error) {
	for c.err == nil {
		had := copy(p, c.back)
		n, err := c.body.Read(p[had:])
		c.err = err
		data := p[:had+n]
		cover(data, c.secret)
		keep := 0
		if err == nil {
			keep = begun(data, c.secret)
		}
		c.back = append(c.back[:0], data[len(data)-keep:]...)
		if given := len(data) - keep; given > 0 {
			return given, nil
		}
	}
	return 0, c.err
}

func (c *concealed) Close() error { return c.body.Close() }

// cover writes stars over the secret.
func cover(data, secret []byte) {
	for {
		i := bytes.Index(data, secret)
		if i < 0 {
			return
		}
		for j := range secret {
			data[i+j] = '*'
		}
		data = data[i+len(secret):]
	}
}

// begun is how many bytes at the end of data may be the beginning of the secret.
func begun(data, secret []byte) int {
	for n := min(len(data), len(secret)-1); n > 0; n-- {
		if data[len(data)-n] == secret[0] && bytes.HasSuffix(data, secret[:n]) {
			return n
		}
	}
	return 0
}
