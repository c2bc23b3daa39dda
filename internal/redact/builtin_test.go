package redact_test

import (
	"strings"
	"testing"

	"fairlead.dev/internal/redact"
)

// Each case is a text in which [x] marks the expected matches of the rule.
func TestBuiltinRules(t *testing.T) {
	t.Parallel()
	jwt := "eyJhbGciOiJIUzI1NiJ9." + strings.Repeat("a", 20) + "." + strings.Repeat("b", 20)
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"
	for name, cases := range map[string][][2]string{
		"email": {
			{"write to ann.lee+x@mail.example.com.", "write to [x]."},
			{"<ann@example.com>, bob@example.co.uk", "<[x]>, [x]"},
			{"mailto:o'neil@example.org?subject=x", "mailto:[x]?subject=x"},
			{"müller@straße.de und 写信给ann@example.com谢谢", "[x] und 写信给[x]谢谢"},
			{"a@@example.com a@b@example.com", "a@@example.com a@[x]"},
			{"pip install x@1.2.3, @ann, ann@localhost, a @ b.com", ""},
			{"ann@example.com.bob@example.com", "[x]@example.com"},
			{"ann@example..com ann@-x.com ann@.com", ""},
		},
		"card": {
			{"4111 1111 1111 1111", "[x]"},
			{"pay with 4111-1111-1111-1111, please", "pay with [x], please"},
			{"378282246310005 and 5555555555554444", "[x] and [x]"},
			{"7 items 4111111111111111 99", "7 items [x] 99"},
			{"4111111111111112 1234567890123456 0000000000000000", ""}, // wrong check digit, not a card prefix
			{"id4111111111111111 4111111111111111x 41111111111111111111", ""},
		},
		"iban": {
			{"DE89 3704 0044 0532 0130 00 is it", "[x] is it"},
			{"to GB82WEST12345698765432.", "to [x]."},
			{"nl91abna0417164300", "[x]"},
			{"DE89 3704 0044 0532 0130 01, XX89370400440532013000", ""},
			{"ADE89370400440532013000", ""},
		},
		"ssn": {
			{"my number 078-05-1120.", "my number [x]."},
			{"000-12-3456 666-12-3456 900-12-3456 123-00-4567 123-45-0000", ""},
			{"12078-05-1120 078-05-11203", ""},
		},
		"phone": {
			{"call +49 30 901820 now", "call [x] now"},
			{"+1 (415) 555-0132, (415) 555-0132, 415-555-0132", "[x], [x], [x]"},
			{"1-800-555-0199 or 020 7946 0958 or 0171-1234567", "[x] or [x] or [x]"},
			{"+4915112345678", "[x]"},
			{"on 2024-01-15 10:30, 1700000000, 3.14159265358, 10.0.0.1", ""},
			{"550e8400-e29b-41d4-a716-446655440000 v1.2.3-456-7890", ""},
			{"1 234 567 890 + 12 = 100 200 300", ""},
		},
		"ip": {
			{"from 192.168.0.1:8080 to 8.8.8.8.", "from [x]:8080 to [x]."},
			{"[2001:db8::1]:443 and fe80::1%eth0", "[[x]]:443 and [x]%eth0"},
			{"at 10:30:00, std::vector, a::b, 1.2.3, 256.1.1.1, 1.2.3.4.5", ""},
		},
		"secret": {
			{"key sk-proj-abcdefghijklmnop1234.", "key [x]."},
			{"Authorization: Bearer abcdefghijklmnop1234=", "Authorization: Bearer [x]"},
			{"AKIAIOSFODNN7EXAMPLE ghp_" + strings.Repeat("a", 36), "[x] [x]"},
			{"fl_" + strings.Repeat("Ab3", 14), "[x]"},
			{jwt, "[x]"},
			{"x\n" + pem + "\ny", "x\n[x]\ny"},
			{"-----BEGIN PRIVATE KEY-----\ncut", "[x]"},
			{"postgres://ann:s3cret@db/x http://host:80/a@b", "postgres://ann:[x]@db/x http://host:80/a@b"},
			{"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----", ""},
			{"a bearer of bad news, task-based-risk-management-work, sk-short", ""},
		},
	} {
		x, err := redact.New(redact.Rules{Builtin: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			want := strings.ReplaceAll(c[1], "[x]", redact.Mark(name))
			if c[1] == "" {
				want = c[0]
			}
			if got := x.Begin(nil).Text(c[0]); got != want {
				t.Errorf("%s of %q:\ngot  %q\nwant %q", name, c[0], got, want)
			}
		}
	}
}

func TestEveryBuiltinRuleHasNameAndDoc(t *testing.T) {
	t.Parallel()
	for _, b := range redact.Builtins() {
		if b.Doc == "" || !redact.Known(b.Name) || b.Name != strings.ToLower(b.Name) {
			t.Errorf("incomplete rule %+v", b)
		}
	}
}
