package anthropic

import "testing"

func TestWrappedSignaturesAreRecognized(t *testing.T) {
	t.Parallel()
	s := wrappedSignature{Provider: "p", Value: "v", Call: true}
	if got, ok := unwrapSignature(s.String()); !ok || got != s {
		t.Errorf("unwrapSignature = %+v, %t; want %+v, true", got, ok, s)
	}
	if got, ok := unwrapSignature("fairlead.%%"); !ok || got != (wrappedSignature{}) {
		t.Errorf("unwrapSignature of an invalid one = %+v, %t; want zero, true", got, ok)
	}
	if _, ok := unwrapSignature("EqoBCkgIARABGAI"); ok {
		t.Error("unwrapSignature of a signature of the provider = true, want false")
	}
}
