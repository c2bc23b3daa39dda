package messagesconv

import "testing"

func TestWrappedSignaturesAreRecognized(t *testing.T) {
	t.Parallel()
	s := WrappedSignature{Provider: "p", Value: "v", Call: true}
	if got, ours := UnwrapSignature(s.String()); !ours || got != s {
		t.Errorf("%+v, %t", got, ours)
	}
	if got, ours := UnwrapSignature("fairlead.%%"); !ours || got != (WrappedSignature{}) {
		t.Errorf("%+v, %t", got, ours)
	}
	if _, ours := UnwrapSignature("EqoBCkgIARABGAI"); ours {
		t.Error("a signature of the format's own")
	}
}
