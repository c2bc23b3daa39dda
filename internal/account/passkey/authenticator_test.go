package passkey_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
)

// Authenticator flags.
const (
	userPresent  = 0x01
	userVerified = 0x04
	attested     = 0x40
)

// authenticator is a software authenticator with one passkey. The fields are the values that it reports.
type authenticator struct {
	t      *testing.T
	key    *ecdsa.PrivateKey
	id     []byte
	site   string
	origin string
	flags  byte
	count  uint32
	handle []byte // user handle of the passkey
}

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	credential := make([]byte, 32)
	_, _ = rand.Read(credential)
	return &authenticator{t: t, key: key, id: credential, site: host, origin: origin, flags: userPresent | userVerified}
}

// options are the fields of the creation and request options that the authenticator uses.
type options struct {
	Challenge string `json:"challenge"`
	RP        struct {
		ID string `json:"id"`
	} `json:"rp"`
	RPID string `json:"rpId"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	UserVerification       string `json:"userVerification"`
	AuthenticatorSelection struct {
		ResidentKey      string `json:"residentKey"`
		UserVerification string `json:"userVerification"`
	} `json:"authenticatorSelection"`
	Exclude []struct {
		ID string `json:"id"`
	} `json:"excludeCredentials"`
}

func (a *authenticator) parse(text json.RawMessage) options {
	a.t.Helper()
	var o options
	if err := json.Unmarshal(text, &o); err != nil {
		a.t.Fatal(err)
	}
	return o
}

func (a *authenticator) clientData(kind, challenge string) []byte {
	text, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	return text
}

func (a *authenticator) data(flags byte) []byte {
	sum := sha256.Sum256([]byte(a.site))
	return binary.BigEndian.AppendUint32(append(sum[:], flags), a.count)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// create returns the response to a registration challenge.
func (a *authenticator) create(text json.RawMessage) json.RawMessage {
	a.t.Helper()
	o := a.parse(text)
	a.handle, _ = base64.RawURLEncoding.DecodeString(o.User.ID)
	point, err := a.key.PublicKey.Bytes() // the byte 4 and the coordinates x and y
	if err != nil {
		a.t.Fatal(err)
	}
	public, err := webauthncbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	if err != nil {
		a.t.Fatal(err)
	}
	data := append(a.data(a.flags|attested), make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), public...)
	object, err := webauthncbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.credential(map[string]any{
		"clientDataJSON": encode(a.clientData("webauthn.create", o.Challenge)), "attestationObject": encode(object), "transports": []string{"internal"},
	})
}

// get returns the response to a sign-in challenge.
func (a *authenticator) get(text json.RawMessage) json.RawMessage {
	a.t.Helper()
	data, client := a.data(a.flags), a.clientData("webauthn.get", a.parse(text).Challenge)
	hash := sha256.Sum256(client)
	signed := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, signed[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return a.credential(map[string]any{
		"clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature), "userHandle": encode(a.handle),
	})
}

func (a *authenticator) credential(response map[string]any) json.RawMessage {
	text, _ := json.Marshal(map[string]any{
		"id": encode(a.id), "rawId": encode(a.id), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{"credProps": map[string]any{"rk": true}},
	})
	return text
}
