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
  local trouble(what, reason='') =
    'instance_device:stackmap_trouble:now{what="%s"%s}' % [what, if reason == '' then '' else ',reason="%s"' % reason],

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
    alert(
      'StackmapSlowMember', severities.slowMember, '5m',
      trouble('sick'),
      '{{ $labels.instance }}: the disk {{ $labels.device }}{{ with $labels.serial }} ({{ $labels.model }}, serial {{ . }}){{ end }} has {{ $value | humanize }} times the await of its peers',
      'On {{ $labels.instance }}, run: stackmap explain {{ $labels.device }}',
    ),
    alert(
      'StackmapDegraded', severities.degraded, '5m',
      trouble('degraded'),
      '{{ $labels.instance }}: {{ $labels.name }} lacks a member',
      'On {{ $labels.instance }}, run: stackmap check {{ $labels.device }}; then replace the failed member.',
    ),
    alert(
      'StackmapFailed', severities.failed, '2m',
      trouble('failed'),
      '{{ $labels.instance }}: {{ $labels.name }} has failed',
      'On {{ $labels.instance }}, run: stackmap check {{ $labels.device }}',
    ),
    alert(
      'StackmapDiskWorn', severities.diskWorn, '1h',
      trouble('worn'),
      '{{ $labels.instance }}: the disk {{ $labels.device }}{{ with $labels.serial }} ({{ $labels.model }}, serial {{ . }}){{ end }} has used {{ $value | humanizePercentage }} of its life',
      'Plan its replacement. On {{ $labels.instance }}, run: stackmap check {{ $labels.device }}; the volumes that wear it out: stackmap fleet --sort wear --host {{ $labels.instance }}',
    ),
    alert(
      'StackmapHung', severities.hung, '2m',
      trouble('hung'),
      '{{ $labels.instance }}: {{ $labels.name }}{{ with $labels.serial }} ({{ $labels.model }}, serial {{ . }}){{ end }} completes no request',
      'On {{ $labels.instance }}, run: stackmap explain {{ $labels.device }}; then read the kernel log: dmesg -T',
    ),
    // By level, and by the trend of 6 hours as node_exporter's mixin does. It must have grown in the last hour: a jump
    // is no trend.
    poolFull('warning', '30m', config.poolFull.warning),
    poolFull('critical', '10m', config.poolFull.critical),
    poolFilling('warning', config.poolFilling.warning),
    poolFilling('critical', config.poolFilling.critical),
    // The alerts above report broken devices, full pools and full snapshots.
    alert(
      'StackmapFinding', severities.finding, '10m',
      'max without (device, severity) (%s) == 1' % p.textfile('stackmap_finding', 'severity="critical",id!~"SM30[16]|SM31[123]"'),
      '{{ $labels.instance }}: stackmap check found {{ $labels.rule }} ({{ $labels.id }})',
      'On {{ $labels.instance }}, run: stackmap check --problems',
    ),
    alert(
      'StackmapStacksGone', severities.stacksGone, '10m',
      trouble('silent', 'no textfile'),
      '{{ $labels.instance }}: it answers, and its stacks are gone',
      'Its textfile is missing or has no volume. On {{ $labels.instance }}, run: systemctl status stackmap-textfile.timer stackmap-textfile.service; then: stackmap tree',
    ),
    alert(
      'StackmapHostSilent', severities.hostSilent, '10m',
      trouble('silent', 'node_exporter does not answer'),
      '{{ $labels.instance }}: node_exporter does not answer, so nothing is known of its stacks',
      'Log in to {{ $labels.instance }}, and run: systemctl status prometheus-node-exporter',
    ),
    alert(
      'StackmapClockWrong', severities.clockWrong, '10m',
      trouble('clock'),
      "{{ $labels.instance }}: its clock differs from the server's by {{ $value | humanizeDuration }}",
      'Set the clock. On {{ $labels.instance }}, run: chronyc tracking',
    ),
    alert(
      'StackmapTopologyStale', severities.topologyStale, '5m',
      trouble('silent', 'an old textfile'),
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
        std.join(', ', ['exported_' + label for label in p.renamedLabels] + p.renamedLabels + ['uuid', 'shared']),
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
