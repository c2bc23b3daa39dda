//go:build !unix

package egress

// bare is empty here: whoever waits has a buffer.
type bare struct{}

func bareOf(*conn) bare { return bare{} }

func (*bare) wait() bool { return false }
