package redact_test

import (
	"strings"
	"testing"

	"fairlead.dev/internal/redact"
)

func TestCredentialsAreMasked(t *testing.T) {
	t.Parallel()
	const credential, short = "sk-proj-0123456789abcdefghijklmnopqrst", "k-123456"
	for text, want := range map[string]string{
		"":  "",
		"s": "s",
		`{"error":"key sk-proj-0123456789abcdefghijklmnopqrst is wrong"}`: `{"error":"key ` + strings.Repeat("*", len(credential)) + ` is wrong"}`,
		`{"sk-proj-0123456789abcdefghijklmnopqrst":1}`:                    `{"` + strings.Repeat("*", len(credential)) + `":1}`,
		credential + credential:                                           strings.Repeat("*", 2*len(credential)),
		"key sk-proj-0123456789abc...":                                    "key *********************...",
		"key sk-proj-01*******st":                                         "key sk-proj-01*******st", // too short to be told from other keys
		short + " and " + credential:                                      "******** and " + strings.Repeat("*", len(credential)),
		"k-12345":                                                         "k-12345",
		"tiny":                                                            "tiny",
		`a text without any of the "secrets"`:                             `a text without any of the "secrets"`,
	} {
		if got := string(redact.Credentials([]byte(text), short, "tiny", credential)); got != want {
			t.Errorf("Credentials(%s) = %s, want %s", text, got, want)
		}
		if got := redact.NewMasker(short, "tiny", credential).Text(text); got != want {
			t.Errorf("Text(%s) = %s, want %s", text, got, want)
		}
	}
	if redact.NewMasker("", "1234567") != nil {
		t.Error("NewMasker with credentials that are too short is not nil")
	}
	data := []byte("nothing to mask")
	if got := redact.Credentials(data, credential); &got[0] != &data[0] {
		t.Error("text without a credential was copied")
	}
}
