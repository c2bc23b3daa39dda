package settings

import (
	"net/netip"

	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
)

// TenantEgress returns the options of the client that calls the webhooks and hooks of workspaces. Unlike the provider client, it may not
// call a host on a private network only because the configuration file contains the host: any workspace can choose these addresses.
func TenantEgress(c config.Config) egress.Options {
	o := egress.Options{Connect: c.Timeouts.Connect}
	for _, text := range c.AllowPrivateUpstreams {
		if prefix, err := netip.ParsePrefix(text); err == nil { // config rejects invalid prefixes
			o.AllowPrivate = append(o.AllowPrivate, prefix)
		}
	}
	return o
}

// Mail returns the mail server settings for alerts.
func Mail(c config.SMTP) alert.Mail {
	return alert.Mail{Server: c.Server, TLS: c.TLS, Username: c.Username, Password: c.Password, From: c.From}
}
