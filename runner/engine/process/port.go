package process

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// ports remembers which ports this process has handed out. An engine may take minutes
// until it listens, and until then the kernel would give the same port again: to the
// next engine that is launched beside it.
var ports = struct {
	sync.Mutex
	handed map[int]time.Time
}{handed: map[int]time.Time{}}

// portHold is how long a port isn't handed out again.
const portHold = 10 * time.Minute

// freePort returns a TCP port that nothing listens on, on any address. It is free when
// this returns; that the engine still gets it is likely, not certain.
func freePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	for port, at := range ports.handed {
		if time.Since(at) > portHold {
			delete(ports.handed, port)
		}
	}
	for range 100 {
		// On all addresses, since that is where most engines listen.
		l, err := net.Listen("tcp", ":0")
		if err != nil {
			return 0, fmt.Errorf("choose a free port: %w", err)
		}
		// Held until a better one is found, so that each try sees another port.
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if _, ok := ports.handed[port]; !ok {
			ports.handed[port] = time.Now()
			return port, nil
		}
	}
	return 0, fmt.Errorf("choose a free port: all that the kernel offers are handed out already")
}
