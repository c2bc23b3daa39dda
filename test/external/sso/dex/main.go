// Command dex runs the identity provider of the tests until its standard input ends. It takes the callback URL and the groups of the
// user as arguments and prints its issuer URL.
package main

import (
	"context"
	"io"
	"os"

	"fairlead.dev/test/external/sso"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	d, err := sso.Start(context.Background(), "127.0.0.1:0", os.Args[1], os.Args[2:]...)
	if err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error()+"\n")
		os.Exit(1)
	}
	defer d.Stop()
	_, _ = io.WriteString(os.Stdout, d.Issuer+"\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
