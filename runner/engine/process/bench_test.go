package process

import (
	"os/exec"
	"testing"
)

// What a launch costs over a plain exec of the same program, from call to exit.
func BenchmarkLaunch(b *testing.B) {
	l := shell("exit 1")
	l.LogPath = b.TempDir() + "/engine.log"
	for b.Loop() {
		h, err := l.Launch(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		<-h.Life().Done()
		b.StopTimer()
		if err := h.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkPlainExec(b *testing.B) {
	for b.Loop() {
		_ = exec.Command("/bin/sh", "-c", "exit 1").Run() // it fails, as told
	}
}
