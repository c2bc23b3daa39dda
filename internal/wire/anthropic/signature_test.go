package anthropic

import "testing"

func TestWrappedSignaturesAreRecognized(t *testing.T) {
	t.Parallel()
	s := WrappedSignature{Provider: "p", Value: "v", Call: true}
	if got, ok := UnwrapSignature(s.String()); !ok || got != s {
		t.Errorf("UnwrapSignature = %+v, %t; want %+v, true", got, ok, s)
	}
	if got, ok := UnwrapSignature("fairlead.%%"); !ok || got != (WrappedSignature{}) {
		t.Errorf("UnwrapSignature of an invalid one = %+v, %t; want zero, true", got, ok)
	}
	if _, ok := UnwrapSignature("EqoBCkgIARABGAI"); ok {
		t.Error("UnwrapSignature of a signature of the provider = true, want false")
	}
}
