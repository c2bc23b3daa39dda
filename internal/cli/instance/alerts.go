package instance

import (
	"time"

	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/settings"
)

// Alerts returns the alerts of the instance and the client that sends test notifications. The caller must close the client.
func (i *Instance) Alerts(version string) (*alert.Service, *egress.Client) {
	client := egress.New(settings.TenantEgress(i.Config))
	return &alert.Service{
		Rules: i.Store.Alerts, Channels: i.Store.Alerts, History: i.Store.Alerts, Keys: i.Accounts, Members: i.Accounts, CheckURL: client.CheckURL, Now: time.Now,
		Sender: &alert.Sender{
			HTTP: client, Sealer: i.vault, Version: version, Mail: func() alert.Mail { return settings.Mail(i.Config.Alerts.SMTP) },
			Dashboard: func() string { return i.Config.PublicURL },
		},
	}, client
}
