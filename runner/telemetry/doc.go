// Package telemetry reads what an engine tells of itself while it is measured: its
// Prometheus endpoint, at one moment ([Endpoint.Scrape]), as the difference of two
// moments ([Delta]), and as a time series of JSON lines ([Recorder]).
//
// An engine without metrics is a fact and no fault: [ErrNoMetrics] says so, and a count
// that an engine doesn't keep is nil, not 0. A failed scrape is data as well: a
// recorder writes it down and goes on.
//
// The package judges nothing. Whether a restart or a wrong count makes a repetition
// invalid is decided by gate, where the file lies by gate/rundir, and when to scrape by
// runner: at rest before the first request and after the last one has ended, since
// engines count a request when it ends.
package telemetry
