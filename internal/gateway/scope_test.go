package gateway

import (
	"testing"

	"fairlead.dev/internal/account"
)

func TestKeysMayCallModelsIfTheirCreatorMay(t *testing.T) {
	t.Parallel()
	for _, role := range []account.Role{"", account.Owner, account.Admin, account.Developer, account.Viewer} {
		key := account.Key{KeySettings: account.KeySettings{Scopes: []account.Scope{account.Inference}}, MakerRole: role}
		want := account.Actor{KeyID: "key_1", Role: role, Scopes: key.Scopes}.May(account.UseModels)
		if err := checkScope(&account.Grant{Key: &key}); (err == nil) != want {
			t.Errorf("%q: got %v, want a grant = %t", role, err, want)
		}
	}
}
