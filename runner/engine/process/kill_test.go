package process

import "github.com/servegate/servegate/runner/engine/enginetest"

func launchAndWait(b enginetest.Behaviour) int { return 1 }
