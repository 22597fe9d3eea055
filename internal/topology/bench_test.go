package topology

import "testing"

// The largest fabric there can be: 1024 hosts, 320 routers.
func BenchmarkFatTree16(b *testing.B) {
	for b.Loop() {
		s, ps := Parse("k16.toml", []byte("[generate]\ntype = 'fat-tree'\nk = 16"))
		if s == nil {
			b.Fatal(ps)
		}
		s.Routes()
	}
}

func BenchmarkShipped(b *testing.B) {
	for b.Loop() {
		if _, err := Load("leaf-spine-16"); err != nil {
			b.Fatal(err)
		}
	}
}
