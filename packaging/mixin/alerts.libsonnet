// Alerts. They keep the labels of the target, such as cluster and team.
local promql = import 'promql.libsonnet';

{
  local config = $._config,
  local p = promql(config),
  local alert(name, severity, duration, expression, summary, description) = {
    alert: name,
    expr: expression,
    'for': duration,
    labels: { severity: severity },
    annotations: {
      summary: summary,
      description: description,
      runbook_url: config.runbookURLPattern % std.asciiLower(name),
    },
  },
  local severities = config.severities,
  local used = 'instance_device:stackmap_used:ratio',
  local extend = 'On {{ $labels.instance }}, run: stackmap check {{ $labels.device }}; then extend it with lvextend.',
  local poolFull(level, duration, limit) = alert(
    'StackmapPoolFull', severities.pool[level], duration,
    '%s > %s' % [used, limit],
    '{{ $labels.instance }}: the {{ $labels.space }} of {{ $labels.name }} is {{ $value | humanizePercentage }} full',
    extend,
  ),
  local poolFilling(level, limits) = alert(
    'StackmapPoolFilling', severities.pool[level], '1h',
    |||
      %(used)s > %(above)s
      and predict_linear(%(used)s[6h], %(hours)d * 3600) > 1
      and %(used)s > %(used)s offset 1h
    ||| % (limits { used: used }),
    '{{ $labels.instance }}: the {{ $labels.space }} of {{ $labels.name }} is {{ $value | humanizePercentage }} full, and full in %d hours' % limits.hours,
    extend,
  ),
  // Hosts that had stacks in the last week.
  local known = 'group without (kind, level) (max_over_time(instance_level:stackmap_volumes:count[7d:1h]))',
  local up = p.scrape('up', config.upSelector),
  local nodeTime = p.scrape('node_time_seconds', config.nodeExporterSelector),
  local syncing = p.textfile('stackmap_stack_sync_active') + ' == 1',
  local topologyTime = p.textfile('stackmap_topology_timestamp_seconds'),

  local alerts = [
    alert(
      'StackmapParityCost', severities.parityCost, '30m',
      |||
        instance_top:stackmap_parity_cost:ratio_rate5m > %s * instance_top:stackmap_parity_ideal:ratio
        and instance_top:stackmap_wasted_requests:rate5m > %s * %s
      ||| % [config.parityCostTimesIdeal, config.parityCostWastedPerMember, p.textfile('stackmap_stack_members')],
      '{{ $labels.instance }}: each byte written to {{ $labels.name }} costs {{ $value | humanize }} bytes at its members',
      'Most writes are smaller than a stripe. On {{ $labels.instance }}, run: stackmap explain {{ $labels.top }}; then: stackmap whatif {{ $labels.top }} --to raid10',
    ),
    // The host judges, by explain's rule over ten minutes; a resync makes a member slow.
    alert(
      'StackmapSlowMember', severities.slowMember, '5m',
      'max without (top, name) (%s unless ignoring (device) %s)' % [p.textfile('stackmap_slow_member_ratio'), syncing],
      '{{ $labels.instance }}: the RAID member {{ $labels.device }} has {{ $value | humanize }} times the await of its peers',
      'On {{ $labels.instance }}, run: stackmap explain {{ $labels.device }}; it names the disk.',
    ),
    alert(
      'StackmapDegraded', severities.degraded, '5m',
      'instance_top:stackmap_degraded:held == 1',
      '{{ $labels.instance }}: {{ $labels.name }} lacks a member',
      'On {{ $labels.instance }}, run: stackmap check {{ $labels.top }}; then replace the failed member.',
    ),
    // By level, and by the trend of 6 hours as node_exporter's mixin does. It must have grown in the last hour: a jump
    // is no trend.
    poolFull('warning', '30m', config.poolFull.warning),
    poolFull('critical', '10m', config.poolFull.critical),
    poolFilling('warning', config.poolFilling.warning),
    poolFilling('critical', config.poolFilling.critical),
    // The alerts above report broken arrays, full pools and full snapshots.
    alert(
      'StackmapFinding', severities.finding, '10m',
      'max without (device, severity) (%s) == 1' % p.textfile('stackmap_finding', 'severity="critical",id!~"SM301|SM31[123]"'),
      '{{ $labels.instance }}: stackmap check found {{ $labels.rule }} ({{ $labels.id }})',
      'On {{ $labels.instance }}, run: stackmap check --problems',
    ),
    alert(
      'StackmapStacksGone', severities.stacksGone, '10m',
      |||
        %s
        unless group without (top, name, kind, level) (%s)
        and %s == 1
      ||| % [known, p.textfile('stackmap_stack_info'), up],
      '{{ $labels.instance }}: it answers, and its stacks are gone',
      'Its textfile is missing or has no volume. On {{ $labels.instance }}, run: systemctl status stackmap-textfile.timer stackmap-textfile.service; then: stackmap tree',
    ),
    alert(
      'StackmapHostSilent', severities.hostSilent, '10m',
      '%s == 0 and %s' % [up, known],
      '{{ $labels.instance }}: node_exporter does not answer, so nothing is known of its stacks',
      'Log in to {{ $labels.instance }}, and run: systemctl status prometheus-node-exporter',
    ),
    alert(
      'StackmapClockWrong', severities.clockWrong, '10m',
      |||
        abs(%(node)s - timestamp(%(node)s)) > %(limit)d
        or %(topology)s - time() > %(limit)d
      ||| % { node: nodeTime, topology: topologyTime, limit: config.clockSkewSeconds },
      "{{ $labels.instance }}: its clock differs from the server's by {{ $value | humanizeDuration }}",
      'Set the clock. On {{ $labels.instance }}, run: chronyc tracking',
    ),
    // By the host's own clock, if its exporter tells the time.
    alert(
      'StackmapTopologyStale', severities.topologyStale, '10m',
      |||
        (%s or %s * 0 + time())
        - %s > %s
      ||| % [nodeTime, topologyTime, topologyTime, config.topologyStaleSeconds],
      '{{ $labels.instance }}: its topology is {{ $value | humanizeDuration }} old',
      'On {{ $labels.instance }}, run: systemctl status stackmap-textfile.timer stackmap-textfile.service',
    ),
    alert(
      'StackmapCountersMissing', severities.countersMissing, '30m',
      'sum without (top, name, layer) (instance_top_layer:stackmap_devices_without_counters:count) > 0',
      '{{ $labels.instance }}: node_exporter leaves out devices that the stacks need',
      'On {{ $labels.instance }}, run: stackmap export --textfile -; compare its devices with node_exporter --collector.diskstats.device-exclude',
    ),
    // Every figure is right, and stackmap fleet cannot tell the targets apart.
    alert(
      'StackmapTargetsCollide', severities.targetsCollide, '10m',
      |||
        %(topology)s
        and on (%(cluster)s, job, instance) (count by (%(cluster)s, job, instance) (%(topology)s) > 1)
      ||| % { topology: p.textfile('stackmap_topology_timestamp_seconds'), cluster: config.clusterLabel },
      '{{ $labels.instance }}: several targets have this instance and job {{ $labels.job }}',
      'Each target has an alert, with all its labels. Give each its own instance, or a label %s.' % config.clusterLabel,
    ),
    alert(
      'StackmapLabelsReplaced', severities.labelsReplaced, '10m',
      'group without (%s) (%s)' % [
        std.join(', ', ['exported_' + label for label in p.renamedLabels] + p.renamedLabels),
        std.join('\nor ', [
          p.textfile(metric, 'exported_%s!=""' % label)
          for metric in ['stackmap_layer_weight', 'stackmap_stack_info']
          for label in p.renamedLabels
        ]),
      ],
      '{{ $labels.instance }}: labels of the target replace labels of stackmap, so it has no figures',
      'Rename the target labels called %s in scrape_configs.' % std.join(', ', p.renamedLabels),
    ),
  ],

  prometheusAlerts+:: {
    groups+: [{ name: 'stackmap.alerts', interval: '1m', rules: alerts }],
  },
}
