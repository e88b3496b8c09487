// What a site may set: stackmap + { _config+:: { clusterLabel: 'region' } }.
{
  _config+:: {
    // Matchers of the raw series, such as 'job="node"'; '' for none.
    nodeExporterSelector: '',
    stackmapSelector: '',
    upSelector: '',

    // The label that separates sites with equal job and instance names.
    clusterLabel: 'cluster',

    // Evaluate each minute. Above 5,000 volumes set interval to 4m; a longer interval than range leaves gaps.
    interval: '1m',
    range: '5m',

    severities: {
      parityCost: 'warning',
      slowMember: 'warning',
      degraded: 'critical',
      failed: 'critical',
      hung: 'critical',
      pool: { warning: 'warning', critical: 'critical' },
      stacksGone: 'critical',
      hostSilent: 'warning',
      clockWrong: 'warning',
      diskWorn: 'warning',
      finding: 'warning',
      topologyStale: 'warning',
      countersMissing: 'warning',
      targetsCollide: 'warning',
      labelsReplaced: 'warning',
    },

    // Parity cost: times its ideal, and wasted requests per second and member.
    parityCostTimesIdeal: 2,
    parityCostWastedPerMember: 20,
    // Seconds without a new textfile.
    topologyStaleSeconds: 900,
    // Seconds between a host's clock and the server's.
    clockSkewSeconds: 60,
    // Used share of a disk's rated life: that of stackmap check (SM342).
    lifeUsed: 0.8,
    // Used share of thin pools and snapshots, and above which share a trend counts that ends in so many hours.
    poolFull: { warning: 0.9, critical: 0.95 },
    poolFilling: { warning: { above: 0.6, hours: 24 }, critical: { above: 0.8, hours: 4 } },

    // Packages have this file; serve it where the readers of alerts can open it. %s is the alert in lower case.
    runbookURLPattern: 'file:///usr/share/doc/stackmap/examples/prometheus/runbooks.md#%s',

    dashboardTags: ['storage', 'stackmap'],
  },
}
